"""The part of an entry point that looks at arguments: arrays, scalars, dimensions, shapes, overlap.

Whatever is not plainly right refuses the call; what may be right all the same is the Python path's to find out.
"""

from __future__ import annotations

from typing import Collection, NamedTuple

from llvmlite import ir

from ...artifact.abi import ELEMENTS
from ...artifact.dimensions import Tree
from ...artifact.dtypes import STORED
from ...artifact.signature import DTYPE_BYTES, Parameter
from ...ir.dtypes import COMPLEX
from .entry_code import F32, F64, I1, I8, I32, I64, OF_TIME, PTR, Code, Value, i64
from .entry_types import read_number, require_array, whole_number

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
MOST_DIMS = 64  # of an array of NumPy's
LEADING = 16  # leading dims of views and broadcasts that are served here; NumPy has up to 64


class Array(NamedTuple):
    """What has been read from an ndarray: `nd` int64, `dims` and `strides` addresses of int64."""

    parameter: Parameter
    data: Value  # int64
    nd: Value
    dims: Value
    strides: Value


def read_array(code: Code, p: Parameter, item: Value) -> Array:
    """Type, byte order, dtype, rank, layout, and that it is not too large; not yet the shape."""
    b = code.b
    require_array(code, item)
    descr = code.at(item, 56, PTR)
    number = code.at(descr, 28, I32)
    right = code.equal(number, code.type_number(p.dtype))
    for other in (*code.numbers.get(p.dtype, ())[1:], *(OF_TIME if p.dtype == "int64" else ())):
        right = b.or_(right, code.equal(number, ir.Constant(I32, other)))
    code.require(right)
    if DTYPE_BYTES[p.dtype] > 1:
        code.require(b.icmp_unsigned("!=", code.at(descr, 26, I8), ir.Constant(I8, ord(">"))))
    nd = b.sext(code.at(item, 24, I32), I64)
    known = i64(len(p.dims or ()))
    code.require(b.icmp_signed(">=", nd, known) if p.ellipsis else code.equal(nd, known))
    wanted = ALIGNED | (CONTIGUOUS if p.layout == "C" else 0) | (WRITEABLE if p.writable else 0)
    flags = b.and_(code.at(item, 64, I32), ir.Constant(I32, wanted))
    code.require(code.equal(flags, ir.Constant(I32, wanted)))
    dims = code.at(item, 32, PTR)
    code.require(is_countable(code, known if not p.ellipsis else nd, dims))
    return Array(p, code.at(item, 16, I64), nd, dims, code.at(item, 40, PTR))


def is_countable(code: Code, number: Value, sizes: Value) -> Value:
    """Whether so many sizes, those that are 0 left out, surely have a product below ELEMENTS: by their bits."""
    bits = code.stack(I64)
    code.put(i64(0), bits)

    def add(i: Value) -> None:
        unused = code.b.ctlz(code.element(sizes, i, I64), ir.Constant(I1, 0))
        code.put(code.b.add(code.get(bits), code.b.sub(i64(64), unused)), bits)

    code.loop(number, add)
    return code.b.icmp_signed("<", code.get(bits), i64(ELEMENTS.bit_length()))


def read_scalar(code: Code, p: Parameter, item: Value, word: Value) -> Value | None:
    """Convert a scalar of Python's or NumPy's that fits into its word, or words; its value then, as int64 or float64,
    if it is not complex."""
    b, kind = code.b, "float" if p.dtype in STORED else p.dtype.rstrip("0123456789")
    type_ = code.at(item, 8, PTR)
    code.put(i64(0), word)
    if kind == "bool":
        truth = read_number(code, item, kind)[0]
        code.put(truth, word)
        return truth
    if kind in ("int", "uint"):
        result = code.stack(I64)
        code.branch(
            code.equal(type_, code.python("PyLong_Type")), lambda: code.put(whole_number(code, item), result),
            lambda: code.put(read_number(code, item, kind)[0], result),
        )  # fmt: skip
        value, bits = code.get(result), 8 * DTYPE_BYTES[p.dtype]
        if kind == "uint":
            code.require(b.icmp_signed(">=", value, i64(0)))  # from 2**63 on: the Python path
        if bits < 64:
            low, high = (0, (1 << bits) - 1) if kind == "uint" else (-(1 << bits - 1), (1 << bits - 1) - 1)
            code.require(b.icmp_signed(">=", value, i64(low)))
            code.require(b.icmp_signed("<=", value, i64(high)))
        code.put(value if bits == 64 else b.trunc(value, ir.IntType(bits)), word)
        return value
    if kind == "float":
        real = code.stack(F64)
        code.branch(
            code.equal(type_, code.python("PyFloat_Type")), lambda: code.put(code.at(item, 16, F64), real),
            lambda: code.put(read_number(code, item, kind)[1], real),
        )  # fmt: skip
        return _put_float(code, code.get(real, F64), p.dtype, word, 0)
    for k, part in enumerate(read_number(code, item, kind)[1:]):
        _put_float(code, part, COMPLEX[p.dtype], word, k)
    return None


