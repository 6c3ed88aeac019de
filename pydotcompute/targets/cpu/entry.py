"""Native entry points: LLVM IR of the `entry` of a CPU artifact, which checks a call's arguments and calls `run`.

`PyObject *entry(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)` serves the calls that need
nothing but a look: arrays of the right dtype, rank, layout and shape, scalars of Python's and NumPy's that fit, by
position or by name, all outputs given or none. It finds the specialisation that types and params mean, and calls the
`serve` of that artifact. Every other call goes on unchanged to the Python callable in `fallback`, which serves it or
says what is wrong. So `entry` raises nothing itself.

The loader sets these exported variables before the first call:

    ndarray_type   address of `numpy.ndarray`
    array_types    address of a count, and of so many subclasses whose arrays are as good
    scalar_types   address of the addresses of NumPy's scalar types, by the numbers of their dtypes; 0 for some; then of
                   bfloat16's, and the number of its dtype: -1 until something has imported ml_dtypes
    numpy_api      address of NumPy's C API table (the capsule `_ARRAY_API`)
    fallback       a Python callable; the loader keeps it alive
    vendor         0, or a Python callable that serves calls of some sizes in the place of `run`
    trim           where outputs are trimmed: a Python callable that makes of a tuple of the outputs what is returned
    fault          where `run` looks at indices: a Python callable that raises what the fault words at an address say
    names          address of the interned names of inputs, outputs and params, of these in alphabetical order
    digits         for each type variable, in alphabetical order: CODES words, what a code (entry_types.py) adds to the
                   number of a specialisation; negative: the Python path's
    choices        for each param: how many values it may have, what each adds to that number, and their address
    defaults       where scalars may be left out: address of the addresses of what these are then
    table          address of the `serve` of each specialisation by that number, or 0
    by_size        where calls that name no tuned param get its value by their size: address of the `serve` of each
                   size class, or 0; `serve_by_size` goes there

Beside them are what `run` calls and what calls it: `handle_signals` lets Python handle signals, −1 where that raised;
`run_unlocked` is `run` without the GIL, for who holds it.

It reads objects at the offsets of CPython and NumPy 1.26 to 2.x on 64-bit builds with a GIL; the loader verifies
them. NumPy's functions are called by their number in its table, which its ABI fixes.
"""

from __future__ import annotations

from typing import Collection, Iterable, Mapping, Sequence

from llvmlite import ir

from ...artifact import abi
from ...artifact.cpu_levels import LINUX, WINDOWS
from ...artifact.dimensions import Tree
from ...artifact.signature import DTYPES, Parameter
from .entry_arguments import (
    Array,
    Shapes,
    read_array,
    read_scalar,
    require_apart,
    require_distinct,
)
from .entry_code import F64, I1, I32, I64, PTR, VOID, Code, Value, i64
from .entry_expressions import Number, kind, truth, write
from .entry_front import SERVE, write_front
from .entry_outputs import fill, new_array, return_outputs
from .entry_sizes import write_serve_by_size
from .entry_types import write_functions

VARIABLES = (
    "ndarray_type", "array_types", "scalar_types", "numpy_api", "fallback", "vendor", "names", "digits", "choices",
    "table",
)  # fmt: skip
RELEASE_GIL_ABOVE = 8192  # product of all dimensions: about a microsecond of work, several times what it costs


