"""What the kernel language leaves out of Python: each is refused by its name, where it stands, with what to do."""

from __future__ import annotations

import ast
from typing import Callable, NoReturn

from ..artifact.signature import DTYPES
from ..ir.functions import CONSTANTS, FUNCTIONS, LOOPS
from ..ir.operations import FUNCTIONAL

MOST_BLOCKS = 60  # Python itself stops at 100; an `elif` is one block deeper than its `if`
Refuse = Callable[[ast.AST, str, str], NoReturn]  # (node, message, hint); raises

_LANGUAGE = "is not part of the kernel language"
_ERRORS = "a kernel cannot stop; mark the element instead (nan, -1), or state the condition in `requires:`"
_STATEMENTS: dict[type, tuple[str, str]] = {
    ast.Assert: ("`assert`", _ERRORS),
    ast.Raise: ("`raise`", _ERRORS),
    ast.Try: ("`try`", "test the condition with `if` instead"),
    ast.TryStar: ("`try`", "test the condition with `if` instead"),
    ast.With: ("`with`", "take its statements out"),
    ast.AsyncWith: ("`async with`", "take its statements out"),
    ast.AsyncFor: ("`async for`", "write `for`"),
    ast.AsyncFunctionDef: ("`async def`", "write `def`"),
    ast.ClassDef: ("`class`", "a helper takes and returns scalars"),
    ast.Import: ("`import`", "the language's functions need no module"),
    ast.ImportFrom: ("`import`", "the language's functions need no module"),
    ast.Global: ("`global`", "give a helper what it needs as an argument"),
    ast.Nonlocal: ("`nonlocal`", "give a helper what it needs as an argument"),
    ast.Delete: ("`del`", "leave it out"),
    ast.Match: ("`match`", "write `if … elif … else`"),
}
_COMPREHENSION = ("a comprehension outside a reduction", "write a loop, `for i in {loop}(n):`")
_EXPRESSIONS: dict[type, tuple[str, str]] = {
    ast.Lambda: ("`lambda`", "write a helper, a `def` before the kernel or the statements of `body:`"),
    ast.ListComp: _COMPREHENSION,
    ast.SetComp: _COMPREHENSION,
    ast.DictComp: _COMPREHENSION,
    ast.GeneratorExp: _COMPREHENSION,
    ast.Await: ("`await`", "leave it out"),
    ast.Yield: ("`yield`", "store into an output instead"),
    ast.YieldFrom: ("`yield`", "store into an output instead"),
    ast.NamedExpr: ("`:=`", "assign on a line of its own"),
    ast.JoinedStr: ("an f-string", "kernels compute numbers"),
    ast.Starred: ("`*`-unpacking", "write the items one by one"),
    ast.Slice: ("a slice", "write a loop over the elements, `for i in {loop}(n):`"),
    ast.List: ("a list", "write `local((n,), float32)` for an array of an iteration's own, and set its elements"),
    ast.Set: ("a set", "write `local((n,), bool)` for an array of an iteration's own, and set its elements"),
    ast.Dict: ("a dict", "write `local((n,), float32)` for an array of an iteration's own, and set its elements"),
}
# Python's own functions, which people try; what to write instead.
BUILTINS = {
    "print": "a kernel cannot print; run `lib.NAME.python(…)`, the interpreter, under a debugger",
    "int": "write int64(x)",
    "float": "write float64(x), or T(x) with a type variable T",
    "complex": "write complex128(x)",
    "enumerate": "write `for i in range(n)`",
    "zip": "write `for i in range(n)`",
    "divmod": "write `//` and `%`",
    "reversed": "write `range(n - 1, -1, -1)`",
    "sorted": "copy the elements into an array of your own, and write `sort(a, n)`",
    "isinstance": "every name has one type",
}
# What NumPy, Numba and mathematics call what is written in another way here. A helper may have such a name.
_ARRAY = (
    "write `local((n,), T)` for an array of an iteration's own, which is not zeroed: set its elements; or "
    "`temp (q: T[n] = 0)` in the signature"
)
INSTEAD = {
    "prange": "write `for i in grid(n):`",
    **dict.fromkeys(("syncthreads", "barrier", "syncwarp"), "leave it out: barriers are placed where they are needed"),
    "radians": "write `x * (pi / 180)`", "degrees": "write `x * (180 / pi)`", "square": "write `x * x`",
    "clip": "write `min(max(x, low), high)`", "mod": "write `x % y`", "divide": "write `x / y`",
    "mean": "write `sum(x[k] for k in range(n)) / n`", "dot": "write `sum(a[k] * b[k] for k in range(n))`",
    "prod": "write a loop, `p *= x[k]`", "cumsum": "write a scan, `s += x[i]` and `out[i] = s` in `grid(n)`",
    "zeros": _ARRAY, "empty": _ARRAY, "ones": _ARRAY, "full": _ARRAY, "copy": _ARRAY,
    "array": f"write a tuple for constants, `w = (0.25, 0.5)`; else {_ARRAY}",
    **{name: f"write `{name}(x[k] for k in range(n))`" for name in FUNCTIONAL},
    **{long: f"write `{short}(…)`" for long, short in (
        ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"), ("arctan2", "atan2"), ("maximum", "max"),
        ("minimum", "min"), ("power", "pow"), ("absolute", "abs"), ("rint", "round"), ("fabs", "abs"),
    )},
}  # fmt: skip
_NUMBERS = {"inf": "inf", "infinity": "inf", "nan": "nan"}  # of Python's `float("inf")`
_MODULES = ("np", "numpy", "math", "cupy", "cp", "cmath")


