"""A function of numbers on several processes: forks of this one, which know what it knows, and no threads, which there
may be no memory for."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Worker(NamedTuple):
    process: BaseProcess
    connection: Connection


def in_forks(function: Callable[[int], T], count: int, jobs: int) -> Generator[T | None, None, None]:
    """What the function gives for 0, 1, …, in their order; None where the process that was asked is no more. Raises
    what it raises, OSError where no process can begin. Closing the generator kills them all."""
    waiting, found = deque(range(count)), dict[int, Any]()
    idle: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, int]] = {}
    try:
        for number in range(count):
            while number not in found:
                while waiting and len(busy) < max(jobs, 1):
                    worker = idle.pop() if idle else _begun(function)
                    busy[worker.connection] = worker, waiting.popleft()
                    with suppress(OSError):  # it is no more: seen below
                        worker.connection.send(busy[worker.connection][1])
                for connection in wait(list(busy)):
                    assert isinstance(connection, Connection)
                    worker, asked = busy.pop(connection)
                    try:
                        found[asked] = connection.recv()
                        idle.append(worker)
                    except (EOFError, OSError):
                        found[asked] = None
                        _end(worker)
            if isinstance(answer := found.pop(number), BaseException):
                raise answer
            yield answer
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            _end(worker)


def _begun(function: Callable[[int], Any]) -> _Worker:
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(function, theirs, ours), daemon=True)
    try:
        process.start()
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return _Worker(process, ours)


def _work(function: Callable[[int], Any], theirs: Connection, ours: Connection) -> None:
    ours.close()  # so that the end of the other process is the end of this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the other process decides
    while True:
        try:
            number = theirs.recv()
        except EOFError:
            return
        try:
            answer = function(number)
        except Exception as error:  # for who asked
            answer = error
        try:
            theirs.send(answer)
        except Exception:  # no memory for it, or nobody who waits: the end says it
            return


def _end(worker: _Worker) -> None:
    worker.connection.close()
    worker.process.kill()
    worker.process.join()
