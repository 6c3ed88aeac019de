"""Which tests meet which functions: a plugin of pytest's, and the change of a file that has its functions tell.

PYDOTCOMPUTE_REACH names a file that is written: test → [seconds, the functions it called, whether it started other
processes of ours]. PYDOTCOMPUTE_REACHING names one that is read: the tests to run, in that order.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
import time
from pathlib import Path
from typing import Iterator

import pytest

WRITTEN, READ = os.environ.get("PYDOTCOMPUTE_REACH"), os.environ.get("PYDOTCOMPUTE_REACHING")
TOLD = "__pydotcompute_reached__"  # the set in builtins that functions tell; other processes have none

reached: dict[str, tuple[float, list[str], bool]] = {}
called: set[str] = set()
started: list[str] = []


def telling(file: str, text: str) -> str:
    """The text of a file whose functions tell each time that they were called."""
    lines = text.split("\n")
    for name, first in sorted(_functions(ast.parse(text), ""), key=lambda pair: -pair[1].lineno):
        at = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))]) - 1
        if lines[at][: first.col_offset].strip() == "":  # else the body stands behind its `def`
            told = f"getattr(__import__('builtins'), '{TOLD}', set()).add('{file} {name}')"
            lines.insert(at, " " * first.col_offset + told)
    return "\n".join(lines)


def _functions(node: ast.AST, around: str) -> Iterator[tuple[str, ast.stmt]]:
    """(qualified name, first statement) of every function below but those inside of others: compilers read such."""
    for child in ast.iter_child_nodes(node):
        name = ".".join(filter(None, (around, getattr(child, "name", ""))))
        if isinstance(child, ast.FunctionDef):
            has_doc = ast.get_docstring(child) is not None and len(child.body) > 1
            yield name, child.body[has_doc]
        else:
            yield from _functions(child, name if isinstance(child, ast.ClassDef) else around)


def pytest_configure(config: pytest.Config) -> None:
    if WRITTEN:
        setattr(builtins, TOLD, called)
        sys.addaudithook(_watch)


def _watch(event: str, args: tuple) -> None:
    program = os.path.basename(os.fsdecode(args[0])) if event == "subprocess.Popen" else ""
    if event == "os.fork" or program.startswith(("python", "pydotcompute")):
        started.append(event)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    called.clear()
    started.clear()
    start = time.monotonic()
    yield
    reached[item.nodeid] = (time.monotonic() - start, sorted(called), bool(started))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if WRITTEN:
        Path(WRITTEN).write_text(json.dumps(reached))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if READ:
        place = {name: k for k, name in enumerate(json.loads(Path(READ).read_text()))}
        items[:] = sorted((i for i in items if i.nodeid in place), key=lambda i: place[i.nodeid])
