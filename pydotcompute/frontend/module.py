"""A rendered template as the front end sees it: its helpers and kernel, compile-time names, and where things stand."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Iterable, NoReturn

from ..artifact.dimensions import Tree, substituted
from ..artifact.signature import DTYPES, Parameter
from ..declare.model import Kernel, Rendered, Specialisation
from ..declare.names import length_problem
from ..declare.python_text import check_definition, parse_python
from ..errors import DeclarationError, Position
from ..ir.functions import CONSTANTS, FUNCTIONS, WORDS
from . import syntax

MOST_LEVELS = 200
KEPT_LEVELS = 24  # a part of an expression that is so deep gets a local of its own


def place(node: ast.AST) -> tuple[int, int]:
    """Line and column of a node of the text."""
    located: Any = node  # every one that is assigned, or that a message names, has both
    return located.lineno, located.col_offset


@dataclass
class Module:
    kernel: Kernel
    rendered: Rendered
    parameters: tuple[Parameter, ...]  # with concrete dtypes
    types: dict[str, str]  # type variable → dtype
    params: dict[str, int | float | bool]
    function: ast.FunctionDef = field(init=False)  # the kernel
    helpers: dict[str, ast.FunctionDef] = field(default_factory=dict)
    heights: dict[int, int] = field(default_factory=dict)  # id of a node → how deep it is nested
    statements: dict[int, ast.stmt] = field(default_factory=dict)  # id of a node → the assignment or return around it
    positions: dict[tuple[int, int], Position] = field(default_factory=dict)
    brought: dict[tuple, ast.FunctionDef] = field(default_factory=dict)  # whose call, what → the language's own helper
    known: set[int] = field(default_factory=set)  # ids of elements in such helpers that are inside by their making
    used: set[str] = field(default_factory=set)  # every name of the text; fresh ones are none of these

    @cached_property
    def has_parallel_loops(self) -> bool:
        """Whether the kernel or a helper that it calls has one."""
        reached: list[ast.FunctionDef] = [self.function]
        for function in reached:
            calls = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
            called = {f.id for f in calls if isinstance(f, ast.Name)} & self.helpers.keys()
            reached += [helper for helper in map(self.helpers.__getitem__, sorted(called)) if helper not in reached]
        return any(syntax.parallel_kind(node) for function in reached for node in ast.walk(function))

    def position(self, node: ast.AST) -> Position:
        key = place(node)
        if key not in self.positions:  # a kernel is built several times, until its types settle
            column = len(self.lines[key[0] - 1].encode()[: key[1]].decode(errors="ignore")) + 1
            self.positions[key] = self.rendered.position(key[0], column)
        return self.positions[key]

    @cached_property
    def lines(self) -> list[str]:
        return self.rendered.text.split("\n")

    def bring(self, key: tuple, helper: ast.FunctionDef) -> None:
        """Take a helper of the language's own to the place of a call."""
        self.brought[key] = helper
        _measure(self, helper)

    def is_brought(self, helper: ast.FunctionDef) -> bool:
        return any(helper is own for own in self.brought.values())

    def line(self, node: ast.AST) -> int:
        return self.position(node).line

    def refuse(self, node: ast.AST, message: str, hint: str = "") -> NoReturn:
        raise DeclarationError(message, self.position(node), hint)

    def statement_of(self, node: ast.AST) -> ast.AST:
        """The assignment or `return` that an expression stands in; else the expression itself."""
        return self.statements.get(id(node), node)

    def meaning(self, name: str) -> str:
        """What a name is that nobody may assign or define, or ""."""
        if name in FUNCTIONS:
            return "a function of the kernel language"
        if name in WORDS:
            return "a word of the kernel language"
        if name in DTYPES:
            return "a dtype"
        if name in self.types:
            return "a type variable"
        return "a param" if name in self.params else ""


def _dim(dim: Tree, params: dict[str, Any]) -> Tree:
    """A dimension where the params are known; a truth is 0 or 1."""
    value = substituted(dim, params)
    return int(value) if isinstance(value, bool) else value


