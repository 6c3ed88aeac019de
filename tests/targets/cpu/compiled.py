"""Kernels from a few lines of text, compiled for a CPU target and called through ctypes by the words of abi.py."""

import ctypes
import functools
import tempfile
import textwrap
from pathlib import Path

import numpy as np

from pydotcompute.artifact import abi
from pydotcompute import declare
from pydotcompute.targets.cpu.compiler import kernel_ir, objects
from pydotcompute.targets.cpu.lowering import lower
from pydotcompute.ir.tree import walk
from pydotcompute.interpreter import execute as interpret
from pydotcompute.frontend.build import build_tree
from pydotcompute.analysis.races import check


def tree_of(*arguments, **settings):
    """The checked tree of a specialisation of a kernel called f, or as its template calls it."""
    return check(built_tree(*arguments, **settings))


def built_tree(
    body="", signature="(x: T[...]) -> (out: T[...])", types="{T: [float32]}", template="", extra="", choice=0
):
    """The same, unchecked."""
    with tempfile.TemporaryDirectory() as folder:
        lines = ["version: 1", "kernels:", "  f:", f'    signature: "{signature}"']
        lines += [f"    types: {types}"] if types else []
        lines += textwrap.indent(textwrap.dedent(extra).strip(), "    ").splitlines()
        if template:
            Path(folder, "templates").mkdir()
            Path(folder, "templates/f.py.j2").write_text(textwrap.dedent(template).lstrip("\n"))
            lines += ["    template: f.py.j2"]
        else:
            lines += ["    body: |", textwrap.indent(textwrap.dedent(body).strip("\n"), "      ")]
        Path(folder, "kernels.yaml").write_text("\n".join(lines) + "\n")
        kernel = declare.load(folder).kernels["f"]
        specialisation = kernel.specialisations[choice]
        return build_tree(kernel, specialisation, declare.render(kernel, specialisation, "cpu", folder))


def compiled(tree, *targets, file="f.py", bounds=False):
    """Shared objects by target. Raises what the compiler refuses."""
    made = dict(objects(tree.name, kernel_ir(lower(tree, bounds), file), targets))
    for code in made.values():
        if not isinstance(code, bytes):
            raise code
    return made


class Kernel:
    """A compiled kernel and its interpreter, called alike: arrays and scalars by name, dims by symbol."""

    def __init__(self, tree, target="cpu:x86-64-v3", bounds=False):
        self.tree, self.bounds = tree, bounds
        self.code = compiled(tree, target, bounds=bounds)[target]
        faults = lower(tree, bounds).faults
        roots = [s for body in (tree.body, *(h.body for h in tree.helpers)) for s in body]
        places = [node.at for root in roots for node in walk(root) if getattr(node, "at", None)]
        users = {at.place: at for at in (*(at.caller for at in places if at.caller), *places)}
        self.sites = [(users[place], *rest) for place, *rest in faults.sites]
        self.calls = [users[place] for place in faults.calls]
        self.library = load(self.code)
        self.slots, self.count = abi.slots(tree.parameters, tree.symbols)

    def words(self, arguments, dims):
        words = (ctypes.c_int64 * (self.count + abi.FAULT_WORDS))()
        kept = []
        known = {p.name: p for p in self.tree.parameters}
        for slot in self.slots:
            value = dims[slot.name] if slot.kind == "symbol" else arguments[slot.name]
            if slot.kind == "symbol":
                words[slot.index] = int(value)
            elif slot.kind == "scalar":
                bits = np.array(value, known[slot.name].dtype).tobytes().ljust(8, b"\0")
                for k in range(0, len(bits), 8):
                    words[slot.index + k // 8] = int.from_bytes(bits[k : k + 8], "little", signed=True)
            elif slot.kind == "data":
                words[slot.index] = value.ctypes.data
            elif slot.kind == "stride":
                words[slot.index] = value.strides[value.ndim - len(known[slot.name].dims) + slot.axis]
            else:
                leading = value.ndim - len(known[slot.name].dims)
                pairs = [n for axis in range(leading) for n in (value.shape[axis], value.strides[axis])]
                view = (ctypes.c_int64 * (1 + len(pairs)))(leading, *pairs)
                kept.append(view)
                words[slot.index] = ctypes.addressof(view)
        return words, kept

    def __call__(self, dims, threads=1, /, **arguments):
        ctypes.c_int32.in_dll(self.library, "threads").value = threads
        words, kept = self.words(arguments, dims)
        result = self.library.run(words)
        return (result, list(words[self.count : self.count + abi.TOLD_WORDS])) if self.bounds else result

    def fault(self, dims, threads=1, /, **arguments):
        """(line, column, array, axis, extent, index) of the fault of a call; None where there is none."""
        ctypes.c_int32.in_dll(self.library, "threads").value = threads
        words, kept = self.words(arguments, dims)
        if not self.library.run(words):
            return None
        site, _, extent, index = words[self.count : self.count + abi.TOLD_WORDS]
        at, array, _, axis = self.sites[site - 1]
        return at.line, at.column, array, axis, extent, index

    def interpret(self, dims, /, **arguments):
        seen = {}
        for p in self.tree.parameters:
            value = arguments[p.name]
            if p.is_array and p.ellipsis:
                value = value.reshape((-1, *value.shape[value.ndim - len(p.dims) :]) if p.dims else (value.size,))
            seen[p.name] = value
        interpret.run(self.tree, seen, dims)


def load(code):
    """The shared object as a ctypes library."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(code)
        file.flush()
        return ctypes.CDLL(file.name)


@functools.cache
def kernel(*arguments, target="cpu:x86-64-v3", bounds=False, **settings):
    return Kernel(tree_of(*arguments, **settings), target, bounds)


def agree(k, dims, threads=1, tolerance=None, /, **arguments):
    """Run compiled code and the interpreter on copies; the outputs are equal to the bit, or within `tolerance`."""
    mine = {n: v.copy() if isinstance(v, np.ndarray) and v.flags.c_contiguous else v for n, v in arguments.items()}
    other = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in arguments.items()}
    assert k(dims, threads, **mine) == 0
    k.interpret(dims, **other)
    for p in k.tree.parameters:
        if p.writable:
            same(mine[p.name], other[p.name], tolerance)
    return mine


def same(got, wanted, tolerance=None):
    if tolerance is not None:
        with np.errstate(invalid="ignore"):
            close = np.isclose(
                got,
                wanted,
                rtol=tolerance,
                atol=tolerance * np.nan_to_num(np.abs(wanted)).max(initial=0),
                equal_nan=True,
            )
        assert close.all(), (got[~close][:5], wanted[~close][:5])
        return
    if got.dtype.kind == "c":
        got, wanted = (a.reshape(-1).view(a.real.dtype) for a in (got, wanted))
    equal = got == wanted
    if got.dtype.kind == "f":
        equal = (equal & (np.signbit(got) == np.signbit(wanted))) | (np.isnan(got) & np.isnan(wanted))
    assert equal.all(), (np.flatnonzero(~equal)[:5], got[~equal][:5], wanted[~equal][:5])
