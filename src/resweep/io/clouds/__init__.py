"""Whole clouds in one file: points of logs and worlds as COPC, whatever their number."""
