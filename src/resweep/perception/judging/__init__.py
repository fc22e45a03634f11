"""What a frozen model that was trained on recordings makes of simulated sweeps, beside what it makes of real ones."""

from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judge_logs import judge
from resweep.perception.judging.judgement import Judgement

__all__ = ["Judgement", "JudgingConfig", "judge"]
