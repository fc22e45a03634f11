"""Safety tests: many variants of a scenario, driven, counted, and searched for failures."""

from resweep.drive.safety.campaign import Campaign, run_campaign
from resweep.drive.safety.cases import Case, list_cases

__all__ = ["Campaign", "Case", "list_cases", "run_campaign"]
