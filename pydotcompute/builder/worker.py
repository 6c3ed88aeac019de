"""A worker process: takes tasks from its connection, reads and compiles, answers. It never writes to the cache."""

from __future__ import annotations

import gc
import signal
import sys
from time import perf_counter

from ..cache.writer import explain_os_error
from ..errors import CompilationError, CompilerNotInstalledError, DeclarationError
from ..targets.base import Answer, Clock, Job
from ..targets.registry import get
from . import garbage
from .reading import Reading, internal_error, tree_of


def main(handle: int) -> None:
    from multiprocessing.connection import Connection

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the builder decides
    _die_with_parent()
    connection = Connection(handle)
    gc.set_threshold(garbage.OBJECTS)
    begun: set[str] = set()  # backends
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        if isinstance(task, Reading):
            connection.send(tree_of(task))
            continue
        connection.send(answer(task))
        if task.backend not in begun:
            begun.add(task.backend)
            gc.collect()
            gc.freeze()  # its compilers are there for good: to go through them again takes as long as a small kernel


def _die_with_parent() -> None:
    """A builder that is killed takes its workers along, in the middle of a compilation too."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def answer(job: Job) -> Answer:
    """Compile a job. Whatever goes wrong in Python becomes a failure with its reason."""
    started = perf_counter()
    try:
        return get(job.backend).compile(job, Clock())
    except (DeclarationError, CompilationError, CompilerNotInstalledError) as error:
        reason = str(error)
    except OSError as error:  # no room for a source or for the linker
        reason = explain_os_error(error, job.folder)
    except Exception as error:
        reason = internal_error(error, f"compiling {job}")
    return Answer(failures={"": reason}, phases={"failed": perf_counter() - started})
