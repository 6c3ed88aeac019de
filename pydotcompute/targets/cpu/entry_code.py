"""A small vocabulary over llvmlite's builder, in which entry points are written: fields, conditions, loops, calls."""

from __future__ import annotations

from typing import Callable, Sequence, TypeAlias

from llvmlite import ir

from ...artifact import abi
from ..llvm.mathematics import defined
from .dialect import CPU

PTR, I1, I8, I32, I64 = ir.PointerType(), ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
F32, F64, VOID = ir.FloatType(), ir.DoubleType(), ir.VoidType()

Value: TypeAlias = ir.Value


_NUMBERS = {  # NumPy's, by whether C's long has 64 bits: where there are several, a new array has the first
    True: {"int32": (5,), "uint32": (6,), "int64": (7, 9), "uint64": (8, 10)},
    False: {"int32": (7, 5), "uint32": (8, 6), "int64": (9,), "uint64": (10,)},
}
_SAME_NUMBERS = {
    "float16": (23,), "bool": (0,), "int8": (1,), "int16": (3,), "uint8": (2,), "uint16": (4,), "float32": (11,),
    "float64": (12,), "complex64": (14,), "complex128": (15,),
}  # fmt: skip
OF_TIME = (21, 22)  # datetime64 and timedelta64, which are int64 too
# The number of bfloat16 is known where ml_dtypes is loaded.
BFLOAT16 = 24  # what stands for it: its place among the `scalar_types`, behind which its number is


