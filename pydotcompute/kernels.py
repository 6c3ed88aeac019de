"""This project's own kernels: `from pydotcompute.kernels import softmax`.

They come from the bundle inside the installed package, or else from the `build/` of the checkout it runs in. A
kernel that is not there is an ImportError with the command that builds it.
"""

from __future__ import annotations

import os as _os
from typing import TYPE_CHECKING

from .errors import KernelNotBuiltError

if TYPE_CHECKING:
    from .runtime.kernel import Kernel
    from .runtime.library import KernelLibrary

_PACKAGE = _os.path.dirname(_os.path.abspath(__file__))
_library: KernelLibrary | None = None


def _load() -> KernelLibrary:
    global _library
    if _library is None:
        from .cache.layout import MANIFEST
        from .runtime.library import load

        bundle = _os.path.join(_PACKAGE, "_bundle")
        _library = load(bundle if _os.path.exists(_os.path.join(bundle, MANIFEST)) else _os.path.dirname(_PACKAGE))
    return _library


def __getattr__(name: str) -> Kernel:
    if name.startswith("_"):  # what the import system and others probe for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        library = _load()
        if name in library:
            kernel = globals()[name] = library[name]
            return kernel
        unknown = library._unknown(name)
    except KernelNotBuiltError as error:
        raise ImportError(str(error), name=f"{__name__}.{name}") from error
    if "did you mean" not in unknown:
        unknown += f"; if it is declared, run: pydotcompute build {name} -C {library._root}"
    raise ImportError(unknown, name=f"{__name__}.{name}")


def __dir__() -> list[str]:
    return list(_load())
