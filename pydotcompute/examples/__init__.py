"""Programs that a newcomer runs: `python -m pydotcompute.examples.NAME`."""
