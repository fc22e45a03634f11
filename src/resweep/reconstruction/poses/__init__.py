"""Where a log's sweeps were: odometry, registration of several drives, calibration of lasers and poses."""
