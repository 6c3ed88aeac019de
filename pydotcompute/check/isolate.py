"""Checks in a process of their own: a kernel that kills it is a finding, and the checks go on."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
from time import monotonic
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from ..declare.model import Kernel, Specialisation

PATIENCE = 10  # seconds of a case after which it is named
_FORK = multiprocessing.get_context("fork")  # nothing has run here yet: no threads, no device
_PR_SET_PDEATHSIG = 1


class Unit(NamedTuple):
    """What is checked together, case by case: the artifacts of one specialisation."""

    kernel: Kernel
    specialisation: Specialisation
    targets: tuple[str, ...]


class Death(NamedTuple):
    """How a process ended that was to check a unit."""

    target: str
    cases: tuple[str, ...]  # those of the target that had begun; it ended in the last one
    found: tuple[Any, ...]  # what had been found in them
    how: str  # "by SIGSEGV", "with status 3"


Tell = Callable[[str, str, Any], None]  # ("begins", target, case) or ("found", target, what)


def isolated(
    units: Sequence[Unit], work: Callable[[Unit, Tell], Iterator[Any]], dead: Callable[[Unit, Death], Any],
    slow: Callable[[Unit, str, str, float], None],
) -> Iterator[Any]:  # fmt: skip
    """What `work` gives for each unit, in order, run in a child process; what it raises is raised here.

    `work` tells, by its second argument, which case of which target it begins, and what it finds. If the process ends
    there, `dead` gives what stands for that target, and a new process goes on with the others. `slow` is called with
    a case, and its seconds so far, that takes longer than PATIENCE, or in which the check is interrupted.
    """
    left = list(units)
    while left:
        receiver, sender = _FORK.Pipe(duplex=False)
        child = _FORK.Process(target=_serve, args=(tuple(left), work, sender, os.getpid()), daemon=True)
        child.start()
        sender.close()
        told: dict[str, list[tuple[str, Any]]] = {"begins": [], "found": []}
        try:
            while left:
                what, value = _next(receiver, left[0], told["begins"], slow)
                if what in told:
                    told[what].append(value)
                elif what == "raised":
                    raise value
                else:
                    left.pop(0)
                    for values in told.values():
                        values.clear()
                    yield from value
        except EOFError:
            child.join()
            unit = left.pop(0)
            target = told["begins"][-1][0] if told["begins"] else unit.targets[0]
            cases, found = (tuple(value for at, value in told[what] if at == target) for what in ("begins", "found"))
            assert child.exitcode is not None  # it has ended
            yield dead(unit, Death(target, cases, found, _how(child.exitcode)))
            rest = tuple(t for t in unit.targets if t != target)
            left[:0] = [unit._replace(targets=rest)] if rest else []
        finally:
            child.kill()
            receiver.close()


def _next(receiver: Any, unit: Unit, begun: list[tuple[str, str]], slow: Callable) -> tuple[str, Any]:
    """The next that the child says. Raises EOFError where it has ended."""
    since, wait = monotonic(), float(PATIENCE)
    target, case = begun[-1] if begun else (unit.targets[0], "-")
    try:
        while not receiver.poll(wait):
            wait = monotonic() - since  # each time after twice as long
            slow(unit, target, case, wait)
        return receiver.recv()
    except KeyboardInterrupt:
        slow(unit, target, case, monotonic() - since)
        raise


def _serve(units: tuple[Unit, ...], work: Callable, sender: Any, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    # What references print is talk; stdout is the parent's, for what was found.
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # the system does, where the parent cannot
    if os.getppid() != parent:
        return
    try:
        for unit in units:
            sender.send(("done", list(work(unit, lambda what, target, value: sender.send((what, (target, value)))))))
    except BrokenPipeError:
        pass  # nobody asks any more
    except Exception as error:
        sender.send(("raised", error))


def _how(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
