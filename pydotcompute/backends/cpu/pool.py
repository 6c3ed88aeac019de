"""The pool of threads of this process: one of its artifacts has it for all (targets/cpu/pool.py).

That artifact stays loaded for ever, since threads wait in it. Whichever copies and versions of this package are in the
process agree on it by a name beside `sys.path`, as long as they agree how the pool is called.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

from ...artifact import abi

if TYPE_CHECKING:
    import numpy as np

_NAME = f"_pydotcompute_pool_{abi.POOL}"


def join(loaded: np.ndarray) -> None:
    """Let the kernel of an artifact, `Loaded` in a box, use the pool, where it is one for that."""
    try:
        pool = ctypes.c_void_p.in_dll(loaded[0].library, "pool")
        own = loaded[0].address("run_on_pool")
    except ValueError:  # made for a platform without one, or before there were any
        return
    pool.value, _ = vars(sys).setdefault(_NAME, (own, loaded))
