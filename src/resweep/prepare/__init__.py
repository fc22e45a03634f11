"""From a log as it was recorded to one that maps can be made of."""
