"""Expressions of the kernel language → typed values."""

from __future__ import annotations

import ast
from dataclasses import replace

from ..artifact.signature import DTYPES
from ..ir import tree
from ..ir.dtypes import COMPLEX
from ..ir.functions import ARRAYS, ATOMICS, FUNCTIONS, LOOPS, ORDERING, UPDATES
from ..ir.operations import FUNCTIONAL, SYMBOLS
from . import complex_functions, constant_tuples, lengths, operators, powers, promotion
from .module import KEPT_LEVELS, near
from .promotion import Value, convert, truth
from .scope import Array, Called, Scope, element
from .syntax import BUILTINS, INSTEAD, called

# the right side of `and` and `or`, a branch of `… if … else …`, the later terms of `a < b < c`
LATER = "evaluated only sometimes"


def operator_of(op: ast.operator) -> str:
    return SYMBOLS[type(op)]


def expression(s: Scope, node: ast.expr) -> Value:
    """The value of an expression. Parts that are nested very deep are kept in locals before the statement."""
    value = _expression(s, node)
    if s.module.heights[id(node)] % KEPT_LEVELS == 0 and isinstance(node, (ast.BinOp, ast.Call)):
        return kept(s, value, s.before_statement, node)
    return value


def kept(s: Scope, value: Value, before: list[tree.Stmt], node: ast.AST) -> Value:
    """The value in a local of its own, set by a statement that is added to `before`."""
    name = s.fresh("kept_", value.expr.type)
    before.append(tree.Assign(name, promotion.held(value, s.fault(node)), at=s.at(node)))
    return Value(tree.Var(name, value.expr.type, at=s.at(node)), value.weak)


def _expression(s: Scope, node: ast.expr) -> Value:
    at = s.at(node)
    match node:
        case ast.Constant(value=value):
            assert isinstance(value, (int, float, complex))  # the check of the syntax leaves no other
            return promotion.literal(value, at)
        case ast.Name():
            return s.read(node)
        case ast.Subscript():
            array, indices = access(s, node, "read")
            if array.kind == "tuple":
                return constant_tuples.element(s, node, array, indices[0])
            known = id(node) in s.module.known
            return promotion.loaded(tree.Load(array.name, indices, array.dtype, known=known, at=at))
        case ast.UnaryOp(op=ast.Not()):
            return Value(negated(condition(s, node.operand)[0], at), True)  # Python's own bool, whatever it is of
        case ast.UnaryOp():
            return operators.unary(SYMBOLS[type(node.op)], expression(s, node.operand), s.fault(node), at)
        case ast.BinOp():
            return binary(s, operator_of(node.op), expression(s, node.left), expression(s, node.right), node)
        case ast.BoolOp():
            return _bool_op(s, node, numbers=False)
        case ast.Compare():
            return _compare(s, node)
        case ast.IfExp():
            condition_, _ = condition(s, node.test)
            with s.apart(LATER) as for_then:
                then = expression(s, node.body)
            with s.apart(LATER) as for_otherwise:
                otherwise = expression(s, node.orelse)
            choice = operators.select(condition_, then, otherwise, s.fault(node), at)
            return _chosen(s, choice, for_then, for_otherwise) if for_then or for_otherwise else choice
        case ast.Call():
            return _call(s, node)
        case ast.Tuple():
            s.refuse(node, "a tuple is not a value", "a tuple stands as an index, a shape, or on a side of `=`")
    s.refuse(node, f"`{type(node).__name__}` is not part of the kernel language")


def binary(s: Scope, op: str, left: Value, right: Value, node: ast.AST) -> Value:
    """`left op right`; a power of a constant as products, which may take statements first."""
    fault, at = s.fault(node), s.at(node)
    made = powers.constant_power(left, right, fault, s.before_statement, s.fresh, at) if op == "**" else None
    if op == "**" and made is None and max(left.rank, right.rank) == 3:
        if right.literal and right.rank == 2 and right.constant.real == 0.5:  # as NumPy's: infinities have no logarithm
            return complex_functions.call(s, "sqrt", left, node)
        return complex_functions.power(s, left, right, node)
    return made or operators.binary(op, left, right, fault, at)


def condition(s: Scope, node: ast.expr) -> tuple[tree.Expr, bool]:
    """An expression where only its truth counts, so a number may stand there; and whether it is weak."""
    value = _bool_op(s, node, numbers=True) if isinstance(node, ast.BoolOp) else expression(s, node)
    return truth(value), value.weak


def negated(operand: tree.Expr, at=None) -> tree.Expr:
    if isinstance(operand, tree.Const):
        return tree.Const(not operand.value, "bool", at=at)
    return tree.Unary("not", operand, "bool", at=at)


