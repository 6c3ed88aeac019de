"""This project's own kernels: `from pydotcompute.kernels import softmax`.

They come from the bundle inside the installed package, or else from the `build/` of the checkout it runs in.
`dir(pydotcompute.kernels)` lists them, and `help(pydotcompute.kernels.softmax)` describes one. One that is not there is
a KernelNotBuiltError with what to do. It is an ImportError too where it is imported, and an AttributeError where it is
an attribute, so that `hasattr` says no.
"""

from __future__ import annotations

import os as _os
from sys import _getframe
from types import FrameType as _FrameType
from typing import TYPE_CHECKING

from .errors import KernelNotBuiltError

if TYPE_CHECKING:
    from .runtime.kernel import Kernel
    from .runtime.library import KernelLibrary

_PACKAGE = _os.path.dirname(_os.path.abspath(__file__))
_library: KernelLibrary | None = None


class _NotImported(KernelNotBuiltError, ImportError):
    pass


class _NoAttribute(KernelNotBuiltError, AttributeError):
    pass


def _load() -> KernelLibrary:
    global _library
    if _library is None:
        from .artifact.remedies import build_again
        from .cache.layout import MANIFEST
        from .runtime.library import load

        bundle, project = _os.path.join(_PACKAGE, "_bundle"), _os.path.dirname(_PACKAGE)
        if _os.path.exists(_os.path.join(bundle, MANIFEST)):
            _library = load(bundle)
        elif any(_os.path.exists(_os.path.join(project, name)) for name in ("kernels.yaml", "build")):
            _library = load(project)
        else:
            raise KernelNotBuiltError(
                f"this installation has no kernels of its own: there is no {bundle}; {build_again(_PACKAGE, _PACKAGE)}"
            )
    return _library


def _is_imported(caller: _FrameType) -> bool:
    """Whether the statement that asks is `from pydotcompute.kernels import NAME`: an AttributeError would be replaced
    by words of Python's own there, and what to do would be lost."""
    from opcode import opname

    return opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM"


def _attribute(name: str) -> Kernel | list[str]:
    if name == "__all__":  # for `help`, and `from … import *`
        return __dir__()
    if name.startswith("_"):  # what the import system and others probe for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        library = _load()
        if name in library:
            kernel = globals()[name] = library[name]
            return kernel
        told = library._unknown(name)
        if "did you mean" not in told:
            from .artifact.remedies import build_more

            told += f"; if it is declared, {build_more(library._folder, library._root, name, 'this name')}"
    except KernelNotBuiltError as error:
        told = str(error)
    if _is_imported(_getframe(1)):
        raise _NotImported(told)
    raise _NoAttribute(told)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Kernel: ...

else:
    __getattr__ = _attribute


def __dir__() -> list[str]:
    try:
        return list(_load())
    except KernelNotBuiltError:
        return []
