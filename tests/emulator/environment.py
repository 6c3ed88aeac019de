"""The environment of a process that has emulated CUDA devices: the package cupy beside this file, and a libcuda.so.1.

It is no GPU, and proves nothing about one, its driver, its streams' timing, or CuPy itself: it shows that the run half
asks for the right things in the right order, and that built PTX, run by the interpreter, computes what it should.
"""

from __future__ import annotations

import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))


def environment(
    folder: str, devices: int = 2, capability: tuple[int, int] = (13, 0), driver: int = 12090, memory: int = 1 << 28
) -> dict[str, str]:
    """For a new process. `folder` is where the library is put; `memory` is what each device has, in bytes."""
    library = os.path.join(folder, "libcuda.so.1")
    if not os.path.exists(library):
        compiler = [sys.executable, "-m", "ziglang", "cc", "-O1", "-shared", "-Wl,-soname,libcuda.so.1"]
        subprocess.run([*compiler, "-o", library, f"{FOLDER}/driver.c"], check=True, capture_output=True, text=True)
    return {
        **os.environ, "PYTHONPATH": _before("PYTHONPATH", FOLDER, ROOT),
        "LD_LIBRARY_PATH": _before("LD_LIBRARY_PATH", folder),
        "EMULATED_DEVICES": str(devices), "EMULATED_CAPABILITY": f"{capability[0]}.{capability[1]}",
        "EMULATED_DRIVER": str(driver), "EMULATED_MEMORY": str(memory),
    }  # fmt: skip


def _before(name: str, *folders: str) -> str:
    return os.pathsep.join([*folders, *filter(None, [os.environ.get(name)])])
