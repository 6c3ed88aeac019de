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
    folder: str, devices: int = 2, capability: tuple[int, int] = (13, 0), driver: int = 12090, memory: int = 1 << 28,
    architecture: str = "", texts: str = "",
) -> dict[str, str]:
    """For a new process. `folder` is where the library is put; `memory` is what each device has, in bytes;
    architecture: of AMD's devices, whose code objects are made of texts that are in a folder."""
    name = "libamdhip64.so.6" if architecture else "libcuda.so.1"
    library = os.path.join(folder, name)
    if not os.path.exists(library):
        compiler = [sys.executable, "-m", "ziglang", "cc", "-O1", "-shared", f"-Wl,-soname,{name}"]
        source = f"{FOLDER}/{'hip' if architecture else 'driver'}.c"
        subprocess.run([*compiler, "-o", library, source], check=True, capture_output=True, text=True)
    return {
        **os.environ, "PYTHONPATH": _before("PYTHONPATH", FOLDER, ROOT),
        "LD_LIBRARY_PATH": _before("LD_LIBRARY_PATH", folder),
        "EMULATED_DEVICES": str(devices), "EMULATED_CAPABILITY": f"{capability[0]}.{capability[1]}",
        "EMULATED_DRIVER": str(driver), "EMULATED_MEMORY": str(memory), "EMULATED_ARCHITECTURE": architecture,
        "EMULATED_TEXTS": texts,
    }  # fmt: skip


def _before(name: str, *folders: str) -> str:
    return os.pathsep.join([*folders, *filter(None, [os.environ.get(name)])])
