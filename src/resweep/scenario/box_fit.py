"""Surfaces of recorded objects fitted to their annotated boxes, so that the boxes hold the returns on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.worlds import Splats

NEAR_M = 0.15  # beyond the box; what lies further out belongs to something else


def fit_splats(splats: Splats, size_m: Sequence[float]) -> Splats:
    """The discs of an object moved into its box, so that none reaches beyond it.

    The box is ``size_m`` long, wide and high around the frame's origin, its floor at z = 0. Returns are gathered from
    a box that is a little grown, since annotations are off by centimetres, and discs reach beyond the outermost
    returns. Such discs are moved in by as much as they reach out, which leaves no hole; one whose centre lies more
    than `NEAR_M` beyond the box is left out (if all are, there is no surface: an error). A disc that is larger than
    the box becomes as small as the box.
    """
    length, width, height = (float(value) for value in size_m)
    low, high = np.array([-length / 2, -width / 2, 0.0]), np.array([length / 2, width / 2, height])
    centre = splats.centre.astype(np.float64)
    kept = np.flatnonzero(((centre >= low - NEAR_M) & (centre <= high + NEAR_M)).all(axis=1))
    centre, normal = centre[kept], splats.normal[kept]
    radius = np.minimum(splats.radius[kept], (high - low).min() / 2)
    reach = radius[:, None] * np.sqrt(np.maximum(0.0, 1.0 - normal.astype(np.float64) ** 2))
    return Splats(
        np.clip(centre, low + reach, high - reach),
        normal,
        radius,
        splats.label[kept],
        splats.reflectance[kept],
        splats.instance[kept],
        {name: np.asarray(values)[kept] for name, values in splats.extra.items()},
        splats.name,
        splats.depth,
        splats.gap_m,
        incidence_exponent=splats.incidence_exponent,
    )