def _bool_op(s: Scope, node: ast.BoolOp, numbers: bool) -> Value:
    """`a and b and c`. Python's value of it is one of the operands, so unless only the truth of it counts
    (`numbers`), they have to be bools."""
    word = "and" if isinstance(node.op, ast.And) else "or"
    values: list[tree.Expr] = []
    firsts: list[list[tree.Stmt]] = [[]]
    weak = True

    def operand(part: ast.expr) -> None:
        nonlocal weak
        if numbers:
            value, is_weak = condition(s, part)
        else:
            typed = expression(s, part)
            if typed.rank:
                text = ast.unparse(part)
                s.fault(part)(
                    f"`{word}` gives one of its operands in Python, and this one is {typed.type}, not a bool",
                    f"write `({text}) != 0`, or `y if x else z` to choose a number",
                )
            value, is_weak = truth(typed), typed.weak
        values.append(value)
        weak = weak and is_weak

    operand(node.values[0])
    for part in node.values[1:]:
        with s.apart(LATER) as first:
            operand(part)
        firsts.append(first)
    return Value(_in_turn(s, word, values, firsts, node), weak)


def _in_turn(
    s: Scope, word: str, values: list[tree.Expr], firsts: list[list[tree.Stmt]], node: ast.expr
) -> tree.Expr:
    """All values with `and` or `or` between them; `firsts` has the statements that each one takes first."""
    at = s.at(node)
    plain = next((k for k, first in enumerate(firsts) if first), len(values))
    if plain == len(values):
        return _joined(word, values, at)
    name = s.fresh("truth_", "bool")
    so_far: tree.Expr = tree.Var(name, "bool", at=at)
    s.before_statement.append(tree.Assign(name, _joined(word, values[:plain], at), at=at))
    for value, first in list(zip(values, firsts))[plain:]:
        needed = so_far if word == "and" else negated(so_far, at)
        s.before_statement.append(tree.If(needed, (*first, tree.Assign(name, value, at=at)), at=at))
    return so_far


def _chosen(s: Scope, value: Value, for_then: list[tree.Stmt], for_otherwise: list[tree.Stmt]) -> Value:
    """A choice whose sides take statements first, in a local of its own."""
    choice = value.expr
    assert isinstance(choice, tree.Select)
    name = s.fresh("choice_", choice.type)
    sides = (
        (*first, tree.Assign(name, side, at=choice.at))
        for first, side in ((for_then, choice.then), (for_otherwise, choice.otherwise))
    )
    s.before_statement.append(tree.If(choice.condition, *sides, at=choice.at))
    return Value(tree.Var(name, choice.type, at=choice.at), value.weak)


def _joined(word: str, values: list[tree.Expr], at) -> tree.Expr:
    """All values with `and` or `or` between them, as a balanced tree: their order is what counts."""
    if len(values) == 1:
        return values[0]
    half = (len(values) + 1) // 2
    return tree.BoolOp(word, _joined(word, values[:half], at), _joined(word, values[half:], at), at=at)


def _compare(s: Scope, node: ast.Compare) -> Value:
    """`a < b < c` is `a < b and b < c`: expressions have no effects, so b may stand twice."""
    values = [expression(s, node.left), expression(s, node.comparators[0])]
    firsts: list[list[tree.Stmt]] = [[]]
    for part in node.comparators[1:]:
        with s.apart(LATER) as first:
            values.append(expression(s, part))
        firsts.append(first)
    at = s.at(node)
    fault = s.fault(node)
    links = [
        operators.compare(SYMBOLS[type(op)], left, right, fault, at)
        for op, left, right in zip(node.ops, values, values[1:])
    ]
    joined = _in_turn(s, "and", [link.expr for link in links], firsts, node)
    return Value(joined, all(link.weak for link in links))


# ------------------------------------------------------------------------------------------------ elements


def access(s: Scope, node: ast.Subscript, action: str) -> tuple[Array, tuple[tree.Expr, ...]]:
    """The array and the int64 indices of `x[i, j]`. action: "read", "stored into" or "updated"."""
    if isinstance(node.value, ast.Subscript):
        text = f"{ast.unparse(node.value)[:-1]}, {ast.unparse(node.slice)}]"
        s.refuse(node, "an index of an index: all indices stand in one pair of brackets", f"write `{text}`")
    if not isinstance(node.value, ast.Name):
        s.refuse(
            node.value, f"`{ast.unparse(node.value)}` is not an array", "index an array of the signature by its name"
        )
    array = named_array(s, node.value)
    check_access(s, node, node.value.id, array, action)
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return array, index(s, node, node.value.id, array, items)


