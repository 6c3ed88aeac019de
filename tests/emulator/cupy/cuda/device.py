"""Handles of cuBLAS, of which each thread has one for each device."""

import itertools
import threading

from cupy import _machine

_made = itertools.count(0x77000000, 0x100)
_handles = threading.local()


def get_cublas_handle() -> int:
    return vars(_handles).setdefault(_machine.number(), next(_made))
