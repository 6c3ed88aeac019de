"""Makes a failing random program small: python tests/random_programs/minimise.py SEED [SECONDS]"""

from __future__ import annotations

import ast
import copy
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Iterator

from .differential import Batch, Disagreement, check_program
from .program import drawn


def failure(program) -> str:
    """What kind of disagreement there is, or an empty string; a program that is refused has none."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            batch = Batch([program], Path(folder))
            if batch.refused or batch.failed:
                return "failed to build" if batch.failed else ""
            check_program(batch, program)
        except Disagreement as error:
            return str(error).partition(":")[0]
        except ValueError:  # a declaration that is refused
            return ""
    return ""


def smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """Copies with one statement or expression less, large cuts first."""
    places = [
        (node, field)
        for node in ast.walk(tree)
        for field in ("body", "orelse")
        if isinstance(getattr(node, field, None), list)
    ]
    for node, field in places:
        statements = getattr(node, field)
        for k, statement in enumerate(statements):
            others = [[]]
            if isinstance(statement, ast.If):
                others += [statement.body, statement.orelse]
            for other in others:
                setattr(
                    node,
                    field,
                    [*statements[:k], *other, *statements[k + 1 :]] or ([ast.Pass()] if field == "body" else []),
                )
                yield copy.deepcopy(tree)
        setattr(node, field, statements)
    for node in list(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            for k, item in enumerate(items):
                if not isinstance(item, ast.expr) or field in ("func", "target", "targets", "iter"):
                    continue
                for part in ast.iter_child_nodes(item):
                    if (
                        not isinstance(part, ast.expr)
                        or isinstance(part, ast.Name)
                        and isinstance(item, (ast.Subscript, ast.Call))
                    ):
                        continue
                    put(node, field, value, k, part)
                    yield copy.deepcopy(tree)
                put(node, field, value, k, item)


def put(node: ast.AST, field: str, value, k: int, part: ast.expr) -> None:
    if isinstance(value, list):
        value[k] = part
    else:
        setattr(node, field, part)


def minimise(program, fails: Callable[[object], bool], seconds: float):
    """The smallest program found in this time that still fails in the same way."""
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for part in ("lines", "helper_lines"):
            tree = ast.parse("\n".join(getattr(program, part)))
            for candidate in smaller(tree):
                if time.monotonic() > end:
                    break
                other = copy.copy(program)
                setattr(other, part, ast.unparse(ast.fix_missing_locations(candidate)).splitlines())
                if fails(other):
                    program, progress = other, True
                    break
    return program


def main() -> None:
    program = drawn(int(sys.argv[1]))
    kind = failure(program)
    if not kind:
        sys.exit(f"program {sys.argv[1]} does not fail")
    found = minimise(program, lambda p: failure(p) == kind, float(sys.argv[2]) if len(sys.argv) > 2 else 120)
    print(kind, found.entry, found.template, sep="\n")


if __name__ == "__main__":
    main()