def entry_ir(
    parameters: Sequence[Parameter],
    symbols: Sequence[str],
    aliases: Collection[tuple[str, str]] = (),
    *,
    declared: Sequence[Parameter] | None = None,
    types: Collection[str] = (),
    requires: Sequence[Tree] = (),
    params: Mapping[str, Number] | None = None,
    vendor: Tree | None = None,
    takes_long: bool = False,
    checks: bool = False,
    tuned: bool = False,
    platform: str = LINUX,
) -> str:
    """LLVM IR of a module that defines `entry` and its variables, and expects `run`.

    parameters: inputs, then outputs, then scratch, with concrete dtypes. symbols: the dimension symbols, as for
    `abi.slots`. aliases: pairs of names that may be the same view. declared, types: the parameters before types were
    chosen, and the type variables. requires: conditions on dimensions, params and scalars; params: the values of this
    specialisation. vendor: the condition on them under which the callable in `vendor` gets a call's arguments, inputs
    then outputs, all checked, by position. Where an expression is more than `write` knows, `serve` hands every
    call on. takes_long: a call may, whatever its dimensions are. checks: `run` looks at indices. tuned: some params
    may be chosen by size. platform: whose sizes C's types have.
    """
    optional = any(p.may_be_left_out for p in parameters)
    trims = any(p.length for p in parameters)
    more = ("trim",) * trims + ("fault",) * checks + ("defaults",) * optional + ("by_size",) * tuned
    code = Code((*VARIABLES, *more), platform != WINDOWS)
    write_functions(code)
    _write_run(code)
    code.begin("serve", SERVE)
    constants = {name: value if isinstance(value, float) else int(value) for name, value in (params or {}).items()}
    conditions = (*requires, *(() if vendor is None else (vendor,)))
    if _is_servable(parameters, symbols, conditions, constants) and not (trims and vendor):
        _write_serve(code, parameters, symbols, aliases, requires, constants, vendor, takes_long, checks)
    else:
        code.b.branch(code.refuse)
    call = code.function.args[2:]
    code.end(lambda: code.call("PyObject_Vectorcall", PTR, code.variable("fallback"), *call))
    if tuned:
        write_serve_by_size(code, parameters)
    write_front(code, declared or parameters, types, params or {})
    return str(code.module)


def _is_servable(
    parameters: Sequence[Parameter], symbols: Sequence[str], requires: Sequence[Tree], params: Mapping[str, Number]
) -> bool:
    """Whether every symbol, every condition and every shape of an output follows from the inputs by arithmetic."""
    inputs = [p for p in parameters if p.is_input]
    leading = any(p.ellipsis for p in inputs)
    bound = {d for p in inputs for d in p.dims or () if isinstance(d, str)} - set(params)
    bound |= {p.name for p in inputs if _may_be_dimension(p)}
    if leading:
        bound |= {"size", "rows"}
    kinds = {**dict.fromkeys(bound, "int"), **{name: type(value).__name__ for name, value in params.items()}}
    for p in parameters:
        if p.dtype not in DTYPES or p.ellipsis and not leading or p.role == "out" and p.layout != "C":
            return False
        if not all(kind(dim, kinds) == "int" for dim in p.dims or ()):
            return False
    kinds |= {p.name: "float" if "float" in p.dtype else "int" for p in inputs if _is_real(p)}
    return bound.issuperset(symbols) and all(kind(tree, kinds) for tree in requires)


def _is_real(p: Parameter) -> bool:
    return not p.is_array and not p.dtype.startswith("complex")


def _may_be_dimension(p: Parameter) -> bool:
    return not p.is_array and p.role == "in" and p.dtype.startswith(("int", "uint"))