def check_function(function: ast.FunctionDef, is_kernel: bool, refuse: Refuse) -> None:
    """Refuse what is not in the language anywhere in a kernel or helper; the first in the order of the text."""
    arguments = function.args
    if function.decorator_list:
        refuse(function.decorator_list[0], f"a decorator {_LANGUAGE}", "the declaration says how to build")
    if getattr(function, "type_params", None):
        refuse(function, f"a type parameter {_LANGUAGE}", "declare it in `types:`")
    for extra, mark in ((arguments.vararg, "*"), (arguments.kwarg, "**")):
        if extra:
            refuse(extra, f"`{mark}{extra.arg}` {_LANGUAGE}", "name each argument")
    if arguments.kwonlyargs:
        refuse(arguments.kwonlyargs[0], f"a keyword-only argument {_LANGUAGE}", "take the `*` away")
    if arguments.posonlyargs:
        refuse(arguments.posonlyargs[0], f"a positional-only argument {_LANGUAGE}", "take the `/` away")
    if defaults := arguments.defaults:
        refuse(defaults[0], f"a default value {_LANGUAGE}", "give every argument in the call")
    for argument in arguments.args:
        if argument.annotation:
            hint = "types stand in the signature" if is_kernel else "types are inferred from each call"
            refuse(argument.annotation, f"an annotation {_LANGUAGE}", hint)
    if function.returns:
        refuse(function.returns, f"an annotation {_LANGUAGE}", "types are inferred")
    for statement in without_docstring(function.body):
        _statement(statement, is_kernel, refuse, "grid" if is_kernel else "range")


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def _statement(node: ast.stmt, is_kernel: bool, refuse: Refuse, loop: str, depth: int = 0) -> None:
    """`loop`: which one may stand in this place."""
    if depth > MOST_BLOCKS:
        refuse(node, f"statements nested more than {MOST_BLOCKS} deep", "move the inner ones into a helper")
    if type(node) in _STATEMENTS:
        what, hint = _STATEMENTS[type(node)]
        refuse(node, f"{what} {_LANGUAGE}", hint)
    if isinstance(node, ast.AnnAssign):
        refuse(node, f"an annotation {_LANGUAGE}", _without_annotation(node))
    if isinstance(node, ast.For) and isinstance(node.iter, (ast.Tuple, ast.List)) and node.iter.elts:
        refuse(node.iter, f"`for` cannot run over `{ast.unparse(node.iter)}`", _over_constants(node, node.iter.elts))
    if isinstance(node, ast.FunctionDef):
        hint = "move it before the kernel, or before the statements of `body:`"
        refuse(node, f"a `def` inside a function {_LANGUAGE}", hint)
    if isinstance(node, ast.Return) and is_kernel:
        refuse(node, "`return` in a kernel", "store into an output; to skip the rest of an iteration write `continue`")
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.MatMult):
        refuse(node, f"`@=` {_LANGUAGE}", "write `sum(a[i, k] * b[k, j] for k in range(n))`")
    if isinstance(node, (ast.For, ast.While)) and node.orelse:
        word = "for" if isinstance(node, ast.For) else "while"
        refuse(node.orelse[0], f"`else` of a `{word}` {_LANGUAGE}", "set a name in the loop and test it afterwards")
    inside = loop
    if isinstance(node, ast.For):
        inside = "threads" if isinstance(node.iter, ast.Call) and _is_name(node.iter.func, "blocks") else "range"
    elif isinstance(node, (ast.If, ast.While)):
        inside = "range"
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            _statement(child, is_kernel, refuse, inside, depth + 1)
        elif isinstance(child, ast.expr):
            _expression(child, refuse, loop)
        elif not isinstance(child, (ast.expr_context, ast.operator)):
            refuse(node, f"`{type(child).__name__.lower()}` {_LANGUAGE}", "")


