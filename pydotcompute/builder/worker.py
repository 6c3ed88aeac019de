"""A worker process: takes tasks from its connection, reads and compiles, answers. It never writes to the cache."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from time import perf_counter

from ..cache.writer import explain_os_error
from ..errors import CompilationError, CompilerNotInstalledError, DeclarationError
from ..targets.base import Answer, Clock, Job
from ..targets.registry import get
from . import garbage
from .reading import Reading, Tree, tree_of


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
            connection.send(read(task))
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


def read(reading: Reading) -> Tree:
    """Read a specialisation. Whatever goes wrong becomes a refusal with its reason."""
    try:
        return tree_of(reading)
    except Exception as error:
        return Tree(refused=internal_error(error, f"reading {reading}"))


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


def internal_error(error: BaseException, doing: str) -> str:
    """One line for a fault of ours; the traceback where it is asked for."""
    if os.environ.get("PYDOTCOMPUTE_DEBUG"):
        return "".join(traceback.format_exception(error)).rstrip()
    what = " ".join(str(error).split())[:300]
    return f"internal error while {doing}: {type(error).__name__}: {what} (PYDOTCOMPUTE_DEBUG=1 shows where)"
