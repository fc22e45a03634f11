"""Settings of the estimators, with the papers' values as defaults."""
