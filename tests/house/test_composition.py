"""Targets are composed: what writes a kernel holds its parts, and no class inherits code from another file of ours.
Data classes, interfaces and exceptions have none."""

import ast
from pathlib import Path

import pytest

import pydotcompute

TARGETS = Path(pydotcompute.__file__).parent / "targets"
FILES = sorted(TARGETS.rglob("*.py"))
INTERFACES = {"Protocol", "NamedTuple", "ABC", "Generic", "Enum"}


def name_of(node: ast.expr) -> str:
    """The last name of `a.b`, `a[b]` or `a(b)`."""
    if isinstance(node, ast.Subscript):
        return name_of(node.value)
    if isinstance(node, ast.Call):
        return name_of(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def own_imports(path: Path) -> dict[str, Path]:
    """Names that a file imports from others of ours → those files."""
    found = {}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for alias in node.names:
                if folder.name != "errors" and folder.with_suffix(".py").is_file():
                    found[alias.asname or alias.name] = folder.with_suffix(".py")
    return found


def is_data_or_interface(name: str, path: Path) -> bool:
    cls = next(n for n in ast.walk(tree_of(path)) if isinstance(n, ast.ClassDef) and n.name == name)
    decorators, bases = set(map(name_of, cls.decorator_list)), set(map(name_of, cls.bases))
    abstract = any(
        name_of(d) == "abstractmethod" for n in cls.body if isinstance(n, ast.FunctionDef) for d in n.decorator_list
    )
    return "dataclass" in decorators or bool(bases & INTERFACES) or abstract


def inherited(path: Path) -> list[str]:
    """`class: base` for each base that has code in another file of ours."""
    imports = own_imports(path)
    return [
        f"{cls.name}: {name_of(base)}"
        for cls in ast.walk(tree_of(path)) if isinstance(cls, ast.ClassDef)
        for base in cls.bases
        if name_of(base) in imports and not is_data_or_interface(name_of(base), imports[name_of(base)])
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TARGETS)))
def test_no_class_inherits_code_from_another_file(path):
    assert inherited(path) == []


def test_inheritance_across_files_is_found(tmp_path):
    (tmp_path / "a.py").write_text("class Base:\n    pass\n\n\nclass Kind(Protocol):\n    pass\n")
    (tmp_path / "b.py").write_text("from .a import Base, Kind\n\n\nclass B(Base, Kind, dict):\n    pass\n")
    assert inherited(tmp_path / "b.py") == ["B: Base"]
