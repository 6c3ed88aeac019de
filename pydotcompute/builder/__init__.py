"""From a declaration to a cache: plan (what is stale, and why) apart from execute (make it so)."""
