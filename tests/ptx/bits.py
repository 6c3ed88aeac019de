"""Instructions on the bits of integers: shifts, counts, fields, permutations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .operation import Operation
from .parse import TYPE_BYTES, PtxError


def _shift(left: bool) -> Callable:
    def make(modifiers, kind, i):
        bits = TYPE_BYTES[kind] * 8

        def compute(a, n):
            inside = np.minimum(n, bits - 1).astype(a.dtype)
            moved = a << inside if left else a >> inside
            beyond = a.dtype.type(0) if left or a.dtype.kind == "u" else a >> a.dtype.type(bits - 1)
            return np.where(n >= bits, beyond, moved)

        return None if modifiers else Operation((kind,), (kind, "u32"), compute)

    return make


def _funnel(modifiers, kind, i):
    direction, mode = i.modifiers[0], i.modifiers[1]
    if (direction, mode) not in (("l", "wrap"), ("r", "wrap"), ("l", "clamp"), ("r", "clamp")):
        return None

    def compute(a, b, n):
        pair = b.astype(np.uint64) << np.uint64(32) | a.astype(np.uint64)
        n = (n & 31 if mode == "wrap" else np.minimum(n, 32)).astype(np.uint64)
        return ((pair << n) >> np.uint64(32) if direction == "l" else pair >> n).astype(np.uint32)

    return Operation(("b32",), ("b32", "b32", "u32"), compute)


def _count(function: Callable) -> Callable:
    return lambda modifiers, kind, i: None if modifiers else Operation(("u32",), (kind,), function)


def _popc(a):
    return np.bitwise_count(a).astype(np.uint32)


def _clz(a):
    bits = a.dtype.itemsize * 8
    for shift in (s for s in (1, 2, 4, 8, 16, 32) if s < bits):
        a = a | a >> a.dtype.type(shift)
    return (bits - np.bitwise_count(a)).astype(np.uint32)


def _brev(modifiers, kind, i):
    def reverse(a):
        bits = a.dtype.itemsize * 8
        result = np.zeros_like(a)
        for k in range(bits):
            result |= ((a >> a.dtype.type(k)) & a.dtype.type(1)) << a.dtype.type(bits - 1 - k)
        return result

    return None if modifiers else Operation((kind,), (kind,), reverse)


def _bfe(modifiers, kind, i):
    bits = TYPE_BYTES[kind] * 8
    unsigned = np.dtype(f"u{bits // 8}")

    def compute(a, start, length):
        start, length = np.minimum(start & 255, bits), np.minimum(length & 255, bits)
        value = np.where(
            start >= bits,
            a.dtype.type(0) if kind[0] != "s" else a >> a.dtype.type(bits - 1),
            a >> np.minimum(start, bits - 1).astype(a.dtype),
        )
        up = np.minimum(bits - length, bits - 1).astype(unsigned)
        moved = (value.view(unsigned) << up).view(a.dtype) >> up.astype(a.dtype)
        return np.where(length == 0, a.dtype.type(0), moved)

    if modifiers or kind[0] == "s":
        return None if modifiers else _refuse_signed(i)
    return Operation((kind,), (kind, "u32", "u32"), compute)


def _refuse_signed(i):
    raise PtxError(f"signed bit field in {i.text!r}")


def _bfi(modifiers, kind, i):
    bits = TYPE_BYTES[kind] * 8

    def compute(a, b, start, length):
        start, length = start & 255, np.minimum(length & 255, bits)
        one, full = a.dtype.type(1), ~a.dtype.type(0)
        mask = np.where(length >= bits, full, (one << np.minimum(length, bits - 1).astype(a.dtype)) - one)
        shift = np.minimum(start, bits - 1).astype(a.dtype)
        mask = np.where(start >= bits, a.dtype.type(0), mask << shift)
        return (b & ~mask) | ((a << shift) & mask)

    return None if modifiers else Operation((kind,), (kind, kind, "u32", "u32"), compute)


def _prmt(modifiers, kind, i):
    def compute(a, b, selector):
        pair = b.astype(np.uint64) << np.uint64(32) | a.astype(np.uint64)
        result = np.zeros_like(a)
        for k in range(4):
            nibble = (selector >> np.uint32(4 * k)) & np.uint32(15)
            octet = (pair >> (np.uint64(8) * (nibble & np.uint32(7)).astype(np.uint64)) & np.uint64(255)).astype(
                np.uint32
            )
            octet = np.where(nibble & 8, np.where(octet & 128, 255, 0), octet).astype(np.uint32)
            result |= octet << np.uint32(8 * k)
        return result

    return None if modifiers else Operation(("b32",), ("b32",) * 3, compute)


def _lop3(modifiers, kind, i):
    table = int(i.operands[-1], 0)

    def compute(a, b, c, _):
        result = np.zeros_like(a)
        for k in range(8):
            if table >> k & 1:
                result |= (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
        return result

    return None if modifiers else Operation(("b32",), ("b32",) * 4, compute)


BITS: dict[str, Callable] = {
    "shl": _shift(True), "shr": _shift(False), "shf": _funnel, "popc": _count(_popc), "clz": _count(_clz),
    "brev": _brev, "bfe": _bfe, "bfi": _bfi, "prmt": _prmt, "lop3": _lop3,
}  # fmt: skip
