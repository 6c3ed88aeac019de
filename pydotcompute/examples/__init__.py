"""Programs that a newcomer runs: `python -m pydotcompute.examples.NAME`."""

from __future__ import annotations

import os
import sys
from typing import Callable

from ..errors import AllocationError, BackendNotAvailableError, KernelNotBuiltError


def run(program: Callable[[], int]) -> int:
    """The exit status of a program. What its user can do something about is one line on stderr: a file that cannot
    be read or written, a backend that is not there, kernels that are not built, too little memory."""
    try:
        status = program()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        return fail(f"{error.filename}: {error.strerror}")
    except (AllocationError, BackendNotAvailableError, KernelNotBuiltError) as error:
        return fail(str(error))


def fail(told: str, status: int = 1) -> int:
    """Say why there is no result. The status is 2 where the command line is not understood."""
    print(told, file=sys.stderr)
    return status
