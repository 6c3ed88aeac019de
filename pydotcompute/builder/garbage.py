"""How often Python looks for garbage while kernels are read and compiled."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import Iterator

# Trees and IR of a job refer to each other all over, so most of what is looked at is in use: Python's own 700 objects
# between two looks take up to a fifth of the time.
OBJECTS = 50_000


@contextmanager
def seldom() -> Iterator[None]:
    """Not oftener than that inside; the caller's own setting is back afterwards."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
