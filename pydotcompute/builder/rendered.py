"""The folder of rendered sources: real files, so that tracebacks, debuggers and people can look at them.

    KERNEL/SPECIALISATION.py           what Jinja2 made of the declaration, for a CPU
    KERNEL/SPECIALISATION.cpu.py       what is compiled for a CPU
    KERNEL/SPECIALISATION.cuda.py …    the same for another backend, with SPECIALISATION.cuda-rendered.py
"""

from __future__ import annotations

import contextlib
import os
import shutil

from ..cache.writer import replace_file
from ..declare.model import Declaration
from .jobs import Job


def write_source(job: Job, suffix: str, text: str) -> str:
    """Keep a source of the job's, written only if it says something else; returns its path. May raise OSError."""
    path = os.path.join(job.folder, job.kernel.name, f"{job.specialisation}{suffix}")
    data = text.encode()
    try:
        with open(path, "rb") as file:
            if file.read() == data:
                return path
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    replace_file(path, data, 0o644, sync=False)
    return path


def remove_others(folder: str, declaration: Declaration) -> None:
    """Remove the sources of what is no longer declared."""
    wanted = {name: {str(s) for s in kernel.specialisations} for name, kernel in declaration.kernels.items()}
    with contextlib.suppress(OSError):  # they are in nobody's way
        for kernel in os.listdir(folder):
            place = os.path.join(folder, kernel)
            if kernel not in wanted:
                shutil.rmtree(place, ignore_errors=True)
                continue
            for name in os.listdir(place):
                if not any(name.startswith(f"{label}.") for label in wanted[kernel]):
                    os.unlink(os.path.join(place, name))