def _without_annotation(node: ast.AnnAssign) -> str:
    """What to write for `s: float64 = e`."""
    if node.value is None:
        return "leave it out: types are inferred"
    target, value, note = ast.unparse(node.target), ast.unparse(node.value), node.annotation
    if not isinstance(node.target, ast.Name):
        return f"write `{target} = {value}`: a store converts"
    dtype = note.attr if isinstance(note, ast.Attribute) else ast.unparse(note)  # np.float64
    dtype = {"int": "int64", "float": "float64", "complex": "complex128"}.get(dtype, dtype)
    return f"write a conversion, `{target} = {dtype}({value})`: types are inferred"


def _over_constants(node: ast.For, items: list[ast.expr]) -> str:
    """What to write for `for d in (-1, 1):`, and for `for x, y in ((0, 1), (1, 0)):`."""
    names, rows = [ast.unparse(node.target)], [[item] for item in items]
    if isinstance(node.target, ast.Tuple):
        names = [ast.unparse(part) for part in node.target.elts]
        rows = [item.elts if isinstance(item, (ast.Tuple, ast.List)) else [item] for item in items]
    index = "k" if "k" not in names else "q"
    tuples = ", ".join(f"`{name}s = {_tuple(list(column))}`" for name, column in zip(names, zip(*rows)))
    instead = ", ".join(f"`{name}s[{index}]` for `{name}`" for name in names)
    return f"write {tuples} before it, `for {index} in range({len(items)}):`, and {instead}"


def _tuple(items: list[ast.expr]) -> str:
    return ast.unparse(ast.Tuple(items, ast.Load()))


def called(node: ast.expr) -> str:
    """The name of the function that a call calls; after the check of the syntax there is no other."""
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id