def _write_serve(
    code: Code, parameters: Sequence[Parameter], symbols: Sequence[str], aliases: Collection[tuple[str, str]],
    requires: Sequence[Tree], params: Mapping[str, Number], vendor: Tree | None, takes_long: bool, checks: bool,
) -> None:  # fmt: skip
    b = code.b
    items, given, shapes = code.function.args[0], code.function.args[1], Shapes(code, params)
    given = b.icmp_signed("!=", given, i64(0))
    inputs = [p for p in parameters if p.is_input]
    outputs = [p for p in parameters if p.role == "out"]
    temporary = [p for p in parameters if p.role == "temp"]
    layout, total = abi.slots(parameters, symbols)
    words = code.stack(I64, total + abi.FAULT_WORDS)
    place = {(s.kind, s.name, s.axis): s.index for s in layout}

    arrays: list[Array] = []
    scalars: dict[str, Value] = {}
    for index, p in enumerate(inputs):
        item = code.element(items, index, PTR)
        if p.is_array:
            arrays.append(read_array(code, p, item))
            shapes.trailing(arrays[-1])
            if p.writable and p.layout != "C":
                require_distinct(code, arrays[-1])
            continue
        value = read_scalar(code, p, item, code.place(words, place["scalar", p.name, 0], I64))
        if value is not None:
            scalars[p.name] = value
        if value is not None and p.name in symbols:
            code.require(b.icmp_signed(">=", value, i64(0)))
            shapes.bind(p.name, value)
    leading = [a for a in arrays if a.parameter.ellipsis]
    if any(a.parameter.layout == "broadcast" for a in leading):
        shapes.broadcast(leading)
    for array in leading:
        if array.parameter.layout != "broadcast":
            shapes.agree(array)
    _check_overlap(code, [(a, other) for i, a in enumerate(arrays) for other in arrays[:i]], aliases)
    _compute_dimensions(code, shapes, parameters, requires, {**scalars, **params})

    if any(p.length for p in outputs):  # a loader may know nothing of it
        code.require(b.icmp_unsigned("!=", code.variable("trim"), code.null))
    if any(p.dtype == "bfloat16" for p in outputs):
        code.require(b.icmp_signed(">=", code.type_number("bfloat16"), ir.Constant(I32, 0)))

    # What is returned is owned from here on: nothing after this refuses without giving it back.
    results = [code.stack(PTR) for _ in outputs]
    addresses = [code.place(words, place["data", p.name, 0], I64) for p in outputs]
    scratch = [code.stack(I64, 2) for _ in outputs]
    for array in arrays:
        _put_array(code, array, shapes, words, place)
    for symbol in symbols:
        code.put(shapes.values[symbol], words, place["symbol", symbol, 0])

    def hand_over() -> None:
        if vendor is None:
            return
        other = code.variable("vendor")
        faster = truth(code, write(code, vendor, {**shapes.symbols, **params}))
        # keywords' values lie behind the others
        count = b.select(given, i64(len(inputs) + len(outputs)), i64(len(inputs)))

        def give() -> None:
            for array in arrays:  # what subclasses are to NumPy is not looked into here
                type_ = code.at(code.element(items, inputs.index(array.parameter), PTR), 8, PTR)
                code.require(code.equal(type_, code.variable("ndarray_type")))
            b.ret(code.call("PyObject_Vectorcall", PTR, other, items, count, code.null))

        code.branch(b.and_(faster, b.icmp_unsigned("!=", other, code.null)), give)

    def take_given() -> None:
        taken: list[Array] = []
        for k, p in enumerate(outputs):
            item = code.element(items, len(inputs) + k, PTR)
            array = read_array(code, p if p.is_array else p._replace(dims=()), item)
            shapes.trailing(array)
            if p.ellipsis:
                shapes.agree(array)
            _check_overlap(code, [(array, other) for other in [*arrays, *taken]], aliases)
            taken.append(array)
            code.put(item, results[k])
            code.put(array.data, addresses[k])
        hand_over()
        for result in results:
            code.call("Py_IncRef", VOID, code.get(result, PTR))

    def allocate() -> None:
        hand_over()
        for k, p in enumerate(outputs):
            if p.is_array:
                before = [code.get(r, PTR) for r, q in zip(results[:k], outputs) if q.is_array]
                made = new_array(code, p, shapes, before)
                code.put(made, results[k])
                code.put(code.at(made, 16, I64), addresses[k])
            else:
                code.put(b.ptrtoint(scratch[k], I64), addresses[k])

    for result in results:
        code.put(code.null, result)
    if outputs:
        code.branch(given, take_given, allocate)
    own: list[Value] = []  # arrays that live as long as the call
    for p in temporary:
        if p.is_array:
            own.append(new_array(code, p, shapes, [*own, *(code.get(result, PTR) for result in results)]))
        address = code.at(own[-1], 16, I64) if p.is_array else b.ptrtoint(code.stack(I64, 2), I64)
        code.put(address, words, place["data", p.name, 0])
    for p in (*outputs, *temporary):
        if p.fill is not None:
            fill(code, p, p.fill, shapes, code.element(words, place["data", p.name, 0], I64))
    status = _run(code, words, [shapes.values[symbol] for symbol in symbols], takes_long)
    for array in own:
        code.call("Py_DecRef", VOID, array)
    fault = code.place(words, total, I64) if checks else None
    code.branch(b.icmp_signed("!=", status, ir.Constant(I32, 0)), lambda: _raise(code, status, fault, results))
    return_outputs(code, outputs, results, scratch, given)


