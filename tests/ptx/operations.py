"""What the arithmetic instructions compute: each on vectors of its operands, one element a thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import floats
from .bits import BITS
from .operation import DTYPES, Operation
from .parse import TYPE_BYTES, Instruction, PtxError

CARRY = "%carry"  # the condition code register, as if it were named


def operation(i: Instruction) -> Operation | None:
    """The meaning of an instruction that only computes, or None if it does something else. Raises PtxError for a
    modifier that is not known."""
    make = TABLE.get(i.name)
    if make is None:
        return None
    *modifiers, kind = i.modifiers
    if kind not in DTYPES:
        raise PtxError(f"type .{kind} in {i.text!r}")
    made = make(set(modifiers), kind, i)
    if made is None:
        raise PtxError(f"modifiers of {i.text!r}")
    return made


def _is_float(kind: str) -> bool:
    return kind[0] == "f"


DIRECTED = {"rz", "rm", "rp"}


def _directed(modifiers: set[str], kind: str, terms: Callable) -> Operation | None:
    """An addition or product of float32 with another rounding than to nearest, as a·b + c."""
    mode = modifiers & DIRECTED
    if kind != "f32" or len(mode) != 1:
        return None
    (mode,) = mode
    function = _wrap(lambda a, b: floats.directed_fma(*terms(a, b), mode), modifiers - {mode}, kind)
    return function and Operation((kind,), (kind, kind), function)


def _wrap(function: Callable, modifiers: set[str], kind: str, allowed: str = "") -> Callable | None:
    """A float operation with its modifiers: rn or none, ftz, sat; None for another."""
    if modifiers - {"rn", "ftz", "sat", *allowed.split()}:
        return None

    def run(*values):
        if "ftz" in modifiers:
            values = [floats.flush(v) for v in values]
        result = function(*values)
        if "ftz" in modifiers:
            result = floats.flush(result)
        if "sat" in modifiers:
            result = np.where(np.isnan(result), 0, np.clip(result, 0, 1)).astype(result.dtype)
        return result

    return run if modifiers & {"ftz", "sat"} else function


def _same(arity: int, integer: Callable | None, real: Callable | None, allowed: str = "") -> Callable:
    """An instruction whose operands and result have one type."""

    def make(modifiers, kind, i):
        function = real if _is_float(kind) else integer
        if function is None or not _is_float(kind) and modifiers:
            return None
        if _is_float(kind):
            function = _wrap(function, modifiers, kind, allowed)
        return function and Operation((kind,), (kind,) * arity, function)

    return make


def _high(a, b):
    """The upper half of a product of integers of 32 or 64 bits."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return ((a.astype(wide) * b.astype(wide)) >> wide(bits)).astype(a.dtype)
    x, y, low = a.astype(np.uint64), b.astype(np.uint64), np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    xl, xh, yl, yh = x & low, x >> half, y & low, y >> half
    middle = (xl * yl >> half) + (xh * yl & low) + (xl * yh & low)
    high = xh * yh + (xh * yl >> half) + (xl * yh >> half) + (middle >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, 0).astype(np.uint64) - np.where(b < 0, x, 0).astype(np.uint64)
    return high.astype(a.dtype)


def _wide(kind: str) -> str:
    return f"{kind[0]}{TYPE_BYTES[kind] * 16}"


def _mul(modifiers, kind, i):
    if modifiers & DIRECTED:
        return _directed(modifiers, kind, lambda a, b: (a, b, np.float32(-0.0)))
    if _is_float(kind):
        function = _wrap(lambda a, b: a * b, modifiers, kind)
        return function and Operation((kind,), (kind, kind), function)
    if modifiers == {"lo"}:
        return Operation((kind,), (kind, kind), lambda a, b: a * b)
    if modifiers == {"hi"}:
        return Operation((kind,), (kind, kind), _high)
    if modifiers == {"wide"} and TYPE_BYTES[kind] < 8:
        to = DTYPES[_wide(kind)]
        return Operation((_wide(kind),), (kind, kind), lambda a, b: a.astype(to) * b.astype(to))
    return None


def _mad(modifiers, kind, i):
    if "cc" in modifiers or i.name == "madc":
        half = {"lo": lambda a, b: a * b, "hi": _high}.get(next(iter(modifiers - {"cc"}), ""))
        return half and _with_carry(modifiers, kind, i.name == "madc", 3, lambda a, b, c: (half(a, b), c))
    if modifiers == {"wide"}:
        to = DTYPES[_wide(kind)]
        return Operation((_wide(kind),), (kind, kind, _wide(kind)), lambda a, b, c: a.astype(to) * b.astype(to) + c)
    if modifiers == {"lo"}:
        return Operation((kind,), (kind,) * 3, lambda a, b, c: a * b + c)
    if modifiers == {"hi"}:
        return Operation((kind,), (kind,) * 3, lambda a, b, c: _high(a, b) + c)
    return None


