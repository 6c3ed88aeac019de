"""The house: each folder imports only what lies below it, no two files import each other, and the two halves meet in
the artifact alone. Imports inside functions and for type checkers count as well."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import pydotcompute

PACKAGE = Path(pydotcompute.__file__).parent
TESTS = Path(__file__).parent.parent
# From the top down; what stands in one line may not import each other.
FLOORS = (
    ("cli", "examples"),
    ("bench", "packaging", "report"),
    ("check",),
    ("docs",),
    ("builder", "jit"),
    ("targets",),
    ("interpreter", "analysis"),
    ("frontend",),
    ("declare",),
    ("ir",),
    ("operations",),
    ("kernels",),
    ("runtime",),
    ("devices",),
    ("backends",),
    ("calls",),
    ("cache",),
    ("artifact",),
    ("errors",),
)
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
BUILD_HALF = {"builder", "jit", "targets", "interpreter", "analysis", "frontend", "declare", "ir"}
RUN_HALF = {"operations", "kernels", "runtime", "devices", "backends", "calls"}


def modules() -> dict[str, Path]:
    """Dotted name below the package → file; the package itself is ""."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imported(name: str) -> set[str]:
    """The modules of ours that a module imports, anywhere in it."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                source = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            elif (node.module or "").split(".")[0] == PACKAGE.name:
                source = node.module.split(".")[1:]
            else:
                continue
            source = ".".join(part for part in source if part)
            for alias in node.names:
                whole = f"{source}.{alias.name}" if source else alias.name
                found.add(whole if whole in MODULES else source)
        elif isinstance(node, ast.Import):
            found |= {a.name.partition(".")[2] for a in node.names if a.name.split(".")[0] == PACKAGE.name}
    return found


def room(name: str) -> str:
    return name.partition(".")[0]


def test_every_folder_has_its_floor():
    assert {room(name) for name in MODULES} - {"", "__main__"} <= set(LEVEL)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_go_down(name):
    if room(name) in ("", "__main__"):
        return  # the package and the program: they hand on what others have
    for other in imported(name):
        if room(other) != room(name):
            assert other or room(name) in ("cli", "examples"), f"{name} imports the package itself"
            assert not other or LEVEL[room(name)] < LEVEL[room(other)], f"{name} imports {other}, which lies above it"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_halves_meet_in_the_artifact(name):
    above = [other for other in imported(name) if room(name) in BUILD_HALF and room(other) in RUN_HALF]
    assert not above, f"{name} of the build half imports {above} of the run half"


def test_no_circle():
    graph = {name: imported(name) & set(MODULES) - {name} for name in MODULES}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            pytest.fail(" → ".join((*path[path.index(name) :], name)))
        if name in done:
            return
        for other in sorted(graph[name]):
            # an `__init__` is imported with whatever stands in its folder: that alone is no circle
            if not (MODULES[other].name == "__init__.py" and name.startswith(f"{other}.")):
                visit(other, (*path, name))
        done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_files_are_short():
    files = {**MODULES, **{str(path.relative_to(TESTS)): path for path in TESTS.rglob("*.py")}}
    long = {name: lines for name, path in files.items() if (lines := path.read_text().count("\n")) >= 400}
    assert not long


@pytest.mark.slow
def test_a_package_whose_inner_modules_are_used_has_an_upper_bound():
    extras = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    required = {re.match(r"[\w-]+", line)[0]: line for line in extras["build"] + extras["build-cuda"]}
    unbounded = set()
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.level or "." not in (node.module or ""):
                continue
            package = "numba-cuda" if node.module.startswith("numba.cuda") else node.module.partition(".")[0]
            if package in required.keys() - {"numpy", "pydotcompute"} and "<" not in required[package]:
                unbounded.add(package)
    assert not unbounded
    assert all("<" in required[name] for name in ("numba", "numba-cuda", "llvmlite"))