def parse(kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> Module:
    """Parse the text, check the syntax of every function in it and the kernel's arguments. Raises DeclarationError."""
    if rendered.raw:
        raise DeclarationError(
            f"kernel {kernel.name} is raw: it uses `{rendered.raw}.`, and has no typed tree",
            kernel.at,
            "build it for a target that takes it, or write it in the kernel language",
        )
    parsed = parse_python(rendered)
    check_definition(kernel, rendered, parsed)
    types, params = dict(specialisation.types), dict(specialisation.params)
    parameters = tuple(
        p._replace(dtype=types.get(p.dtype, p.dtype), dims=p.dims and tuple(_dim(d, params) for d in p.dims))
        for p in kernel.signature.parameters
    )
    module = Module(kernel, rendered, parameters, types, params)
    if rendered.inline:
        _lift_helpers(module, parsed)
    functions: dict[str, ast.FunctionDef] = {}
    for statement in syntax.without_docstring(parsed.body):
        if not isinstance(statement, ast.FunctionDef):
            _outside(module, statement)
        if statement.name in functions:
            module.refuse(
                statement,
                f"`{statement.name}` is defined twice, first on line {module.line(functions[statement.name])}",
                "rename one of them",
            )
        functions[statement.name] = statement
    module.function = functions.pop(kernel.name)
    module.helpers = functions
    for name, function in functions.items():
        if not rendered.inline and function.lineno > module.function.lineno:
            module.refuse(function, f"helper `{name}` stands after the kernel", "move it before the kernel")
        if meaning := module.meaning(name):
            module.refuse(function, f"`{name}` cannot be the name of a helper: it is {meaning}", "choose another name")
        if name in kernel.signature.symbols or any(p.name == name for p in parameters):
            module.refuse(
                function, f"`{name}` cannot be the name of a helper: the signature has it", "choose another name"
            )
    _measure(module, parsed)
    for function in (*functions.values(), module.function):
        syntax.check_function(function, function is module.function, module.refuse)
    for function in functions.values():
        for argument in function.args.args:
            name = argument.arg
            if [a.arg for a in function.args.args].count(name) > 1:
                module.refuse(argument, f"`{name}` is an argument twice", "choose another name")
            if meaning := module.meaning(name) or ("a helper" if name in functions else ""):
                module.refuse(argument, f"`{name}` cannot be an argument: it is {meaning}", "choose another name")
    _check_recursion(module)
    module.used = {node.id for node in ast.walk(parsed) if isinstance(node, ast.Name)}
    module.used |= {node.arg for node in ast.walk(parsed) if isinstance(node, ast.arg)}
    module.used |= {kernel.name, *functions, *kernel.signature.symbols, *(p.name for p in parameters)}
    if any(map(length_problem, module.used)):
        _refuse_long_name(module, parsed)
    module.used |= {*FUNCTIONS, *CONSTANTS, *WORDS, *DTYPES, *types, *params}
    return module


def _lift_helpers(module: Module, parsed: ast.Module) -> None:
    """Put the functions before the statements of an inline body before the kernel, as in a template."""
    kernel = module.kernel.name
    function = next(s for s in parsed.body if isinstance(s, ast.FunctionDef) and s.name == kernel)
    function.body = syntax.without_docstring(function.body)
    while function.body and isinstance(helper := function.body[0], ast.FunctionDef):
        del function.body[0]
        if helper.name == kernel:
            message = f"`{kernel}` cannot be the name of a helper: the kernel has it"
            module.refuse(helper, message, "choose another name")
        parsed.body.insert(parsed.body.index(function), helper)


def _outside(module: Module, statement: ast.stmt) -> NoReturn:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        module.refuse(
            statement, "`import` is not part of the kernel language", "the language's functions need no module"
        )
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        module.refuse(
            statement, "an assignment outside a function", "declare a constant in `params:`, or set it in the kernel"
        )
    module.refuse(statement, "a template holds functions: helpers, then the kernel", "move it into the kernel")


def _measure(module: Module, parsed: ast.AST) -> None:
    """Note how deep each expression is nested; compilers and Python itself have limits."""
    nodes = list(ast.walk(parsed))
    for node in reversed(nodes):  # children before parents
        heights = (module.heights.get(id(child), 0) for child in ast.iter_child_nodes(node))
        module.heights[id(node)] = 1 + max(heights, default=0)
    for statement in nodes:
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)):
            module.statements |= dict.fromkeys((id(node) for node in ast.walk(statement)), statement)
    for node in nodes:
        if isinstance(node, ast.expr) and module.heights[id(node)] > MOST_LEVELS:
            module.refuse(
                node,
                f"an expression nested {module.heights[id(node)]} deep; {MOST_LEVELS} are allowed",
                "give parts of it names on lines before",
            )


def _refuse_long_name(module: Module, parsed: ast.AST) -> None:
    """Where it stands first."""
    for node in ast.walk(parsed):
        name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
        if problem := length_problem(node.name if isinstance(node, ast.FunctionDef) else name):
            module.refuse(node, *problem)


def _check_recursion(module: Module) -> None:
    """Helpers that call themselves, directly or around: refused at the call that closes the circle. (The kernel's
    own name is no function, so a call of it is one of an unknown function.)"""
    done: set[str] = set()

    def visit(function: ast.FunctionDef, path: tuple[str, ...]) -> None:
        for node in ast.walk(function):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            name = node.func.id
            if name in path and name not in FUNCTIONS and name not in WORDS:
                circle = " calls ".join((*path[path.index(name) :], name))
                module.refuse(node, f"recursion is not part of the kernel language: {circle}", "write a loop")
            if name in module.helpers and name not in done:
                visit(module.helpers[name], (*path, name))
        done.add(path[-1])

    for name, helper in module.helpers.items():
        if name not in done:
            visit(helper, (name,))


def near(name: str, candidates: Iterable[str], otherwise: str = "") -> str:
    close = get_close_matches(name, sorted(set(candidates)), 1, 0.6)
    return f"did you mean `{close[0]}`?" if close else otherwise