def i64(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


class _Callee:
    """An address as something to call; llvmlite has this only for typed pointers."""

    def __init__(self, address: Value, type_: ir.FunctionType):
        self.function_type, self.get_reference = type_, address.get_reference


class Code:
    """One function after the other. `b` is the builder; `refuse` the block that gives the call to someone else."""

    null = ir.Constant(PTR, None)

    def __init__(self, variables: Sequence[str], long_is_int64: bool = True):
        self.numbers: dict[str, tuple[int, ...]] = {**_SAME_NUMBERS, **_NUMBERS[long_is_int64]}  # by dtype
        self.module = ir.Module("entry")
        table = ir.ArrayType(PTR, len(abi.PYTHON))
        self.table = ir.GlobalVariable(self.module, table, "python")
        self.table.initializer = ir.Constant(table, None)
        self.table.type = PTR  # llvmlite's own would be a typed pointer
        for name in variables:
            ir.GlobalVariable(self.module, PTR, name).initializer = self.null

    def begin(self, name: str, arguments: Sequence[ir.Type], result: ir.Type = PTR, own: bool = True) -> None:
        self.function = self.module.globals.get(name) or ir.Function(
            self.module, ir.FunctionType(result, arguments), name
        )
        if result != PTR and own:  # a function of the entry's own, called where an object is not the usual one
            self.function.linkage = "internal"
            self.function.attributes.add("noinline")
        self.b = ir.IRBuilder(self.function.append_basic_block("stack"))
        start = self.function.append_basic_block("start")
        self.refuse = self.function.append_basic_block("refuse")
        self._last_stack = self.b.branch(start)
        self.b.position_at_end(start)

    def end(self, refused: Callable[[], Value]) -> None:
        """What the function returns where it refuses."""
        self.b.position_at_end(self.refuse)
        self.b.ret(refused())

    # ------------------------------------------------------------------------------------------------ values

    def block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    def variable(self, name: str) -> Value:
        return self.b.load(self.module.globals[name], typ=PTR)

    def python(self, name: str) -> Value:
        """The address of something that the interpreter exports: a function, a type, `None`, `True`."""
        return self.element(self.table, abi.PYTHON.index(name), PTR)

    def stack(self, type_: ir.Type, count: int = 1) -> Value:
        """Room on the stack for the whole call, wherever it is asked for."""
        here = self.b.block
        self.b.position_before(self._last_stack)
        room = self.b.alloca(type_, count)
        room.type = PTR
        self.b.position_at_end(here)
        return room

    def at(self, base: Value, offset: int, type_: ir.Type) -> Value:
        """The field of this type at this offset in bytes."""
        return self.b.load(self.b.gep(base, [i64(offset)], source_etype=I8), typ=type_)

    def element(self, base: Value, index: Value | int, type_: ir.Type) -> Value:
        return self.b.load(self.place(base, index, type_), typ=type_)

    def place(self, base: Value, index: Value | int, type_: ir.Type) -> Value:
        return self.b.gep(base, [i64(index) if isinstance(index, int) else index], source_etype=type_)

    def put(self, value: Value, base: Value, index: Value | int = 0) -> None:
        self.b.store(value, self.place(base, index, value.type))

    def get(self, slot: Value, type_: ir.Type = I64) -> Value:
        return self.b.load(slot, typ=type_)

    def equal(self, left: Value, right: Value) -> Value:
        return self.b.icmp_signed("==", left, right) if left.type != PTR else self.b.icmp_unsigned("==", left, right)

    # ------------------------------------------------------------------------------------------ control flow

    def require(self, condition: Value) -> None:
        """Go on if the condition holds; refuse the call if not."""
        passed = self.block("passed")
        self.b.cbranch(condition, passed, self.refuse)
        self.b.position_at_end(passed)

    def branch(self, condition: Value, then: Callable[[], None], otherwise: Callable[[], None] | None = None) -> None:
        """One of two pieces of code, either of which may end elsewhere."""
        yes, after = self.block("then"), self.block("after")
        no = self.block("else") if otherwise else after
        self.b.cbranch(condition, yes, no)
        for block, write in ((yes, then), (no, otherwise)):
            if write:
                self.b.position_at_end(block)
                write()
                if not self.b.block.is_terminated:
                    self.b.branch(after)
        self.b.position_at_end(after)

    def loop(self, count: Value, body: Callable[[Value], None]) -> None:
        """`body(i)` for i from 0 to count - 1."""
        before, head, inside, after = self.b.block, self.block("head"), self.block("inside"), self.block("after")
        self.b.branch(head)
        self.b.position_at_end(head)
        index = self.b.phi(I64)
        index.add_incoming(i64(0), before)
        self.b.cbranch(self.b.icmp_signed("<", index, count), inside, after)
        self.b.position_at_end(inside)
        body(index)
        index.add_incoming(self.b.add(index, i64(1)), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(after)

    # ------------------------------------------------------------------------------------------------- calls

    def call(self, name: str, result: ir.Type, *arguments: Value) -> Value:
        """A function of the interpreter's, or of the artifact's own."""
        if name in abi.PYTHON:
            return self.call_address(self.python(name), result, *arguments)
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(result, [a.type for a in arguments]), name)
        return self.b.call(function, arguments)

    def call_address(self, address: Value, result: ir.Type, *arguments: Value) -> Value:
        return self.b.call(_Callee(address, ir.FunctionType(result, [a.type for a in arguments])), arguments)

    def type_number(self, dtype: str) -> Value:
        """NumPy's number of a dtype, int32; -1 of bfloat16 where there is none yet."""
        if dtype != "bfloat16":
            return ir.Constant(I32, self.numbers[dtype][0])
        return self.b.trunc(self.element(self.variable("scalar_types"), BFLOAT16 + 1, I64), I32)

    def float_of(self, dtype: str, bits: Value) -> Value:
        """The float64 of an element that is stored in 16 bits."""
        return self.b.fpext(self._stored(f"of_{dtype}_bits", "int32", self.b.zext(bits, I32)), F64)

    def rounded(self, dtype: str, value: Value) -> Value:
        """A float64 as the nearest that is stored in 16 bits, in float32."""
        bits = self._stored(f"{dtype}_bits", "float32", self._stored("rounded_to_odd", "float64", value))
        return self._stored(f"of_{dtype}_bits", "int32", bits)

    def _stored(self, name: str, dtype: str, value: Value) -> Value:
        """A call of one of ir/math/storage.py."""
        function = defined(CPU, self.module, name, dtype)
        function.linkage = "internal"
        return self.b.call(function, [value])

    def numpy(self, number: int, result: ir.Type, *arguments: Value) -> Value:
        """The function of this number in NumPy's C API table."""
        return self.call_address(self.element(self.variable("numpy_api"), number, PTR), result, *arguments)
