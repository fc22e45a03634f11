"""One script for each table or figure of the papers: ``python -m experiments.NAME [--fast] [--json] [-o DIR]``."""
