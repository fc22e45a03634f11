"""Settings of the refinement of a world by the likelihood of its beams."""

from __future__ import annotations

from typing import Literal

from resweep.config import Spec

Refine = Literal["none", "fast", "full"]


Step = Literal["volumes", "shapes", "prune", "densify", "permeability", "radii", "growth", "splats"]
Round = tuple[Step, ...]  # steps that one look at the beams is enough for


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

    rounds: tuple[Round, ...] = (
        ("volumes", "densify", "permeability", "splats"),
        ("volumes", "shapes", "permeability", "splats"),
        ("volumes", "prune", "permeability"),
    )
    sweeps: int = 40
    first_sweeps: int = 40
    tried: bool = False
    tries: int = 4
    kept_every: int = 5
    gain_min: float = 0.0
    sigma_m: float = 0.02
    clutter: float = 0.02
    prior_weight: float = 3.0
    step_m: float = 0.02
    prior_beams: float = 2.0
    opaque_beams: float = 1.0
    share_min: float = 0.2
    share_max: float = 0.9
    prior_ends: float = 10.0
    ends_min: float = 0.5
    met_min: float = 5.0
    lost_nats: float = 4.0
    grow_max: float = 1.5
    beside_m: float = 0.05


# Fixed rounds are those that paid on held-out sweeps of SemanticKITTI 00 and 03.
REFINEMENTS: dict[Refine, RefineConfig] = {
    "fast": RefineConfig(),
    "full": RefineConfig(
        rounds=(("volumes", "prune"), ("densify",), ("shapes",), ("permeability", "radii"), ("growth",), ("splats",)),
        tried=True,
        gain_min=0.001,
    ),
}
