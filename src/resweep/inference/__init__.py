"""Trained networks of users: ONNX files that are checked before anything of them runs, and run by onnxruntime."""

from resweep.inference.checked_network import CheckedNetwork, InputShape

__all__ = ["CheckedNetwork", "InputShape"]
