"""The folder of rendered sources: real files, so that tracebacks, debuggers and people can look at them.

    KERNEL/SPECIALISATION.py           what Jinja2 made of the declaration, for a CPU
    KERNEL/SPECIALISATION.cpu.py       what is compiled for a CPU
    KERNEL/SPECIALISATION.avx512.py …  the same of a template that asks for AVX-512, for those that have it
    KERNEL/SPECIALISATION.cuda.py …    the same for another backend, with SPECIALISATION.cuda-rendered.py
"""

from __future__ import annotations

import contextlib
import os
import shutil

from ..declare.model import Declaration


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
