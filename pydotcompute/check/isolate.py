"""Checks in a process of their own: a kernel that kills it is a finding, and the checks go on."""

from __future__ import annotations

import multiprocessing
import signal
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from ..declare.model import Kernel, Specialisation

_FORK = multiprocessing.get_context("fork")  # nothing has run here yet: no threads, no device


class Unit(NamedTuple):
    """What is checked together, case by case: the artifacts of one specialisation."""

    kernel: Kernel
    specialisation: Specialisation
    targets: tuple[str, ...]


class Death(NamedTuple):
    """How a process ended that was to check a unit."""

    target: str
    cases: tuple[str, ...]  # those of the target that had begun; it ended in the last one
    how: str  # "by SIGSEGV", "with status 3"


def isolated(
    units: Sequence[Unit], work: Callable[[Unit, Callable[[str, str], None]], list], dead: Callable[[Unit, Death], Any],
) -> Iterator[Any]:  # fmt: skip
    """What `work` gives for each unit, in order, run in a child process; what it raises is raised here.

    `work` tells, by its second argument, which case of which target it begins. If the process ends there, `dead` gives
    what stands for that target, and a new process goes on with the others.
    """
    left = list(units)
    while left:
        receiver, sender = _FORK.Pipe(duplex=False)
        child = _FORK.Process(target=_serve, args=(tuple(left), work, sender), daemon=True)
        child.start()
        sender.close()
        begun: list[tuple[str, str]] = []
        try:
            while left:
                what, value = receiver.recv()
                if what == "begins":
                    begun.append(value)
                elif what == "raised":
                    raise value
                else:
                    left.pop(0)
                    begun.clear()
                    yield from value
        except EOFError:
            child.join()
            unit = left.pop(0)
            target = begun[-1][0] if begun else unit.targets[0]
            cases = tuple(case for at, case in begun if at == target)
            yield dead(unit, Death(target, cases, _told(child.exitcode)))
            rest = tuple(t for t in unit.targets if t != target)
            left[:0] = [unit._replace(targets=rest)] if rest else []
        finally:
            child.kill()
            receiver.close()


def _serve(units: tuple[Unit, ...], work: Callable, sender: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    try:
        for unit in units:
            sender.send(("done", list(work(unit, lambda target, case: sender.send(("begins", (target, case)))))))
    except BrokenPipeError:
        pass  # nobody asks any more
    except Exception as error:
        sender.send(("raised", error))


def _told(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
