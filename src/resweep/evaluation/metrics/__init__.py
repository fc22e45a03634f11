"""Every metric and its formula."""
