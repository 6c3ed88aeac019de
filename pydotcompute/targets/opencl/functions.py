"""A plain function of numba.cuda's Python → OpenCL C: what `OpenCLBackend.compile_kernel` asks of the build half.

The function begins with `i = cuda.grid(1)` (or `i, j = cuda.grid(2)`, `i, j, k = cuda.grid(3)`), which counts the
threads of a launch; the rest is what one thread does, in the language of kernels, with `len(a)`, `a.size` and
`a.shape[k]` for sizes and `return` for a thread that is done. It becomes the kernel `for i in grid(threads): …`, and is
checked as one: threads that get in each other's way are refused.
"""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any, NamedTuple

from numba.core import types

from ... import declare
from ...analysis.races import check
from ...artifact.signature import Signature
from ...errors import CompilationError, DeclarationError
from ...frontend.build import build_tree
from ...ir.tree import KernelTree
from ..llvm.argument_types import argument_types
from ..temporary import temporary_folder
from ..text.compilation import TextArtifact
from .compiler import compile_kernel

THREADS = "threads_{}"  # of a launch along x, y, z: arguments that the launch gives
HOW = "begin it with `i = cuda.grid(1)`, and declare in kernels.yaml what goes beyond that"


class Compiled(NamedTuple):
    name: str
    signature: Signature
    tree: KernelTree
    artifact: TextArtifact
    axes: int  # how many sizes of a launch the kernel counts


def compile_function(func: Callable, signature: tuple[Any, ...]) -> Compiled:
    """The kernel of a function for these argument types. Raises TypeError for a signature that does not fit,
    CompilationError for what OpenCL's kernels do not have."""
    function = getattr(func, "py_func", func)
    if not isinstance(function, FunctionType):
        raise TypeError(f"only a Python function can be compiled, got {type(func).__qualname__}")
    wanted = argument_types(function, signature)
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError) as error:
        raise CompilationError(f"{function.__qualname__}: its source cannot be read: {error}") from error
    if not isinstance(definition, ast.FunctionDef):
        raise CompilationError(f"{function.__qualname__} is a lambda; OpenCL's kernels are made from a def")
    given = [a.arg for a in definition.args.args][: len(wanted)]
    body, indices = _body(function, definition)
    arrays = {name: t for name, t in zip(given, wanted, strict=True) if isinstance(t, types.Array)}
    stored = {
        node.value.id
        for part in body for node in ast.walk(part)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }  # fmt: skip
    counts = [THREADS.format("xyz"[k]) for k in range(len(indices))]
    loop = ast.For(_tuple(indices[::-1]), _call("grid", counts[::-1]), body, [])
    rewritten = _Sizes(arrays, function).visit(ast.Module([loop], []))
    text = ast.unparse(ast.fix_missing_locations(rewritten))
    arguments = [_argument(name, t, name in stored) for name, t in zip(given, wanted, strict=True)]
    arguments += [f"{count}: int64" for count in counts]
    tree, declared = _checked(function, f"({', '.join(arguments)})", text)
    return Compiled(function.__name__, declared, tree, compile_kernel(replace(tree, unchecked=True)), len(indices))


def _body(function: FunctionType, definition: ast.FunctionDef) -> tuple[list[ast.stmt], list[str]]:
    """The statements after `cuda.grid`, and the names that it sets: along x, y, z."""
    body = list(definition.body)
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body.pop(0)
    match body[0] if body else None:
        case ast.Assign(
            targets=[target],
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id="cuda"), attr="grid"), args=[ast.Constant(value=1 | 2 | 3 as rank)]
            ),
        ):
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            if len(names) == rank:
                return [_Done().visit(s) for s in body[1:]] or [ast.Pass()], names
    raise CompilationError(f"{function.__qualname__} does not say what each thread does; {HOW}")


class _Done(ast.NodeTransformer):
    """`return` outside of inner loops: the thread's iteration is done."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return ast.Continue() if node.value is None else node

    def visit_For(self, node: ast.For) -> ast.AST:
        return node

    visit_While = visit_For  # type: ignore[assignment]


class _Sizes(ast.NodeTransformer):
    """`len(a)`, `a.size` and `a.shape[k]` as dimensions of the signature."""

    def __init__(self, arrays: dict[str, types.Array], function: FunctionType):
        self.arrays, self.function = arrays, function

    def _array(self, node: ast.expr) -> types.Array | None:
        return self.arrays.get(node.id) if isinstance(node, ast.Name) else None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in self.arrays:
                return _name(_dim(name, 0))
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        array = self._array(node.value)
        if array and node.attr == "size":
            sizes = [_dim(node.value.id, k) for k in range(array.ndim)]  # type: ignore[attr-defined]
            return ast.parse(" * ".join(sizes), mode="eval").body
        if isinstance(node.value, ast.Name) and node.value.id == "cuda":
            told = f"{self.function.__qualname__} uses cuda.{node.attr}, which a function for OpenCL may not"
            raise CompilationError(f"{told}; {HOW}")
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int() as axis)
            ) if name in self.arrays and -self.arrays[name].ndim <= axis < self.arrays[name].ndim:
                return _name(_dim(name, axis % self.arrays[name].ndim))
        return self.generic_visit(node)


def _argument(name: str, t: types.Type, stored: bool) -> str:
    if not isinstance(t, types.Array):
        return f"{name}: {_dtype(t)}"
    words = ["inout"] * stored + ["strided"] * (t.layout != "C")
    dims = ", ".join(_dim(name, k) for k in range(t.ndim))
    return f"{name}: {' '.join([*words, _dtype(t.dtype)])}[{dims}]"


def _dtype(t: types.Type) -> str:
    return "bool" if isinstance(t, types.Boolean) else str(t)


def _checked(function: FunctionType, signature: str, body: str) -> tuple[KernelTree, Signature]:
    """The tree of a kernel of this signature and body, as a declaration of it has."""
    with temporary_folder() as root:
        with open(os.path.join(root, "kernels.yaml"), "w") as file:
            lines = textwrap.indent(body, "      ")
            file.write(f'version: 1\nkernels:\n  f:\n    signature: "{signature}"\n    body: |\n{lines}\n')
        try:
            kernel = declare.load(root).kernels["f"]
            rendered = declare.render(kernel, kernel.specialisations[0], "opencl", root)
            return check(build_tree(kernel, kernel.specialisations[0], rendered)), kernel.signature
        except DeclarationError as error:
            where = f" in `{error.at.text.strip()}`" if error.at and error.at.text else ""
            told = f"{function.__qualname__} cannot be compiled for OpenCL: {error.message}{where}"
            raise CompilationError(f"{told}\n  {error.hint}" if error.hint else told) from error


def _dim(name: str, axis: int) -> str:
    return f"{name}_n{axis}"


def _name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def _tuple(names: list[str]) -> ast.expr:
    parts: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Store())


def _call(function: str, arguments: list[str]) -> ast.Call:
    return ast.Call(_name(function), [_name(a) for a in arguments], [])
