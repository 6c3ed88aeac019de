"""Rendered text as Python: its syntax, and the `def` of the kernel."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from typing import Any, Collection

from ..errors import DeclarationError
from ..ir.functions import PARALLEL
from .model import Kernel, Rendered
from .names import near


def parse_python(rendered: Rendered) -> ast.Module:
    """The syntax tree of a rendered kernel. A syntax error is a DeclarationError at the template's line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(rendered.text)
        except SyntaxError as error:
            at = rendered.position(error.lineno or 1, error.offset or 1)
            told = re.sub(r"\bline (\d+)", lambda found: f"line {rendered.position(int(found[1]), 1).line}", error.msg)
            raise DeclarationError(f"not Python: {told}", at) from None
        except ValueError as error:  # of characters that no file of Python has
            raise DeclarationError(f"not Python: {error}", rendered.position(1, 1)) from None
        except (RecursionError, MemoryError):  # which say nothing of where
            at = rendered.position(*_longest(rendered.text))
            raise DeclarationError(
                "a statement nested too deep to be read", at, "give parts of its expression names on lines before"
            ) from None


def _longest(text: str) -> tuple[int, int]:
    """Line and column of the statement with the most tokens."""
    statements: list[list[tuple[int, int]]] = [[]]
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NEWLINE:
                statements.append([])
            elif token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
                statements[-1].append(token.start)
    except (tokenize.TokenError, SyntaxError):
        pass  # nobody has read on to here, so what is too deep stands before
    line, offset = max(statements, key=len)[0]
    return line, offset + 1


def check_definition(kernel: Kernel, rendered: Rendered, tree: ast.Module) -> None:
    """The template defines the kernel once, with exactly the signature's arguments, in order."""
    wanted = [p.name for p in kernel.signature.parameters]
    write = f"write def {kernel.name}({', '.join(wanted)}):"
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = [node for node in functions if node.name == kernel.name]
    if not found:
        hint = near(kernel.name, [node.name for node in functions])
        hint = f"{hint} {write}" if hint.startswith("did") else write
        raise DeclarationError(f"no function '{kernel.name}' in the template", rendered.position(1, 1), hint)
    if len(found) > 1:
        at = rendered.position(found[1].lineno, found[1].col_offset + 1)
        raise DeclarationError(f"'{kernel.name}' is defined twice", at, "delete one")
    definition = found[0]
    given = definition.args
    at = rendered.position(definition.lineno, definition.col_offset + 1)
    if given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or given.defaults:
        raise DeclarationError(f"'{kernel.name}' takes plain arguments only", at, write)
    names = [argument.arg for argument in given.args]
    if names != wanted:
        message = f"'{kernel.name}' has the arguments ({', '.join(names)}), its signature ({', '.join(wanted)})"
        raise DeclarationError(message, at, write)


def raw_module(tree: ast.Module, modules: Collection[str]) -> str:
    """The first of these modules that is used with a dot, in code rather than in a comment or string; or empty."""
    uses = _uses(tree, modules)
    return uses[0].value.id if uses else ""


def _uses(tree: ast.Module, modules: Collection[str]) -> list[Any]:
    found = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    ]  # fmt: skip
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def check_raw(kernel: Kernel, rendered: Rendered, tree: ast.Module, module: str) -> None:
    """A raw kernel says how it is launched, and uses nothing of the kernel language."""
    first = _uses(tree, (module,))[0]
    if not kernel.launch:
        at = rendered.position(first.lineno, first.col_offset + 1)
        raise DeclarationError(
            f"a kernel that uses {module}. needs 'launch'", at, "add launch: {block: 128, grid: …}"
        )
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PARALLEL:
            at = rendered.position(node.lineno, node.col_offset + 1)
            message = f"'{node.func.id}' of the kernel language in a kernel that uses {module}."
            raise DeclarationError(message, at, "write all of it in one of the two")
