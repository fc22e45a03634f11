"""PandaSet: sequences, and the pickled pandas frames that hold them."""
