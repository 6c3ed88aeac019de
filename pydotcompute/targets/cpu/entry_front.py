"""The front of an entry point: which value is which argument, and which specialisation serves the call.

Values by position are taken where they lie; with keywords they are put in order first: inputs, outputs, params. What
types and params a call has are digits of a number, by which `table` has the `serve` of each specialisation that is
loaded. So every specialisation of a kernel costs the same, whichever was loaded first.
"""

from __future__ import annotations

from typing import Collection, Sequence

from llvmlite import ir

from ...artifact.signature import Parameter
from .entry_code import I1, I32, I64, PTR, Code, Value, i64
from .entry_types import CODES, UNDECIDED, require_array, type_number

PY_EQ = 2  # of CPython's comparisons
SERVE = [PTR, I64, PTR, I64, PTR]  # arguments of `serve`: values in order, whether outputs are given; those of `entry`


def write_front(
    code: Code, declared: Sequence[Parameter], types: Collection[str], params: Collection[str]
) -> None:
    """`entry`. declared: the parameters before types were chosen; types: the type variables; params: their names."""
    inputs = [p for p in declared if p.is_input]
    outputs = [p for p in declared if p.role == "out"]
    known, least = len(inputs) + len(outputs), sum(not p.may_be_left_out for p in inputs)
    _write_put_in_order(code, least < len(inputs))
    code.begin("entry", [PTR, PTR, I64, PTR])
    b = code.b
    _, args, count, keywords = code.function.args
    room, values, given = code.stack(PTR, known + len(params) + 1), code.stack(PTR), code.stack(I64)

    def by_position() -> None:
        whole = code.equal(count, i64(known))
        code.require(b.or_(whole, code.equal(count, i64(len(inputs)))))
        code.put(args, values)
        code.put(b.zext(whole, I64), given)
        for k in range(len(params)):
            code.put(code.null, room, known + k)

    def by_name() -> None:
        code.require(b.icmp_signed("<=", count, i64(known)))
        done = code.call("put_in_order", I1, args, count, keywords, room, i64(known + len(params)))
        code.require(done)
        for k in range(least, len(inputs)):

            def leave_out(k: int = k) -> None:
                code.put(code.element(code.variable("defaults"), k - least, PTR), room, k)

            code.branch(code.equal(code.element(room, k, PTR), code.null), leave_out)
        for k in range(least):
            code.require(b.icmp_unsigned("!=", code.element(room, k, PTR), code.null))
        code.put(room, values)
        absent = [code.equal(code.element(room, len(inputs) + k, PTR), code.null) for k in range(len(outputs))]
        code.put(_all_or_none(code, absent), given)

    named = b.icmp_unsigned("!=", keywords, code.null)
    if least < len(inputs):  # some may be left out
        named = b.or_(named, b.icmp_signed("<", count, i64(len(inputs))))
    code.branch(named, by_name, by_position)
    items = code.get(values, PTR)

    def look_for_none() -> None:
        none = code.python("_Py_NoneStruct")
        absent = [code.equal(code.element(items, len(inputs) + k, PTR), none) for k in range(len(outputs))]
        code.put(_all_or_none(code, absent), given)

    if outputs:
        code.branch(b.icmp_signed("!=", code.get(given), i64(0)), look_for_none)
    rest = (args, count, keywords)
    if types or params:
        index = _number(code, inputs, outputs, sorted(types), items, code.get(given))
        for k in range(len(params)):
            index = b.add(index, _choice(code, code.element(room, known + k, PTR), k))
        serve = code.element(code.variable("table"), index, PTR)
        code.require(b.icmp_unsigned("!=", serve, code.null))
        b.ret(code.call_address(serve, PTR, items, code.get(given), *rest))
    else:
        b.ret(code.call("serve", PTR, items, code.get(given), *rest))
    code.end(lambda: code.call("PyObject_Vectorcall", PTR, code.variable("fallback"), *rest))


def _all_or_none(code: Code, absent: Sequence[Value]) -> Value:
    """1 if nothing is absent, 0 if everything is; some of them are the Python path's."""
    every, any_ = ir.Constant(I1, 1), ir.Constant(I1, 0)
    for one in absent:
        every, any_ = code.b.and_(every, one), code.b.or_(any_, one)
    code.require(code.b.or_(every, code.b.not_(any_)))
    return code.b.zext(code.b.not_(any_), I64)


