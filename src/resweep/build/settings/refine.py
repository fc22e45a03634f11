"""Settings of the refinement of a world by the likelihood of its beams."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resweep.config import NotNegative, Spec
from resweep.quantities import Count, Number

Refine = Literal["none", "fast", "full"]


Step = Literal["volumes", "shapes", "prune", "densify", "permeability", "radii", "growth", "splats"]
Round = Annotated[tuple[Step, ...], Field(max_length=100)]  # steps that one look at the beams is enough for


class RefineConfig(Spec):
    """How primitives are adjusted to the recorded beams (`refine.refine`).

    ``rounds`` are taken in order. The steps of a round all use the statistics of beams against the layers before it.
    With ``tried``, a trial finds out first how far to go: a world of the other sweeps is judged by the beams of every
    ``kept_every``-th sweep, round by round, each ``tries`` times at most. A round that these beams do not find more
    likely, by ``gain_min`` nats a beam, is undone and not tried again; those that are left are taken with all beams.
    ``sigma_m`` and ``clutter`` are those of the likelihood.

    ``sweeps``, spread over the log, take part; without a trial, all rounds but the last go by ``first_sweeps`` of them.

    Steps of volumes: ``volumes`` estimates the permeability of each from its beams, with ``prior_beams`` beams of
    the present one. ``shapes`` moves mean and covariance to those of the ends that it explains, with ``prior_ends``
    ends of the present Gaussian. ``prune`` takes away those that ``met_min`` beams hit and that stopped fewer than
    ``ends_min``. ``densify`` adds volumes where beams end and nothing explains it.

    Steps of splats: ``splats`` moves each along its normal by the offsets of its ends, with ``prior_weight`` beams of
    no offset, by at most ``step_m``. ``permeability`` is the share of beams that pass, with ``opaque_beams`` that do
    not. Below ``share_min`` a splat is opaque; where more than ``share_max`` pass, it is taken away. ``radii`` cuts a
    splat back to the part at which the beams that hit it are most likely, where one that it loses costs ``lost_nats``.
    ``growth`` widens splats to ends that nothing explains, if those lie within ``beside_m`` of the plane and
    ``grow_max`` radii of the centre. Splats that moved or grew are carved again.
    """

    rounds: Annotated[tuple[Round, ...], Field(max_length=100)] = (
        ("volumes", "densify", "permeability", "splats"),
        ("volumes", "shapes", "permeability", "splats"),
        ("volumes", "prune", "permeability"),
    )
    sweeps: Count = 40
    first_sweeps: Count = 40
    tried: bool = False
    tries: Count = 4
    kept_every: Count = 5
    gain_min: Number = 0.0
    sigma_m: NotNegative = 0.02
    clutter: NotNegative = 0.02
    prior_weight: NotNegative = 3.0
    step_m: NotNegative = 0.02
    prior_beams: NotNegative = 2.0
    opaque_beams: NotNegative = 1.0
    share_min: NotNegative = 0.2
    share_max: NotNegative = 0.9
    prior_ends: NotNegative = 10.0
    ends_min: NotNegative = 0.5
    met_min: NotNegative = 5.0
    lost_nats: NotNegative = 4.0
    grow_max: NotNegative = 1.5
    beside_m: NotNegative = 0.05


# Fixed rounds are those that paid on held-out sweeps of SemanticKITTI 00 and 03.
REFINEMENTS: dict[Refine, RefineConfig] = {
    "fast": RefineConfig(),
    "full": RefineConfig(
        rounds=(("volumes", "prune"), ("densify",), ("shapes",), ("permeability", "radii"), ("growth",), ("splats",)),
        tried=True,
        gain_min=0.001,
    ),
}
