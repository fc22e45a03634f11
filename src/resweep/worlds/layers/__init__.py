"""The kinds of layer: one file a representation."""