def named_array(s: Scope, node: ast.Name) -> Array:
    name = node.id
    if name in s.arrays and name not in s.shadow:
        s.check_set(node)
        return s.arrays[name]
    if name in s.array_nodes:
        s.check_set(node)
    if name in s.assigned or name in s.given or name in s.shadow:
        s.refuse(node, f"`{name}` is a scalar and has no elements", f"write `{name}`")
    if s.helper and any(p.name == name for p in s.module.parameters):
        s.refuse(node, f"unknown array `{name}`", "a helper sees its arguments: pass it as one")
    meaning = s.module.meaning(name)
    if meaning:
        s.refuse(node, f"`{name}` is {meaning}, not an array", f"write `{name}(…)`")
    known = f"known here: {', '.join(sorted(s.arrays))}" if s.arrays else "there are no arrays here"
    s.refuse(node, f"unknown array `{name}`", near(name, s.arrays, known))


def index(
    s: Scope, node: ast.AST, name: str, array: Array, items: list[ast.expr], part: bool = False
) -> tuple[tree.Expr, ...]:
    """The int64 indices of an element; or (`part`) the first ones, of a part of the array."""
    if len(items) != array.rank and not part:
        dims = "dimension" if array.rank == 1 else "dimensions"
        found = "1 index" if len(items) == 1 else f"{len(items)} indices"
        s.refuse(node, f"`{name}` has {array.rank} {dims}, found {found}", f"write `{element(name, array)}`")
    at = s.at(node)
    prefix = (replace(known, at=at) for known in array.prefix)
    return (*prefix, *(_index(s, item, array, axis) for axis, item in enumerate(items)))


def _index(s: Scope, node: ast.expr, array: Array, axis: int) -> tree.Expr:
    value = expression(s, node)
    if value.rank != 1:
        s.fault(node)(f"an index is an integer, not {value.type}", integer_of(s, node, value))
        return tree.Const(0, "int64", at=s.at(node))
    if isinstance(value.expr, tree.Const) and value.expr.whole < 0:
        extent, back = array.dims[axis] if axis < len(array.dims) else "n", -value.expr.whole
        hint = f"write `{extent} - {back}` for an element counted from the end"
        if isinstance(extent, int) and back > extent:
            hint = f"write an index from 0 to {extent - 1}"
        s.fault(node)(f"negative index -{back}: an index counts from the start", hint)
    return convert(value, "int64", s.fault(node))


def integer_of(s: Scope, node: ast.expr, value: Value) -> str:
    """What to write where an integer is wanted and this value is none: often the quotient of two integers, perhaps by
    a name."""
    if value.rank == 3:
        return operators.whole_of(value.type)
    of_name = s.before.get(node.id) if isinstance(node, ast.Name) else None
    for set_here in of_name.types.values() if of_name else (node,):
        for part in ast.walk(s.module.statement_of(set_here) if of_name else node):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
                whole = ast.unparse(ast.BinOp(part.left, ast.FloorDiv(), part.right))
                where = f" on line {s.module.line(set_here)}" if of_name else ""
                return f"write `{whole}`{where}, the quotient of integers rounded down; or convert it: int64(…)"
    return "convert it: int64(…)"


def check_access(s: Scope, node: ast.AST, name: str, array: Array, action: str) -> None:
    if action != "read":
        s.beyond_function()
        s.stores, s.acts = True, s.acts or name not in s.array_nodes
        if array.kind == "tuple":
            s.refuse(node, f"`{name}` is a constant tuple and cannot be {action}", "make it an array: `local((n,), T)`")
        if array.kind == "in":
            what = f"`{name}`, which is `{array.name}` here, is" if array.name != name else f"`{name}` is"
            s.refuse(
                node,
                f"{what} an input and cannot be {action}",
                f"declare it `inout`, or an output, in the signature: `{array.name}: inout …`",
            )


# --------------------------------------------------------------------------------------------------- calls


def _is_part_of_array(s: Scope, node: ast.expr) -> bool:
    """Whether it is an array, or one with fewer indices than dimensions."""
    root = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(root, ast.Name) or root.id not in s.arrays:
        return False
    given = node.slice if isinstance(node, ast.Subscript) else ast.Tuple([])
    return len(given.elts if isinstance(given, ast.Tuple) else [given]) < s.arrays[root.id].rank


def reduced(s: Scope, node: ast.Call) -> str:
    """How a reduction of what this call names is written here."""
    loop, of, extents = {"top": "grid", "blocks": "threads"}.get(s.place, "range"), "x", ["n"]
    given: list[str] = []
    if len(node.args) == 1 and _is_part_of_array(s, node.args[0]):
        part = node.args[0]
        if isinstance(part, ast.Subscript):
            given = [ast.unparse(e) for e in (part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice])]
            part = part.value
        array = s.arrays[ast.unparse(part)]
        of, extents = ast.unparse(part), [str(extent) for extent in array.dims[len(given) :]] or extents
    names = "cdefgh"[: len(extents)]
    loops = " ".join(f"for {name} in range({extent})" for name, extent in zip(names, extents))
    if loop != "range":
        loops = f"for {', '.join(names)} in {loop}({', '.join(extents)})"
    return f"write `{called(node)}({of}[{', '.join((*given, *names))}] {loops})`"


