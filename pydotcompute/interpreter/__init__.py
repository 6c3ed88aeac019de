"""The typed tree executed in Python: the specification."""
