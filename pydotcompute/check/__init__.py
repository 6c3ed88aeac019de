"""Holding built artifacts to their references: cases drawn from the declarations, errors measured, failures as data."""
