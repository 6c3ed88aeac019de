"""Facts about a typed tree: accesses, races, aliases, barriers, cost."""
