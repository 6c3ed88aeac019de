"""This project's own kernels: `from pydotcompute.kernels import softmax`.

They come from the bundle inside the installed package, or else from the `build/` of the checkout it runs in.
`dir(pydotcompute.kernels)` lists them, and `help(pydotcompute.kernels.softmax)` describes one. One that is not there is
a KernelNotBuiltError with what to do. It is an ImportError too where it is imported, and an AttributeError where it is
an attribute, so that `hasattr` says no.
"""

from __future__ import annotations

import os as _os
from typing import TYPE_CHECKING

from .errors import KernelNotBuiltError
from .runtime.module import faces as _faces

if TYPE_CHECKING:
    from .runtime.kernel import Kernel
    from .runtime.library import KernelLibrary

_PACKAGE = _os.path.dirname(_os.path.abspath(__file__))
_library: KernelLibrary | None = None


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


if TYPE_CHECKING:

    def __getattr__(name: str) -> Kernel: ...

else:
    __getattr__, __dir__ = _faces(__name__, globals(), _load)