def parallel_kind(node: ast.AST) -> str | None:
    """`grid`, `blocks` or `threads`, if that is what a loop or a reduction runs over."""
    return called(node) if isinstance(node, ast.Call) and _is_name(node.func, *LOOPS) else None


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _is_name(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _expression(node: ast.expr, refuse: Refuse, loop: str) -> None:
    match node:
        case ast.Constant(value=str() | bytes()):
            refuse(node, f"a string {_LANGUAGE}", "kernels compute numbers; a dtype is a name, float32")
        case ast.Constant(value=None):
            refuse(node, f"`None` {_LANGUAGE}", "write a number, such as nan or -1")
        case ast.Constant(value=value) if value is ...:
            refuse(node, f"`...` {_LANGUAGE}", "write an index for each dimension")
        case ast.Attribute():
            refuse(node, f"`{ast.unparse(node)}`: an attribute {_LANGUAGE}", _attribute_hint(node))
        case ast.Compare(ops=ops):
            for op in ops:
                if isinstance(op, (ast.Is, ast.IsNot)):
                    refuse(node, f"`is` {_LANGUAGE}", "write `==` or `!=`")
                if isinstance(op, (ast.In, ast.NotIn)):
                    refuse(node, f"`in` {_LANGUAGE}", "compare with each item: `x == 1 or x == 2`")
        case ast.List(elts=items) if len(items) > 1 and not _names(node) - CONSTANTS.keys():
            refuse(node, f"a list {_LANGUAGE}", f"write a tuple of constants, `w = {_tuple(items)}`")
        case ast.BinOp(op=ast.MatMult()):
            refuse(node, f"`@` {_LANGUAGE}", "write `sum(a[i, k] * b[k, j] for k in range(n))`")
        case ast.Call():
            return _call(node, refuse, loop)
    if type(node) in _EXPRESSIONS:
        what, hint = _EXPRESSIONS[type(node)]
        refuse(node, f"{what} {_LANGUAGE}", hint.format(loop=loop))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _expression(child, refuse, loop)


def _call(node: ast.Call, refuse: Refuse, loop: str) -> None:
    if isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
        match node:
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
                bare = text.strip().lower()
                number = "-" * bare.startswith("-") + _NUMBERS.get(bare.lstrip("+-"), bare.lstrip("+-"))
                refuse(node, f"`float` of a string {_LANGUAGE}", f"write the number itself, `{number}`")
        refuse(node, f"`{node.func.id}` {_LANGUAGE}", BUILTINS[node.func.id])
    if not isinstance(node.func, ast.Name):
        _expression(node.func, refuse, loop)
        refuse(node.func, f"`{ast.unparse(node.func)}` is not a function", "call a listed function or a helper")
    if node.keywords:
        keyword = node.keywords[0]
        name = f"`{keyword.arg}=`" if keyword.arg else "`**`"
        refuse(keyword.value, f"a keyword argument, {name}, {_LANGUAGE}", "give arguments by position")
    arguments = node.args
    if len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp) and node.func.id in FUNCTIONAL:
        generator = arguments[0]
        arguments = [generator.elt]
        for clause in generator.generators:
            if clause.is_async:
                refuse(clause.target, f"`async for` {_LANGUAGE}", "write `for`")
            arguments += [clause.iter, *clause.ifs]
    for argument in arguments:
        _expression(argument, refuse, loop)


def _attribute_hint(node: ast.Attribute) -> str:
    base = node.value.id if isinstance(node.value, ast.Name) else ""
    short = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "maximum": "max",
             "minimum": "min", "power": "pow", "absolute": "abs", "rint": "round", "fabs": "abs"}  # fmt: skip
    name = short.get(node.attr, node.attr)
    if base in _MODULES and name in FUNCTIONS:
        return f"write `{name}(…)`: the language's functions need no module"
    if base in _MODULES and (name in CONSTANTS or name in DTYPES):
        return f"write `{name}`: it needs no module"
    if node.attr == "T":
        return f"write `{ast.unparse(node.value)}[j, i]` for its element `[i, j]`"
    if node.attr == "astype":
        return f"write the dtype as a function: `float64({ast.unparse(node.value)})`"
    if node.attr in ("shape", "size", "ndim"):
        return "write the dimensions' names from the signature"
    if node.attr in ("real", "imag", "conj"):
        return f"write `{node.attr}({ast.unparse(node.value)})`"
    if node.attr in INSTEAD:
        return INSTEAD[node.attr]
    return "use the listed functions and the names of the signature"
