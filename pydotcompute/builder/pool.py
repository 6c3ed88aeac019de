"""Worker processes: each imports the compilers once and takes job after job; one that dies fails its job alone.

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
from typing import IO, Iterator, NamedTuple, cast

from ..targets.base import Answer, Job


class Started(NamedTuple):
    job: Job
    worker: int  # the number of its process


class Finished(NamedTuple):
    job: Job
    answer: Answer


class Died(NamedTuple):
    job: Job
    reason: str


class _Worker(NamedTuple):
    process: subprocess.Popen
    connection: Connection
    log: IO[bytes]


def run_jobs(pending: deque[Job], workers: int, folder: str) -> Iterator[Started | Finished | Died]:
    """Run the jobs on up to `workers` processes whose working directory is `folder`.

    The caller may add to `pending`, or clear it: jobs that have begun are waited for. Closing the generator kills
    every worker at once.
    """
    idle: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, Job]] = {}
    try:
        while pending or busy:
            while pending and len(busy) < workers:
                used = bool(idle)
                worker = idle.pop() if used else _start(folder)
                job = pending.popleft()
                busy[worker.connection] = (worker, job)
                yield Started(job, worker.process.pid)
                try:
                    worker.connection.send(job)
                except OSError:
                    if used:  # it died between two jobs, which is not this one's fault
                        del busy[worker.connection]
                        _end(worker)
                        pending.appendleft(job)
            for connection in wait(list(busy)):
                worker, job = busy.pop(cast(Connection, connection))
                try:
                    answer = worker.connection.recv()
                except (EOFError, OSError):
                    reason = _last_words(worker)
                    _end(worker)
                    yield Died(job, reason)
                else:
                    idle.append(worker)
                    yield Finished(job, answer)
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
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