def _call(s: Scope, node: ast.Call) -> Value:
    name, at = called(node), s.at(node)
    if name in s.shadow or name in s.assigned or name in s.given or name in s.arrays or name in s.array_nodes:
        what = "an array" if name in s.arrays or name in s.array_nodes else "a scalar"
        s.refuse(node, f"`{name}` is {what}, not a function", f"write `{name} * (…)` for a product")
    if name in FUNCTIONAL and (name not in FUNCTIONS or _is_generator(node)):
        return s.parts.reduction(s, node)
    if name in FUNCTIONS:
        function = FUNCTIONS[name]
        count = len(node.args)
        if count != len(function.arguments) and not (function.variadic and count > len(function.arguments)):
            hint = f"write `{name}({', '.join(function.arguments)})`"
            if name == "round" and count == 2:
                hint = "write `round(x * 100) / 100` for two digits"
            if name in FUNCTIONAL and count == 1 and _is_part_of_array(s, node.args[0]):
                hint = reduced(s, node)
            s.refuse(node, f"`{name}` takes {function.arity}, found {count}", hint)
        values = []
        for position, argument in enumerate(node.args):
            if name == "where" and position == 0:
                values.append(Value(*condition(s, argument)))
            else:
                values.append(expression(s, argument))
        if name == "pow":
            return binary(s, "**", values[0], values[1], node)
        if name in complex_functions.FUNCTIONS and values[0].rank == 3:
            return complex_functions.call(s, name, values[0], node)
        return operators.call(name, values, s.fault(node), at)
    if name in ORDERING:
        return _one_value(s, node, s.parts.ordering(s, node))
    if name == "len":
        return lengths.length(s, node)
    dtype = s.module.types.get(name, name if name in DTYPES else None)
    if dtype:
        if len(node.args) == 2 and dtype in COMPLEX:
            real, imaginary = (expression(s, argument) for argument in node.args)
            return complex_functions.of_parts(dtype, real, imaginary, s.fault(node), at)
        if len(node.args) != 1:
            hint = f"write `{name}(x)`" + f" or `{name}(re, im)`" * (dtype in COMPLEX)
            s.refuse(node, f"`{name}(…)` converts 1 value, found {len(node.args)}", hint)
        return operators.cast(dtype, expression(s, node.args[0]), s.fault(node), at)
    if name in s.module.helpers:
        return _one_value(s, node, s.parts.helper(s, node))
    if name in (*LOOPS, "range"):
        s.refuse(node, f"`{name}` is not a value", f"write `for i in {ast.unparse(node)}:`")
    if name in ARRAYS:
        s.refuse(node, f"`{name}(…)` makes an array, not a value", f"give it a name: `tile = {ast.unparse(node)}`")
    if name in ATOMICS:
        return s.parts.fetched(s, node)
    if name in UPDATES:
        s.refuse(node, f"`{name}` is a statement without a value", "write it on a line of its own")
    if meaning := s.module.meaning(name):
        s.refuse(node, f"`{name}` is {meaning}, not a function")
    if name in BUILTINS:
        s.refuse(node, f"`{name}` is not part of the kernel language", BUILTINS[name])
    known = {*FUNCTIONS, *FUNCTIONAL, *ORDERING, *LOOPS, *ARRAYS, *UPDATES, *DTYPES, "range"}
    known |= {*s.module.helpers, *s.module.types}
    own = "the kernel of this name cannot be called in a kernel; " * (name == s.module.kernel.name)
    helper = "write a helper, a `def` before the kernel or the statements of `body:`"
    s.refuse(node, f"unknown function `{name}`", INSTEAD.get(name) or near(name, known, own + helper))


def _one_value(s: Scope, node: ast.Call, call: Called) -> Value:
    if len(call.types) != 1:
        many, names = f"{len(call.types)} values", ", ".join("abcdefgh"[: len(call.types)])
        s.refuse(
            node,
            f"`{called(node)}` returns {many if call.types else 'no value'} and stands in an expression",
            f"write `{names} = {ast.unparse(node)}`" if call.types else f"write `{ast.unparse(node)}` alone",
        )
    return call.values[0] if call.call is None else Value(call.call, call.types[0].weak)


def _is_generator(node: ast.Call) -> bool:
    return len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)
