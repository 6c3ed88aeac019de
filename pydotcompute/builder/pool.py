"""Worker processes: each imports the compilers once and takes task after task; one that dies fails its task alone.

Plain child processes on a socket pair, not `multiprocessing`'s: nothing of the caller's `__main__` is run again, and
what a dying compiler writes to stderr is kept for the reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from multiprocessing.connection import Connection, Pipe, wait
from typing import IO, Any, Iterator, NamedTuple, cast

Task = Any  # a Job, whose answer is an Answer, or a Reading, whose answer is a Tree


class Started(NamedTuple):
    task: Task
    worker: int  # the number of its process


class Finished(NamedTuple):
    task: Task
    answer: Any


class Died(NamedTuple):
    task: Task
    reason: str


class _Worker(NamedTuple):
    process: subprocess.Popen
    connection: Connection
    log: IO[bytes]


class Workers:
    """Up to `most` processes whose working directory is `folder`, started as they are needed. Leaving the context
    kills those that there are."""

    def __init__(self, most: int, folder: str):
        self.most, self.folder = most, folder
        self._idle: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        while self._idle:
            _end(self._idle.pop())

    def run(self, pending: deque[Task]) -> Iterator[Started | Finished | Died]:
        """Run tasks. The caller may add to `pending`, or clear it: what has begun is waited for. Closing the
        generator kills at once who works."""
        busy: dict[Connection, tuple[_Worker, Task]] = {}
        try:
            while pending or busy:
                while pending and len(busy) < self.most:
                    used = bool(self._idle)
                    worker = self._idle.pop() if used else _start(self.folder)
                    task = pending.popleft()
                    busy[worker.connection] = (worker, task)
                    yield Started(task, worker.process.pid)
                    try:
                        worker.connection.send(task)
                    except OSError:
                        if used:  # it died between two tasks, which is not this one's fault
                            del busy[worker.connection]
                            _end(worker)
                            pending.appendleft(task)
                for connection in wait(list(busy)):
                    worker, task = busy.pop(cast(Connection, connection))
                    try:
                        answer = worker.connection.recv()
                    except (EOFError, OSError):
                        reason = _last_words(worker)
                        _end(worker)
                        yield Died(task, reason)
                    else:
                        self._idle.append(worker)
                        yield Finished(task, answer)
        finally:
            for worker, _ in busy.values():
                _end(worker)


def _start(folder: str) -> _Worker:
    ours, theirs = Pipe(duplex=True)
    log = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process lives
    program = (
        "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
        "from pydotcompute.builder.worker import main; main(int(sys.argv[2]))"
    )
    # Numba takes settings from its environment and from a file in the working directory; an artifact must not.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment.update(PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE=os.environ.get("PYTHONDONTWRITEBYTECODE", ""))
    paths = [os.path.abspath(path) for path in sys.path]
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, json.dumps(paths), str(theirs.fileno())],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=environment,
            pass_fds=[theirs.fileno()],
        )  # fmt: skip
    except OSError:
        ours.close()
        log.close()
        raise
    finally:
        theirs.close()
    return _Worker(process, ours, log)


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.wait()
    worker.connection.close()
    with contextlib.suppress(OSError):  # it was written for this process alone
        worker.log.close()


def _last_words(worker: _Worker) -> str:
    """How the process ended, and the last line that it wrote."""
    status = worker.process.wait()
    worker.log.seek(0)
    written = [line for line in worker.log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        ending = f"the compiler was killed by {name}"
        if -status == signal.SIGKILL:
            ending += " (often: the machine is out of memory; fewer jobs with -j need less)"
    else:
        ending = f"the compiler exited with status {status}"
    told = next((line for line in reversed(written) if "ERROR" in line), written[-1] if written else "")
    return ending + (f": {told.strip()}" if told else "")
