"""Rendered Python → syntax → types → the typed tree."""
