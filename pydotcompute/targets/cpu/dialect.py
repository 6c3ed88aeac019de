"""LLVM of the installed llvmlite, for CPUs: what the shared operations leave to it.

Ordinary accesses belong to the access group ACCESS: inside a loop that calls `independent()`, no two iterations touch
the same element (targets/llvm/independence.py tells LLVM so).
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from ...ir.math import circular
from ...ir.math.helpers import NEAR_QUOTIENT
from ..llvm import lanes
from ..llvm.dialect import Dialect
from ..llvm.independence import ACCESS
from ..llvm.memory import pair_words
from ..llvm.swaps import swap_until_kept
from ..llvm.values import I8, I64, SUFFIX, call, kind, llvm_call, llvm_type, parts, stored_type

LOCK = "pydotcompute.lock"


def word_of_inverse(b, k):
    """Word k of the bits of 1 / 2 pi, from memory."""
    words, name = circular.WIDE.words, circular.WIDE.word.name
    table = b.module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(b.module, ir.ArrayType(I64, len(words)), name)
        table.linkage, table.global_constant = "linkonce_odr", True
        table.initializer = ir.Constant(table.value_type, list(words))
    return b.load(b.gep(table, [ir.Constant(I64, 0), k], inbounds=True), typ=I64)


def upper_half(b, x, y):
    """The upper 64 bits of the product of two uint64."""
    wide = ir.IntType(128)
    product = b.mul(b.zext(x, wide), b.zext(y, wide))
    return b.trunc(b.lshr(product, ir.Constant(wide, 64)), I64)


@dataclass(frozen=True)
class CpuDialect(Dialect):
    """`grouped`: whether its accesses belong to the access group."""

    grouped: bool = True

    linkage, pure = "linkonce_odr", lanes.PURE
    helpers = {
        circular.WIDE.word.name: word_of_inverse, circular.WIDE.upper_half.name: upper_half,
        NEAR_QUOTIENT.name: lambda b, x, y: b.fdiv(x, y),
    }  # fmt: skip

    # ------------------------------------------------------------------------------------------------ arithmetic

    def function(self, b, name, t, *values):
        return llvm_call(b, name, t, *values)

    def negated(self, b, value):
        return b.fneg(value)

    def remainder(self, b, t, x, y, quotient):
        return (b.urem if kind(t) == "uint" else b.srem)(x, y)

    def contracted(self, b, t, x, y, z):
        """Rounded twice below x86-64-v3: a level's choice, made alike for scalars and vectors."""
        return llvm_call(b, "fmuladd", t, x, y, z)

    def extremum(self, b, op, t, x, y):
        prefix, name = {"int": ("s", op), "uint": ("u", op)}.get(kind(t), ("", f"{op}imum"))
        return llvm_call(b, prefix + name, t, x, y)

    def count(self, b, x, y):
        pair = b.smul_with_overflow(x, y)
        return b.select(b.extract_value(pair, 1), ir.Constant(I64, 2**63 - 1), b.extract_value(pair, 0))

    def to_integer(self, b, source, target, x):
        signed = "s" if kind(target) == "int" else "u"
        return call(b, f"llvm.fpto{signed}i.sat.i{target.bitwidth}.{SUFFIX[source]}", llvm_type(target), x)

    def rare_case(self, b, t, limit, name, rare, x, usual):
        return lanes.rare_case(b, limit, name, rare, x, usual)

    # ---------------------------------------------------------------------------------------------------- memory

    def address(self, b, t, pointer, offset, in_bytes):
        return b.gep(pointer, [offset], inbounds=True, source_etype=I8 if in_bytes else stored_type(t))

    def load(self, b, t, address, align):
        value = self._of_group(b, b.load(address, align=align, typ=stored_type(t)))
        return b.icmp_unsigned("!=", value, ir.Constant(I8, 0)) if kind(t) == "bool" else value

    def store(self, b, t, value, address, align):
        value = _in_memory(b, t, value)
        self._of_group(b, b.store(value, b.bitcast(address, value.type.as_pointer()), align=align))

    def _of_group(self, b, access):
        """Put a load or store into the access group of its module."""
        if self.grouped:
            node = b.module.namedmetadata.get(ACCESS)
            group = node.operands[0] if node else b.module.add_metadata([ir.MetaDataString(b.module, ACCESS)])
            if not node:
                b.module.add_named_metadata(ACCESS, group)
            access.set_metadata("llvm.access.group", group)
        return access

    def scatter(self, b, t, value, address):
        if kind(t) != "complex":
            _store_whole(b, _in_memory(b, t, value), address)
        elif t.bitwidth == 128:
            for number, part in enumerate(parts(b, value)):
                _store_whole(b, part, _part(b, part, address, number))
        else:
            _store_pair(b, value, address)

    def has_atomic(self, t, op):
        return kind(t) != "complex" or op == "add"

    def atomic(self, b, t, op, value, address):
        which = kind(t)
        if which == "complex":
            for number, part in enumerate(parts(b, value)):
                b.atomic_rmw("fadd", _part(b, part, address, number), part, "monotonic")
            return None
        return b.atomic_rmw(_update(which, op), address, _in_memory(b, t, value), "monotonic")

    def swap(self, b, t, address, combine):
        word = llvm_type(t)

        def load(b, cell):
            return b.load_atomic(cell, "monotonic", t.bitwidth // 8, typ=word)

        def swapped(b, cell, seen, new):
            return b.extract_value(b.cmpxchg(cell, seen, new, "monotonic", "monotonic"), 0)

        return swap_until_kept(b, t, address, word, combine, load, swapped)


CPU = CpuDialect()
UNGROUPED = CpuDialect(grouped=False)


def _in_memory(b, t, value):
    """A value as it lies in memory."""
    return b.zext(value, I8) if kind(t) == "bool" else value


def _part(b, part, address, number: int):
    return b.gep(address, [ir.Constant(I64, number)], source_etype=part.type)


def _update(which: str, op: str) -> str:
    """LLVM's name of an atomic update."""
    if op == "add":
        return "fadd" if which == "float" else "or" if which == "bool" else "add"
    if which == "float":
        return "fminimum" if op == "min" else "fmaximum"
    return ("u" if which in ("uint", "bool") else "") + op


def _store_whole(b, value, address) -> None:
    """A store of up to 8 bytes, aligned to as many, that never shows in parts."""
    width = value.type.width if isinstance(value.type, ir.IntType) else {"float": 32, "double": 64}[str(value.type)]
    if not isinstance(value.type, ir.IntType):
        value = b.bitcast(value, ir.IntType(width))
    b.store_atomic(value, b.bitcast(address, value.type.as_pointer()), "monotonic", max(width // 8, 1))


def _store_pair(b, value, address) -> None:
    """A complex64: arrays are aligned to its parts only. In 8 bytes that are not aligned it is stored under a lock."""
    pair = parts(b, value)
    low, high = pair_words(b, pair)
    both = b.or_(low, b.shl(high, ir.Constant(I64, 32)))
    place = b.ptrtoint(address, I64)
    aligned = b.icmp_unsigned("==", b.and_(place, ir.Constant(I64, 7)), ir.Constant(I64, 0))
    with b.if_else(aligned, likely=True) as (whole, apart):
        with whole:
            _store_whole(b, both, address)
        with apart:
            lock = b.module.globals.get(LOCK)
            if lock is None:
                lock = ir.GlobalVariable(b.module, I64, LOCK)
                lock.linkage, lock.initializer, lock.align = "internal", ir.Constant(I64, 0), 8
            free, taken = ir.Constant(I64, 0), ir.Constant(I64, 1)
            again, held = b.append_basic_block("lock"), b.append_basic_block("held")
            b.branch(again)
            b.position_at_end(again)
            result = b.cmpxchg(lock, free, taken, "acquire", "monotonic")
            b.cbranch(b.extract_value(result, 1), held, again)
            b.position_at_end(held)
            parts_at = b.bitcast(address, pair[0].type.as_pointer())
            for number, part in enumerate(pair):
                b.store(part, b.gep(parts_at, [ir.Constant(I64, number)]), align=4)
            b.store_atomic(free, lock, "release", 8)
