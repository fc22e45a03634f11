"""The layouts of the public driving datasets."""
