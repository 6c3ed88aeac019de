"""Inner modules of CuPy."""
