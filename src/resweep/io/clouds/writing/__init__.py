"""Writing whole clouds as COPC, whatever their number of points."""
