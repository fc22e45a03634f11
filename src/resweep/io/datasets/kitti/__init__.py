"""The datasets of KITTI's car: raw drives, benchmarks, SemanticKITTI and KITTI-360."""