def _put_float(code: Code, value: Value, dtype: str, word: Value, index: int) -> Value:
    """A float that fits; one that is stored in 16 bits as float32. What it is then."""
    b, infinity = code.b, float("inf")
    if dtype != "float64":
        short = code.rounded(dtype, value) if dtype in STORED else b.fptrunc(value, F32)

        def infinite(x: Value) -> Value:
            return b.or_(*(b.fcmp_ordered("==", x, ir.Constant(x.type, sign * infinity)) for sign in (1, -1)))

        code.require(b.or_(b.not_(infinite(short)), infinite(value)))
        value = short
    code.put(value, word, index)
    return value if value.type == F64 else b.fpext(value, F64)


class Shapes:
    """The dimensions of one call: symbols, and the one shape of all `...`."""

    def __init__(self, code: Code, params: Collection[str]):
        self.code, self.params = code, params
        self.values: dict[Tree, Value] = {}  # of symbols, and of expressions once they are computed
        self.computed: list[tuple[Tree, Value]] = []  # dims of inputs, compared when they are
        self.leading: tuple[Value, Value] | None = None  # how many dims, address of their sizes
        self.count: Value | None = None  # their product

    def bind(self, dim: Tree, value: Value) -> None:
        if dim in self.values:
            self.code.require(self.code.equal(self.values[dim], value))
        else:
            self.values[dim] = value

    @property
    def symbols(self) -> dict[str, Value]:
        return {dim: value for dim, value in self.values.items() if isinstance(dim, str)}

    def of(self, dim: Tree) -> Value:
        """The value of a dim that is a number, or bound."""
        return i64(dim) if isinstance(dim, int) else self.values[dim]

    def trailing(self, array: Array) -> None:
        """Bind or compare the dims that stand in the signature. Those of an output are all bound by now;
        those of an input that are computed wait for all symbols."""
        code, dims = self.code, array.parameter.dims or ()
        first = code.b.sub(array.nd, i64(len(dims)))
        for axis, dim in enumerate(dims):
            value = code.element(array.dims, code.b.add(first, i64(axis)), I64)
            if isinstance(dim, int):
                code.require(code.equal(value, i64(dim)))
            elif dim not in self.values and (not isinstance(dim, str) or dim in self.params):
                self.computed.append((dim, value))
            else:
                self.bind(dim, value)

    def agree(self, array: Array) -> None:
        """The leading dims are those of the first array that has a `...`."""
        code = self.code
        nd = self._leading(array)
        if self.leading is None:
            self._lead(nd, array.dims)
            return
        code.require(code.equal(nd, self.leading[0]))
        sizes = self.leading[1]
        code.loop(
            nd, lambda i: code.require(code.equal(code.element(array.dims, i, I64), code.element(sizes, i, I64)))
        )

    def _leading(self, array: Array) -> Value:
        return self.code.b.sub(array.nd, i64(len(array.parameter.dims or ())))

    def broadcast(self, arrays: list[Array]) -> None:
        """NumPy's rule over the `...` of these arrays."""
        code, b = self.code, self.code.b
        most = i64(0)
        for array in arrays:
            most = b.select(b.icmp_signed(">", self._leading(array), most), self._leading(array), most)
        code.require(b.icmp_signed("<=", most, i64(LEADING)))
        sizes = code.stack(I64, LEADING)
        code.loop(most, lambda i: code.put(i64(1), sizes, i))
        for array in arrays:
            skip = b.sub(most, self._leading(array))

            def widen(i: Value, array=array, skip=skip) -> None:
                place = b.add(skip, i)
                have, common = code.element(array.dims, i, I64), code.element(sizes, place, I64)
                one = i64(1)
                fits = b.or_(code.equal(have, common), b.or_(code.equal(common, one), code.equal(have, one)))
                code.require(fits)
                code.put(b.select(code.equal(common, one), have, common), sizes, place)

            code.loop(self._leading(array), widen)
        self._lead(most, sizes)

    def _lead(self, number: Value, sizes: Value) -> None:
        """These are the leading dims."""
        self.leading, code = (number, sizes), self.code
        product = code.stack(I64)
        code.put(i64(1), product)
        code.loop(number, lambda i: code.put(code.b.mul(code.get(product), code.element(sizes, i, I64)), product))
        self.count = code.get(product)

    def view(self, array: Array) -> Value:
        """The descriptor of abi.py: how the leading dims of an array lie in memory, stride 0 where it is repeated."""
        code, b = self.code, self.code.b
        assert self.leading is not None
        nd, sizes = self.leading
        code.require(b.icmp_signed("<=", nd, i64(LEADING)))
        view = code.stack(I64, 1 + 2 * LEADING)
        code.put(nd, view)
        missing = b.sub(nd, self._leading(array))

        def describe(i: Value) -> None:
            place, own = b.add(b.mul(i, i64(2)), i64(1)), b.sub(i, missing)
            size, stride = code.element(sizes, i, I64), code.stack(I64)
            code.put(size, view, place)
            code.put(i64(0), stride)

            def present() -> None:
                repeated = b.icmp_signed("!=", code.element(array.dims, own, I64), size)
                code.put(b.select(repeated, i64(0), code.element(array.strides, own, I64)), stride)

            code.branch(b.icmp_signed(">=", own, i64(0)), present)
            code.put(code.get(stride), view, b.add(place, i64(1)))

        code.loop(nd, describe)
        return view


