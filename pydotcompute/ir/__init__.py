"""The typed tree, and the one table of what can stand in it."""
