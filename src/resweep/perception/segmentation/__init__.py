"""A range-image segmenter: a small network that says of each return what it hit."""
