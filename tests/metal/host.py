"""Programs of texts in the Metal Shading Language, and launches of their kernels with arguments where their artifacts'
metadata says: the threads of a block are fibers, as tests/hip/work_items.c has them."""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydotcompute.targets.hip import toolchain
from tests.hip.host import FOLDER, LEVEL, driver, missing

__all__ = ["Program", "missing", "parsed"]
HERE = os.path.dirname(os.path.abspath(__file__))
PARSE = ("-x", "clcpp", "-cl-std=clc++2021", "-cl-no-stdinc", "-I", HERE, "-target", "x86_64-unknown-linux-gnu",
         "-Wall", "-Werror", "-Wno-unused", "-Wno-unknown-attributes", "-Wno-unknown-pragmas", "-Wno-parentheses",
         "-Wno-self-assign", "-Wno-tautological-compare")  # fmt: skip
COMPILE = (f"-march={LEVEL}", "-O1", "-fPIC", "-ffp-contract=off", "-c")
PLACES = {  # by the numbers of places that tests/hip/work_items.c has, where the grid counts threads
    "thread_position_in_threadgroup": "host_place({0})", "threadgroup_position_in_grid": "host_place({1})",
    "threads_per_threadgroup": "host_place({2})", "threadgroups_per_grid": "host_place({3}) / host_place({2})",
}  # fmt: skip
_KERNEL = re.compile(r"kernel void (\w+)\((.*)\) \{$", re.M)
_PARAMETER = re.compile(r"(.*?)(\w+) \[\[(\w+)(?:\((\d+)\))?\]\]")
_STRUCT = re.compile(r"struct (\w+) \{\n((?:    [^\n]*;\n)+)\};")


def parsed(texts: Sequence[str]) -> str:
    """What is wrong with texts, as the compiler says it; empty where nothing is."""
    folder = tempfile.mkdtemp(dir=FOLDER)
    names = [f"{k}.metal" for k in range(len(texts))]
    for name, text in zip(names, texts):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    _, told, said = toolchain._run(folder, "clang", *PARSE, "-fsyntax-only", *names)
    return told + said


class Program:
    """The kernels of an artifact."""

    def __init__(self, text: str, meta: Mapping[str, Any]):
        self.bindings, self.bytes = meta["bindings"], meta["bytes"]
        structs = {name: body.split() for name, body in _STRUCT.findall(text)}
        heads = dict(_KERNEL.findall(text))
        assert heads.keys() == self.bindings.keys()
        wrappers = (self._wrapper(name, given.split(", "), structs) for name, given in heads.items())
        self.library = ctypes.CDLL(_compiled(f"{text}\nextern \"C\" uint host_place(uint what);\n{''.join(wrappers)}"))

    def _wrapper(self, name: str, parameters: Sequence[str], structs: Mapping[str, list[str]]) -> str:
        """The kernel with its buffers in one memory; its struct is held to what the metadata says."""
        given, checks = [], ""
        buffers = sorted(b for b in self.bindings[name] if isinstance(b, int))
        first = int(len(buffers) < len(self.bindings[name]))
        assert buffers == list(range(first, first + len(buffers))) and first + len(buffers) <= 31
        for number, text in enumerate(parameters):
            found = _PARAMETER.fullmatch(text)
            assert found is not None, text
            kind, what, k = found[1], found[3], found[4]
            if what != "buffer":
                given.append(f"uint3{{{', '.join(PLACES[what].format(axis, 3 + axis, 6 + axis, 9 + axis) for axis in range(3))}}}")
                continue
            assert int(k) == number and kind.startswith(("device ", "constant ") if number >= first else "constant ")
            if kind.startswith("constant "):
                assert number == 0
                struct = kind.split()[1]
                members = [word.rstrip(";") for word in structs[struct] if word.endswith(";")]
                offsets = [b[0] for b in self.bindings[name] if not isinstance(b, int)]
                assert len(members) == len(offsets)
                checks = f"static_assert(sizeof({struct}) == {self.bytes[name]}, \"\");\n" + "".join(
                    f"static_assert(__builtin_offsetof({struct}, {member}) == {at}, \"\");\n"
                    for member, at in zip(members, offsets)
                )  # fmt: skip
                given.append(f"*(constant {struct} *)given[0]")
            else:
                given.append(f"({kind})given[{k}]")
        return f"\n{checks}extern \"C\" void run_{name}(thread ulong *given) {{ {name}({', '.join(given)}); }}\n"

    def launch(
        self, name: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[bytes], seed: int = 0
    ) -> None:
        """arguments: of memory, its address as 8 bytes."""
        bindings = self.bindings[name]
        scalars = np.full(self.bytes[name] + 16, 0xA5, np.uint8)
        start = -scalars.ctypes.data % 16
        given = np.zeros(32, np.uint64)
        given[0] = scalars.ctypes.data + start
        for place, data in zip(bindings, arguments, strict=True):
            if isinstance(place, int):
                given[place] = np.frombuffer(data, np.uint64)[0]
                continue
            at, size = place
            assert len(data) == size
            scalars[start + at : start + at + size] = np.frombuffer(data, np.uint8)
        sizes = (ctypes.c_uint * 6)(*grid, *block)
        place = ctypes.c_void_p(given.ctypes.data)
        assert not driver().host_launch(self.library[f"run_{name}"], place, sizes, seed), "a barrier is not for all"


def _compiled(text: str) -> str:
    driver()
    folder = tempfile.mkdtemp(dir=FOLDER)
    with open(os.path.join(folder, "kernel.metal"), "w", encoding="ascii") as file:
        file.write(text)
    for command in (
        ["clang", *PARSE, *COMPILE, "kernel.metal", "-o", "kernel.o"],
        ["ld.lld", "-shared", "kernel.o", "-o", "kernel.so"],
    ):  # fmt: skip
        code, told, said = toolchain._run(folder, *command)
        assert not code, told + said
    return os.path.join(folder, "kernel.so")
