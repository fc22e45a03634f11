"""Networks that are trained on recordings: what needs PyTorch (the extra `learn`)."""