def _compute_dimensions(
    code: Code, shapes: Shapes, parameters: Sequence[Parameter], requires: Sequence[Tree],
    known: Mapping[str, Value | Number],
) -> None:
    """Give `size` and `rows` their value, check the conditions, compute the dims that are expressions, and compare
    those of inputs. known: scalars and params."""
    if shapes.count is not None:
        for symbol in ("size", "rows"):
            shapes.values.setdefault(symbol, shapes.count)
    names = {**known, **shapes.symbols}
    for condition in requires:
        code.require(truth(code, write(code, condition, names)))
    for dim in dict.fromkeys(d for p in parameters for d in p.dims or () if not isinstance(d, int)):
        if dim not in shapes.values:
            value = write(code, dim, names)
            value = code.b.zext(value, I64) if value.type == I1 else value
            code.require(code.b.icmp_signed(">=", value, i64(0)))
            shapes.values[dim] = value
    for dim, found in shapes.computed:
        code.require(code.equal(found, shapes.values[dim]))


def _check_overlap(
    code: Code, pairs: Iterable[tuple[Array, Array]], aliases: Collection[tuple[str, str]]
) -> None:
    for one, other in pairs:
        names = one.parameter.name, other.parameter.name
        if one.parameter.writable or other.parameter.writable:
            require_apart(code, one, other, names in aliases or names[::-1] in aliases)


def _put_array(
    code: Code, array: Array, shapes: Shapes, words: Value, place: Mapping[tuple[str, str, int], int]
) -> None:
    p = array.parameter
    dims = p.dims or ()
    code.put(array.data, words, place["data", p.name, 0])
    if p.layout == "C":
        return
    first = code.b.sub(array.nd, i64(len(dims)))
    if p.ellipsis:
        code.put(code.b.ptrtoint(shapes.view(array), I64), words, place["view", p.name, 0])
    for axis in range(len(dims)):
        stride = code.element(array.strides, code.b.add(first, i64(axis)), I64)
        code.put(stride, words, place["stride", p.name, axis])


def _raise(code: Code, status: Value, fault: Value | None, results: Sequence[Value]) -> None:
    """Let go of what would be returned, and raise what the fault words say, if nothing is raised yet."""
    for result in results:
        owned = code.get(result, PTR)

        def release(owned: Value = owned) -> None:
            code.call("Py_DecRef", VOID, owned)

        code.branch(code.b.icmp_unsigned("!=", owned, code.null), release)

    def say() -> None:
        arguments = code.stack(PTR)
        code.put(code.call("PyLong_FromVoidPtr", PTR, fault), arguments)
        code.call("PyObject_Vectorcall", PTR, code.variable("fault"), arguments, i64(1), code.null)
        code.call("Py_DecRef", VOID, code.get(arguments, PTR))

    if fault is not None:
        code.branch(code.equal(status, ir.Constant(I32, 1)), say)
    code.b.ret(code.null)


def _write_run(code: Code) -> None:
    """`handle_signals`, which `run` calls with the GIL or without, and `run_unlocked`."""
    code.begin("handle_signals", [], I32, own=False)
    code.require(code.b.icmp_unsigned("!=", code.python("PyGILState_Ensure"), code.null))
    state = code.call("PyGILState_Ensure", I32)
    raised = code.call("PyErr_CheckSignals", I32)
    code.call("PyGILState_Release", VOID, state)
    code.b.ret(raised)
    code.end(lambda: ir.Constant(I32, 0))
    code.begin("run_unlocked", [PTR], I32, own=False)
    code.require(code.b.icmp_unsigned("!=", code.python("PyEval_SaveThread"), code.null))
    thread = code.call("PyEval_SaveThread", PTR)
    status = code.call("run", I32, code.function.args[0])
    code.call("PyEval_RestoreThread", VOID, thread)
    code.b.ret(status)
    code.end(lambda: code.call("run", I32, code.function.args[0]))


def _run(code: Code, words: Value, dimensions: Sequence[Value], takes_long: bool) -> Value:
    """Call `run`, without the GIL where that pays, or may; what it returns."""
    status = code.stack(I32)
    b, work = code.b, ir.Constant(F64, 1.0)
    for dimension in dimensions:
        work = b.fmul(work, b.sitofp(dimension, F64))

    def release() -> None:
        code.put(code.call("run_unlocked", I32, words), status)

    if takes_long:
        release()
        return code.get(status, I32)
    large = b.fcmp_ordered(">", work, ir.Constant(F64, float(RELEASE_GIL_ABOVE)))
    code.branch(large, release, lambda: code.put(code.call("run", I32, words), status))
    return code.get(status, I32)
