"""What a network that was trained on recordings makes of simulated sweeps: judges, paired scenes, their scores."""
