"""What a template may ask for: values that are no larger than a kernel could ever be, and memory for them."""

from __future__ import annotations

import _thread
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MOST_ELEMENTS = 1_000_000  # of a text or a list that is repeated, of the text that a template gives
MOST_DIGITS = 10_000  # of a power
MOST_MEMORY = 1 << 28  # bytes that a rendering may take besides what there is
BESIDE_THREADS = 1 << 30  # the same where other threads take memory meanwhile, which are not to be left without
TOO_LARGE = f"the values of a template may have {MOST_ELEMENTS:,} characters or elements"
TOO_LONG = f"the text of a template may have {MOST_ELEMENTS:,} characters"


def check(operator: str, left: Any, right: Any) -> None:
    """Raise ValueError for an operation whose result would be too large."""
    if operator == "*":
        for sized, count in ((left, right), (right, left)):
            repeated = isinstance(sized, (str, bytes, list, tuple)) and isinstance(count, int)
            if repeated and len(sized) * count > MOST_ELEMENTS:
                raise ValueError(TOO_LARGE)
    elif isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > 10 / 3 * MOST_DIGITS:
        raise ValueError(f"a power in a template may have {MOST_DIGITS:,} digits")


def most_memory() -> int:
    return BESIDE_THREADS if _thread._count() else MOST_MEMORY


def no_memory() -> str:
    return f"a template may take {most_memory() >> 20:,} MB of memory"


@contextmanager
def memory() -> Iterator[None]:
    """What is computed inside gets a MemoryError where it takes more than `most_memory`, by the limit of the address
    space. It is the whole process's, so other threads have no more than that for as long."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit, setrlimit

        soft, hard = getrlimit(RLIMIT_AS)
        with open("/proc/self/statm") as file:
            wanted = int(file.read().split()[0]) * mmap.PAGESIZE + most_memory()
    except (ImportError, OSError):
        yield
        return
    if soft != RLIM_INFINITY and soft <= wanted:
        yield
        return
    setrlimit(RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        setrlimit(RLIMIT_AS, (soft, hard))
