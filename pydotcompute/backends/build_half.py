"""The one way from a running program into the build half, taken only where a program asks for it."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Callable, Iterator

from ..artifact.remedies import not_installed
from ..errors import CompilerNotInstalledError

PACKAGE = __name__.partition(".")[0]


@contextmanager
def build_half(purpose: str) -> Iterator[Callable[[str], ModuleType]]:
    """Gives a function that imports `pydotcompute.<module>`. `purpose` begins the message: "compiling a function".

    Raises CompilerNotInstalledError, naming the extra, where a package is missing that anything inside needs.
    """
    try:
        yield lambda module: import_module(f"{PACKAGE}.{module}")
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] == PACKAGE:
            raise
        raise CompilerNotInstalledError(
            not_installed(purpose, error.name, "build"), name=error.name
        ) from error
