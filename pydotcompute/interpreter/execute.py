"""The interpreter: it executes the typed tree as the sequential program that the kernel's Python says it is.

It is the specification. Types and arithmetic are the tree's own (see `arithmetic`); every index is looked at; arrays
made in a kernel hold poison until they are written. The iterations of parallel loops run in a given order, so that
what a program leaves to the order shows as a difference between "forward", "reverse" and "random".

The tree is translated to Python once. Its lines carry the user's own file and line numbers, so that a debugger steps
through the template, with the user's names; given `path`, the translation is written there and stepped through.
"""

from __future__ import annotations

import ast
import linecache
import traceback
from functools import partial
from types import CodeType
from typing import Any, Callable, Mapping

import numpy as np

from ..artifact.dimensions import evaluate
from ..ir import tree as t
from . import arithmetic, runtime
from .disjoint import Touched
from .source import Source, write

_RECENT = 64
_translations: dict[tuple[int, str | None], tuple[t.KernelTree, Source, list[CodeType]]] = {}


def run(
    tree: t.KernelTree,
    arguments: Mapping[str, Any],
    dims: Mapping[str, int],
    order: str = "forward",
    seed: int = 0,
    path: str | None = None,
    met: dict[str, dict[int, list]] | None = None,
) -> None:
    """Execute a kernel once. Outputs are written in place; their fills are the caller's.

    arguments: for each parameter its NumPy array as the kernel sees it (`T[...]` flat, `T[..., n]` as (rows, n), an
    output scalar as an array of shape ()), or a scalar that fits. dims: the value of each dimension symbol.
    order: of the iterations of every `grid`, `blocks` and `threads` loop; `seed` decides "random". Arrays that are
    made in the kernel hold poison, in reverse order another than else.
    path: where to write the translation, for a debugger; else it carries the positions of the user's file.
    met: takes, by array and flat index, the values that `scatter` stored there, in order.
    Raises IndexError, with file, line and column, for an index outside 0 ≤ i < n, and ValueError, too, for a step of 0
    and where iterations meet in an array that is declared disjoint.
    """
    source, codes = _translated(tree, path)
    functions: dict[str, Callable] = {
        "span": runtime.span,
        "evaluate": evaluate,
        "poisoned": partial(runtime.poisoned, order == "reverse"),
        **runtime.REDUCTIONS,
        "running": runtime.running,
        **runtime.loops(order, seed),
        **runtime.accesses(source.sites, met),
    }
    if tree.disjoint:
        touched = Touched(tree.disjoint, source.sites)
        functions |= {"enter": touched.enter, "turn": touched.turn, "leave": touched.leave}
        for name in [name for name in functions if name.startswith(("load", "item", "store"))]:
            functions[name] = touched.watched(functions[name], name.startswith("store"))
    names = {**source.names, **{source.prefix + name: function for name, function in functions.items()}}
    for code in codes:
        exec(code, names)
    values = {}
    for parameter in tree.parameters:
        given = arguments[parameter.name]
        scalar = not parameter.in_memory
        values[source.arguments[parameter.name]] = arithmetic.value(given, parameter.dtype) if scalar else given
    for symbol in tree.symbols:
        values[source.arguments[symbol]] = int(dims[symbol])
    with np.errstate(all="ignore"):
        try:
            names[source.kernel](**values)
        except (IndexError, ValueError) as error:
            _add_call(error, source, names, path is not None)
            raise


def _add_call(error: Exception, source: Source, names: dict[str, Any], written: bool) -> None:
    """A fault in a helper: say too where the kernel calls it. written: the lines are the translation's."""
    frames = list(traceback.walk_tb(error.__traceback__))
    ours = [(frame.f_code, line) for frame, line in frames if frame.f_globals is names]
    if len(ours) < 2:
        return
    caller, line = ours[0]
    place = source.places[line - 1] if written else None
    file, line = (place.path, place.line) if place else (caller.co_filename, line)
    of_file = "" if str(error).startswith(f"{file}:") else f" of {file}"
    error.args = (f"{error}, in a helper called on line {line}{of_file}",)


def python_text(tree: t.KernelTree) -> str:
    """The translation, to read."""
    return write(tree).text


def _translated(tree: t.KernelTree, path: str | None) -> tuple[Source, list[CodeType]]:
    """The translation and its code, kept for recent trees (with the tree, so that its id stays its own)."""
    key = id(tree), path
    if key not in _translations:
        if len(_translations) >= _RECENT:
            del _translations[next(iter(_translations))]
        source = write(tree)
        _translations[key] = tree, source, _compile(source, tree.name, path)
    return _translations[key][1:]


_LOCATED = (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.alias, ast.excepthandler, ast.pattern)  # what has lines


def _compile(source: Source, name: str, path: str | None) -> list[CodeType]:
    """One code object a function, each with the positions of the file that the user wrote it in."""
    if path is not None:
        with open(path, "w") as written:
            written.write(source.text)
        return [compile(source.text, path, "exec")]
    if not any(source.places):  # a tree that no file stands behind
        path = f"<kernel {name}>"
        linecache.cache[path] = len(source.text), None, source.text.splitlines(True), path
        return [compile(source.text, path, "exec")]
    codes = []
    for function in ast.parse(source.text).body:
        places = source.places[function.lineno - 1 : function.end_lineno]
        file, line = next(((place.path, place.line) for place in places if place), ("<lowering>", 1))
        lines = []  # where each line of the function stands; what the lowering added, with what precedes it
        for place in places:
            line = place.line if place and place.path == file else line
            lines.append(line)
        first = function.lineno
        for node in ast.walk(function):
            if isinstance(node, _LOCATED):
                node.lineno = node.end_lineno = lines[node.lineno - first]
                node.col_offset = node.end_col_offset = 0  # columns of the translation would mark the wrong text
        codes.append(compile(ast.Module([function], []), file, "exec"))
    return codes