def extent(code: Code, array: Array) -> tuple[Value, Value]:
    """First byte and one past the last byte that the array may touch; of an empty one a range that meets no other."""
    b, low, high = code.b, code.stack(I64), code.stack(I64)
    empty = code.stack(I1)
    code.put(ir.Constant(I1, 0), empty)
    code.put(array.data, low)
    code.put(b.add(array.data, i64(DTYPE_BYTES[array.parameter.dtype])), high)

    def reach(i: Value) -> None:
        last = b.sub(code.element(array.dims, i, I64), i64(1))
        step = b.mul(last, code.element(array.strides, i, I64))
        side = b.select(b.icmp_signed("<", step, i64(0)), low, high)
        code.put(b.add(code.get(side), step), side)
        code.put(b.or_(code.get(empty, I1), b.icmp_signed("<", last, i64(0))), empty)

    code.loop(array.nd, reach)
    none = code.get(empty, I1)
    return b.select(none, i64((1 << 63) - 1), code.get(low)), b.select(none, i64(0), code.get(high))


def require_distinct(code: Code, array: Array) -> None:
    """Refuse an array of which two elements may lie in one place: every stride must step over all that is inside it,
    which is what the dims with smaller strides span."""
    b, inside = code.b, code.stack(I64)

    def stride(i: Value) -> Value:
        value = code.element(array.strides, i, I64)
        return b.select(b.icmp_signed("<", value, i64(0)), b.sub(i64(0), value), value)

    def several(i: Value) -> Value:
        return b.icmp_signed(">", code.element(array.dims, i, I64), i64(1))

    def check(i: Value) -> None:
        code.put(i64(DTYPE_BYTES[array.parameter.dtype]), inside)
        own = stride(i)

        def add(j: Value) -> None:
            other = stride(j)
            tie = b.and_(code.equal(other, own), b.icmp_signed("<", i, j))
            counts = b.and_(several(j), b.or_(b.icmp_signed("<", other, own), tie))
            span = b.mul(other, b.sub(code.element(array.dims, j, I64), i64(1)))
            code.put(b.add(code.get(inside), b.select(counts, span, i64(0))), inside)

        code.loop(array.nd, add)
        code.require(b.or_(b.not_(several(i)), b.icmp_signed(">=", own, code.get(inside))))

    code.loop(array.nd, check)


def require_apart(code: Code, one: Array, other: Array, may_be_same: bool) -> None:
    """Refuse two arrays that overlap, unless they are the same view and that is allowed."""
    b = code.b

    def disjoint() -> None:
        (low, high), (other_low, other_high) = extent(code, one), extent(code, other)
        code.require(b.or_(b.icmp_signed(">=", low, other_high), b.icmp_signed(">=", other_low, high)))

    def same() -> None:
        code.require(code.equal(one.nd, other.nd))

        def compare(i: Value) -> None:
            code.require(code.equal(code.element(one.dims, i, I64), code.element(other.dims, i, I64)))
            code.require(code.equal(code.element(one.strides, i, I64), code.element(other.strides, i, I64)))

        code.loop(one.nd, compare)

    if may_be_same and one.parameter.dtype == other.parameter.dtype:
        code.branch(code.equal(one.data, other.data), same, disjoint)
    else:
        disjoint()
