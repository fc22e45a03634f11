"""Safety tests: many variants of a scenario, driven, counted, and searched for failures."""

from resweep.drive.safety.campaign import Campaign, run_campaign
from resweep.drive.safety.cases import Case, list_cases
from resweep.drive.safety.search import HIDDEN_CAR, Space, search_failures

__all__ = ["HIDDEN_CAR", "Campaign", "Case", "Space", "list_cases", "run_campaign", "search_failures"]