def _write_put_in_order(code: Code, optional: bool) -> None:
    """Each value at the place that its name has in `names`, of so many; false for a name that is not there, or twice.
    optional: there may be no keywords.
    """
    code.begin("put_in_order", [PTR, I64, PTR, PTR, I64], I1)
    b, names = code.b, code.variable("names")
    args, count, keywords, room, known = code.function.args
    code.loop(known, lambda i: code.put(code.null, room, i))
    code.loop(count, lambda i: code.put(code.element(args, i, PTR), room, i))

    def place(j: Value) -> None:
        name = code.call("PyTuple_GetItem", PTR, keywords, j)
        found = code.stack(I64)
        code.put(i64(-1), found)

        def look(i: Value) -> None:  # mostly the same object, as the names in a program's text are
            code.put(b.select(code.equal(code.element(names, i, PTR), name), i, code.get(found)), found)

        def compare(i: Value) -> None:
            same = code.equal(code.call("PyUnicode_Compare", I32, name, code.element(names, i, PTR)), i32(0))
            code.put(b.select(same, i, code.get(found)), found)

        code.loop(known, look)
        code.branch(b.icmp_signed("<", code.get(found), i64(0)), lambda: code.loop(known, compare))
        code.require(b.icmp_signed(">=", code.get(found), i64(0)))
        code.require(code.equal(code.element(room, code.get(found), PTR), code.null))
        code.put(code.element(args, b.add(count, j), PTR), room, code.get(found))

    def by_keywords() -> None:
        code.loop(code.call("PyTuple_Size", I64, keywords), place)

    if optional:
        code.branch(b.icmp_unsigned("!=", keywords, code.null), by_keywords)
    else:
        by_keywords()
    b.ret(ir.Constant(I1, 1))
    code.end(lambda: ir.Constant(I1, 0))


def i32(value: int) -> ir.Constant:
    return ir.Constant(I32, value)


def _number(
    code: Code, inputs: Sequence[Parameter], outputs: Sequence[Parameter], types: Sequence[str], items: Value,
    given: Value,
) -> Value:  # fmt: skip
    """The sum of the digits of the type variables."""
    b, total = code.b, i64(0)
    for k, name in enumerate(types):
        arrays = [i for i, p in enumerate(inputs) if p.is_array and p.dtype == name]
        results = [len(inputs) + i for i, p in enumerate(outputs) if p.dtype == name]
        scalars = [i for i, p in enumerate(inputs) if not p.is_array and p.dtype == name]
        found = _code(code, items, arrays, results, scalars, given)
        digit = code.element(code.variable("digits"), b.add(found, i64(k * CODES)), I64)
        code.require(b.icmp_signed(">=", digit, i64(0)))
        total = b.add(total, digit)
    return total


def _code(
    code: Code, items: Value, arrays: Sequence[int], results: Sequence[int], scalars: Sequence[int], given: Value
) -> Value:
    """What decides a type variable: the first array; where there is none, scalars do, if they agree."""
    found = code.stack(I64)

    def of_array() -> None:
        item = code.element(items, (*arrays, *results)[0], PTR)
        require_array(code, item)
        code.put(type_number(code, item), found)

    def of_scalars() -> None:
        codes = [code.call("number_code", I64, code.element(items, i, PTR)) for i in scalars] or [i64(UNDECIDED)]
        for other in codes[1:]:
            code.require(code.equal(codes[0], other))
        code.put(codes[0], found)
        code.require(code.b.icmp_signed(">=", code.get(found), i64(0)))

    if arrays:
        of_array()
    elif results:
        code.branch(code.b.icmp_signed("!=", given, i64(0)), of_array, of_scalars)
    else:
        of_scalars()
    return code.get(found)


def _choice(code: Code, item: Value, param: int) -> Value:
    """The digit of a param: 0 if it is not named, else that of the declared value that is the same. `choices` has for
    each param how many values there are, what one counts in the number, and where they are."""
    b, digit = code.b, code.stack(I64)
    code.put(i64(0), digit)

    def look() -> None:
        choices = code.variable("choices")
        number, step = code.element(choices, 3 * param, I64), code.element(choices, 3 * param + 1, I64)
        there = code.element(choices, 3 * param + 2, PTR)
        code.put(i64(-1), digit)

        def compare(i: Value) -> None:
            one = code.element(there, i, PTR)

            def same() -> None:
                code.put(b.mul(i, step), digit)

            def equal() -> None:
                # Of exactly these types a comparison runs nobody's code, and cannot fail.
                type_ = code.at(item, 8, PTR)
                plain = [code.equal(type_, code.python(name)) for name in ("PyLong_Type", "PyFloat_Type")]
                alike = b.and_(b.or_(*plain), code.equal(type_, code.at(one, 8, PTR)))
                code.branch(alike, compare_values)

            def compare_values() -> None:
                code.branch(code.equal(code.call("PyObject_RichCompareBool", I32, item, one, i32(PY_EQ)), i32(1)), same)

            code.branch(code.equal(item, one), same, equal)

        code.loop(number, compare)
        code.require(b.icmp_signed(">=", code.get(digit), i64(0)))

    code.branch(b.icmp_unsigned("!=", item, code.null), look)
    return code.get(digit)
