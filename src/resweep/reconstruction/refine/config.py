"""Settings of the refinement of a world by the likelihood of its beams."""

from __future__ import annotations

from typing import Literal

from resweep.config import Spec

Refine = Literal["none", "fast", "full"]


Step = Literal["volumes", "births", "splats"]


class RefineConfig(Spec):
    """How primitives are adjusted to the recorded beams (`refine.refine`).

    ``steps`` are taken in order. With ``tried``, a trial finds out first how far to go: a world of the other sweeps is
    judged by the beams of every ``kept_every``-th sweep, round by round of the kinds of ``steps``, ``rounds`` at most.
    A step that these beams do not find more likely, by ``gain_min`` nats a beam, is undone and not tried again; those
    that are left are taken with all beams. ``sigma_m`` and ``clutter`` are those of the likelihood. A splat moves along
    its normal by what its ends say, with ``prior_weight`` beams of no offset, by at most ``step_m``. The permeability
    of a volume moves to what its beams say, with ``prior_beams`` beams of the present one. ``births`` adds volumes
    where beams end and nothing explains it, and then moves the permeability.
    """

    steps: tuple[Step, ...] = ("volumes", "births", "volumes")
    tried: bool = False
    rounds: int = 4
    kept_every: int = 5
    gain_min: float = 0.0
    sigma_m: float = 0.03
    clutter: float = 0.02
    prior_weight: float = 3.0
    step_m: float = 0.02
    prior_beams: float = 2.0


# Fixed steps are those that paid on held-out sweeps of SemanticKITTI 00 and 03.
REFINEMENTS: dict[Refine, RefineConfig] = {
    "fast": RefineConfig(),
    "full": RefineConfig(steps=("volumes", "births", "splats"), tried=True),
}