def _with_carry(modifiers, kind, carry_in, arity, terms):
    """x + y (+ carry), whose carry may go out."""

    def compute(*values):
        *values, carry = values
        x, y = (v.view(f"u{v.dtype.itemsize}") for v in terms(*values))
        first = x + y
        total = first + (carry.astype(first.dtype) if carry_in else first.dtype.type(0))
        return total.view(values[0].dtype), ((first < x) | (total < first)).astype(np.uint32)

    return Operation((kind,), (kind,) * arity, compute, carry_in, True)


def _add(modifiers, kind, i):
    if "cc" in modifiers or i.name == "addc":
        return _with_carry(modifiers, kind, i.name == "addc", 2, lambda a, b: (a, b))
    if modifiers & DIRECTED:
        return _directed(modifiers, kind, lambda a, b: (a, np.float32(1), b))
    return _same(2, lambda a, b: a + b, lambda a, b: a + b)(modifiers, kind, i)


def _sub(modifiers, kind, i):
    if modifiers & DIRECTED:
        return _directed(modifiers, kind, lambda a, b: (a, np.float32(1), -b))
    if "cc" not in modifiers and i.name == "sub":
        return _same(2, lambda a, b: a - b, lambda a, b: a - b)(modifiers, kind, i)
    borrows = i.name == "subc"

    def compute(a, b, borrow):
        x, y = a.view(f"u{a.dtype.itemsize}"), b.view(f"u{b.dtype.itemsize}")
        taken = borrow.astype(x.dtype) if borrows else x.dtype.type(0)
        return (x - y - taken).view(a.dtype), ((x < y) | ((x == y) & (taken > 0))).astype(np.uint32)

    return Operation((kind,), (kind, kind), compute, borrows, True)


def _divide(a, b):
    """Towards zero; PTX says nothing about a zero divisor: the compiled code has to select around it."""
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    magnitude = np.abs(a).astype(f"u{a.dtype.itemsize}") // np.abs(safe).astype(f"u{a.dtype.itemsize}")
    signed = np.where((a < 0) != (b < 0), np.zeros_like(magnitude) - magnitude, magnitude).astype(a.dtype)
    return np.where(b == 0, np.array(-1).astype(a.dtype), signed)


def _remainder(a, b):
    return np.where(b == 0, a, a - _divide(a, b) * b)


def _div(modifiers, kind, i):
    return _same(2, _divide, lambda a, b: a / b, "full approx")(modifiers, kind, i)


def _extreme(nan_free):
    def make(modifiers, kind, i):
        if not _is_float(kind):
            return None if modifiers else Operation((kind,), (kind, kind), nan_free[0])
        if modifiers - {"NaN", "ftz"}:
            return None
        nan = "NaN" in modifiers
        return Operation((kind,), (kind, kind), lambda a, b: nan_free[1](a, b, nan))

    return make


def _logic(function: Callable, arity: int = 2) -> Callable:
    return lambda modifiers, kind, i: None if modifiers else Operation((kind,), (kind,) * arity, function)


COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def _comparison(name: str, kind: str) -> Callable | None:
    if name in ("num", "nan"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == (name == "nan")
    if name in COMPARE:
        # `ne` of floats is ordered in PTX: false for NaN.
        if name == "ne" and _is_float(kind):
            return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
        return COMPARE[name]
    if name[:-1] in COMPARE and name.endswith("u") and _is_float(kind):
        plain = COMPARE[name[:-1]]
        return lambda a, b: plain(a, b) | np.isnan(a) | np.isnan(b)
    return None


def _setp(modifiers, kind, i):
    compare = _comparison(i.modifiers[0], kind)
    rest = [m for m in i.modifiers[1:-1] if m != "ftz"]
    if compare is None or len(rest) > 1:
        return None
    combine = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.get(rest[0]) if rest else None
    if rest and combine is None:
        return None
    if "ftz" in i.modifiers:
        plain = compare
        compare = lambda a, b: plain(floats.flush(a), floats.flush(b))  # noqa: E731
    if combine is None:
        return Operation(("pred",), (kind, kind), compare)
    return Operation(("pred",), (kind, kind, "pred"), lambda a, b, c: combine(compare(a, b), c))


def _selp(modifiers, kind, i):
    return Operation((kind,), (kind, kind, "pred"), lambda a, b, p: np.where(p, a, b))


def _approximate(function: Callable) -> Callable:
    """The hardware's fast functions, here as exact as float64 makes them; also the rounded ones of one operand."""

    def make(modifiers, kind, i):
        def compute(a):
            return function(a.astype(np.float64)).astype(a.dtype)

        def nearly(a):
            """Of some numbers the next best: PTX promises of rcp that a unit in the last place is wrong at most."""
            exact, best = function(a.astype(np.float64)), compute(a)
            other = np.nextafter(best, np.where(exact > best, np.inf, -np.inf).astype(a.dtype))
            return np.where((a.view(np.uint32) % 2 == 1) & (exact != best) & np.isfinite(other), other, best)

        if function is _reciprocal and kind == "f32" and "approx" in modifiers:
            return Operation((kind,), (kind,), _wrap(nearly, modifiers, kind, "approx"))
        exact = function is np.sqrt or function is _reciprocal
        if kind == "f64" and {"approx", "ftz"} <= modifiers:
            # 20 bits of the fraction, as PTX promises of rcp and rsqrt.
            coarse = lambda a: (function(a).view(np.uint64) & ~np.uint64(0xFFFFFFFF)).view(np.float64)  # noqa: E731
            return Operation((kind,), (kind,), coarse)
        wrapped = _wrap(compute, modifiers, kind, "approx")
        return wrapped and (exact or "approx" in modifiers) and Operation((kind,), (kind,), wrapped) or None

    return make


def _reciprocal(a):
    return 1.0 / a


def _cvt(modifiers, kind, i):
    to, source = i.modifiers[-2], i.modifiers[-1]
    rounding = set(i.modifiers[:-2])
    if to not in DTYPES:
        return None
    target = DTYPES[to]
    if _is_float(source) and _is_float(to):
        mode = rounding - {"ftz", "sat"}
        rest = rounding - mode
        narrows = TYPE_BYTES[to] < TYPE_BYTES[source]
        if mode == ({"rn"} if narrows else set()):
            return Operation((to,), (source,), _wrap(lambda a: a.astype(target), rest, to))
        if to == source and len(mode) == 1 and (whole := floats.ROUND.get(next(iter(mode)))):
            return Operation((to,), (source,), _wrap(lambda a: whole(a), rest, to))
        return None
    if _is_float(source):
        mode = rounding - {"ftz", "sat"}
        whole = floats.ROUND.get(next(iter(mode), ""))
        if whole is None or len(mode) != 1:
            return None
        ftz = floats.flush if "ftz" in rounding else lambda a: a
        return Operation((to,), (source,), lambda a: floats.to_integer(whole(ftz(a)), target))
    if _is_float(to):
        return Operation((to,), (source,), lambda a: a.astype(target)) if rounding == {"rn"} else None
    if rounding == {"sat"}:
        limits = np.iinfo(target)
        return Operation((to,), (source,), lambda a: _clamp(a, limits).astype(target))
    return None if rounding else Operation((to,), (source,), lambda a: a.astype(target))


def _clamp(a, limits):
    own = np.iinfo(a.dtype)
    return np.clip(a, max(limits.min, own.min), min(limits.max, own.max))


def _copysign(modifiers, kind, i):
    return None if modifiers else Operation((kind,), (kind, kind), lambda sign, value: np.copysign(value, sign))


def _testp(modifiers, kind, i):
    tests = {"finite": np.isfinite, "infinite": np.isinf, "notanumber": np.isnan, "number": lambda a: ~np.isnan(a)}
    test = tests.get(next(iter(modifiers), ""))
    return test and Operation(("pred",), (kind,), test)


def _fma(modifiers, kind, i):
    mode = modifiers & {"rn", "rm", "rp", "rz"}
    if not _is_float(kind) or len(mode) != 1 or mode != {"rn"} and kind != "f32":
        return None
    (mode,) = mode
    compute = floats.fma if mode == "rn" else lambda a, b, c: floats.directed_fma(a, b, c, mode)
    function = _wrap(compute, modifiers - {mode}, kind)
    return function and Operation((kind,), (kind,) * 3, function)


TABLE: dict[str, Callable] = {
    "add": _add, "addc": _add, "mul": _mul, "mad": _mad, "madc": _mad, "fma": _fma, "div": _div,
    "sub": _sub, "subc": _sub, "rem": _same(2, _remainder, None),
    "neg": _same(1, lambda a: np.zeros_like(a) - a, lambda a: -a), "abs": _same(1, np.abs, np.abs),
    "min": _extreme((np.minimum, floats.least)), "max": _extreme((np.maximum, floats.greatest)),
    "and": _logic(lambda a, b: a & b), "or": _logic(lambda a, b: a | b), "xor": _logic(lambda a, b: a ^ b),
    "not": _logic(lambda a: ~a, 1), "setp": _setp, "selp": _selp, "cvt": _cvt, **BITS,
    "copysign": _copysign, "testp": _testp,
    "sqrt": _approximate(np.sqrt), "rcp": _approximate(_reciprocal),
    "rsqrt": _approximate(lambda a: 1.0 / np.sqrt(a)), "ex2": _approximate(np.exp2), "lg2": _approximate(np.log2),
    "sin": _approximate(np.sin), "cos": _approximate(np.cos), "tanh": _approximate(np.tanh),
}  # fmt: skip
