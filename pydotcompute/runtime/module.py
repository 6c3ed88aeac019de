"""A library as a module: `from mylib.kernels import softmax`, by the module's `__getattr__` and `__dir__`.

One that is not there is a KernelNotBuiltError with what to do. It is an ImportError too where it is imported, and an
AttributeError where it is an attribute, so that `hasattr` says no.
"""

from __future__ import annotations

from sys import _getframe
from typing import TYPE_CHECKING, Any, Callable

from ..errors import KernelNotBuiltError

if TYPE_CHECKING:
    from types import FrameType

    from .library import KernelLibrary

Faces = tuple[Callable[[str], Any], Callable[[], list[str]]]


class NotImported(KernelNotBuiltError, ImportError):
    pass


class NoAttribute(KernelNotBuiltError, AttributeError):
    pass


def bundle(module: str, namespace: dict[str, Any]) -> Faces:
    """`__getattr__` and `__dir__` of the package that a bundle is. `namespace`: its globals."""

    def open_library() -> KernelLibrary:
        from .library import load

        if archive := getattr(namespace.get("__loader__"), "archive", None):  # zipimport's
            raise KernelNotBuiltError(
                f"{archive}: no kernels are read from inside a zip file; unpack it, or install with pip what is in it"
            )
        return load(namespace["__path__"][0])

    return faces(module, namespace, open_library)


def checkout(module: str, namespace: dict[str, Any], project: str, auto_build: bool) -> Faces:
    """The same of the package that stands for a bundle in a checkout. `project`: where the project is from there."""
    opened: list[KernelLibrary] = []  # once a process: what is old is told once, and nothing is built while it runs

    def open_library() -> KernelLibrary:
        if not opened:
            from .checkout import open_checkout

            opened.append(open_checkout(f"{namespace['__path__'][0]}/{project}", auto_build))
        return opened[0]

    return faces(module, namespace, open_library)


def faces(module: str, namespace: dict[str, Any], open_library: Callable[[], KernelLibrary]) -> Faces:
    """`__getattr__` and `__dir__` of a module whose names are the kernels of a library, opened when one is asked for.

    `open_library` may raise KernelNotBuiltError; it is called again until it does not.
    """

    def opened() -> KernelLibrary:
        library = open_library()
        library._origin.module = module  # where it is found on other machines too
        return library

    def attribute(name: str) -> Any:
        if name == "__all__":  # for `help`, and `from … import *`
            return listed()
        if name == "__library__":  # for who finds the module by an entry point
            return opened()
        if name.startswith("_"):  # what the import system and others probe for
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            library = opened()
            if name in library:
                kernel = namespace[name] = library[name]
                return kernel
            told = library._unknown(name)
            if "did you mean" not in told:
                from ..artifact.remedies import build_more

                folder, root = library._origin.folder, library._origin.root
                told += f"; if it is declared, {build_more(folder, root, name, 'this name')}"
        except KernelNotBuiltError as error:
            told = str(error)
        if _is_imported(_getframe(1)):
            raise NotImported(told)
        raise NoAttribute(told)

    def listed() -> list[str]:
        try:
            return list(open_library())
        except KernelNotBuiltError:
            return []

    return attribute, listed


def _is_imported(caller: FrameType) -> bool:
    """Whether the statement that asks is `from mylib.kernels import NAME`: an AttributeError would be replaced by
    words of Python's own there, and what to do would be lost."""
    from opcode import opname

    return opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM"
