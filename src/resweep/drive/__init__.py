"""Driving in a world: sensors, autonomy, vehicle and new poses in one closed loop."""
