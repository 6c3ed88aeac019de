"""Programs of such texts, and launches of their kernels with the arguments that their code objects describe."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import numpy as np

from pydotcompute.backends.cpu import levels
from pydotcompute.targets.hip import code_object, toolchain
from pydotcompute.targets.hip.header import HEADER

FOLDER = tempfile.mkdtemp(prefix="pydotcompute-hip-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
LEVEL = "x86-64-v3"
COMPILE = (
    "-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc", "-target", "x86_64-unknown-linux-gnu", f"-march={LEVEL}", "-O1",
    "-fPIC", "-ffp-contract=off", "-w", "-c",
)  # fmt: skip
PLACES = ("workitem_id", "workgroup_id", "workgroup_size", "grid_size")
BUILTINS = "\n".join((
    "unsigned int host_place(unsigned int what);", "void host_barrier(void);",
    *(f"#define __builtin_amdgcn_{what}_{axis}() host_place({3 * n + k})"
      for n, what in enumerate(PLACES) for k, axis in enumerate("xyz")),
    "#define __builtin_amdgcn_fence(order, scope)", "#define __builtin_amdgcn_s_barrier() host_barrier()",
))  # fmt: skip
_KERNEL = re.compile(r"kernel void (\w+)\(([^)]*)\)")


def missing() -> str:
    """Why nothing can be executed here; empty if it can."""
    return toolchain.missing() or levels.unfit(LEVEL)


class Program:
    """The kernels of a text; code: its code object, which says where arguments lie."""

    def __init__(self, text: str, code: bytes):
        self.kernels = code_object.kernels(code)
        parameters = {name: [p.strip() for p in given.split(",")] for name, given in _KERNEL.findall(text)}
        assert parameters.keys() == self.kernels.keys()
        self.library = ctypes.CDLL(_compiled(text + "".join(map(self._wrapper, parameters, parameters.values()))))

    def _wrapper(self, name: str, parameters: Sequence[str]) -> str:
        """The kernel with its arguments in one memory, as a GPU gets them."""
        own = self.kernels[name].arguments
        assert len(own) == len(parameters)
        for one, text in zip(own, parameters):
            assert (one.kind == "global_buffer") == ("*" in text) == text.startswith("global"), (one, text)
        types = [re.sub(r"\w+$", "", p).replace("restrict", "") for p in parameters]
        given = [f"*(private {t} private *)(given + {one.offset})" if "*" not in t else
                 f"*({t} private *)(given + {one.offset})" for t, one in zip(types, own)]  # fmt: skip
        return f"\nvoid run_{name}(private uchar *private given) {{ {name}({', '.join(given)}); }}\n"

    def launch(
        self, name: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[bytes], seed: int = 0
    ) -> None:
        told = self.kernels[name]
        assert [len(a) for a in arguments] == [a.size for a in told.arguments]
        assert np.prod(block) <= told.most_threads and (not told.block or tuple(block) == told.block)
        memory = np.full(told.kernarg + 16, 0xA5, np.uint8)
        start = -memory.ctypes.data % 16
        for one, given in zip(told.arguments, arguments):
            memory[start + one.offset : start + one.offset + one.size] = np.frombuffer(given, np.uint8)
        sizes = (ctypes.c_uint * 6)(*grid, *block)
        place = ctypes.c_void_p(memory.ctypes.data + start)
        assert not driver().host_launch(self.library[f"run_{name}"], place, sizes, seed), "a barrier is not for all"


@functools.cache
def driver() -> ctypes.CDLL:
    path = os.path.join(FOLDER, "libwork_items.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "work_items.c")
    command = [sys.executable, "-m", "ziglang", "cc", "-O2", "-shared", "-fPIC", "-o", path, source]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def _compiled(text: str) -> str:
    driver()
    folder = tempfile.mkdtemp(dir=FOLDER)
    with open(os.path.join(folder, "kernel.cl"), "w") as file:
        file.write(f"{BUILTINS}\n{HEADER}{text}")
    for command in (
        ["clang", *COMPILE, "kernel.cl", "-o", "kernel.o"], ["ld.lld", "-shared", "kernel.o", "-o", "kernel.so"],
    ):  # fmt: skip
        code, _, said = toolchain._run(folder, *command)
        assert not code, said
    return os.path.join(folder, "kernel.so")
