"""Settings of the whole suite."""

from hypothesis import settings

# A shared machine stops for longer than any deadline now and then; how fast things are is the benchmarks' matter.
settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")
