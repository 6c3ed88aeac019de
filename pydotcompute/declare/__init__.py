"""kernels.yaml → Declaration, and each kernel's specialisations → the Python that is lowered."""

from __future__ import annotations

import os
from typing import Any, Collection

from .model import Declaration, Kernel, Rendered, Specialisation


def load(root: str | os.PathLike, keep_going: bool = False) -> Declaration:
    """Read and check `kernels.yaml` in the folder `root`. Raises DeclarationError for the first mistake; keep_going:
    a kernel whose declaration is wrong is in `refused`, and the others are there."""
    from .loader import load

    return load(root, keep_going)


def render(
    kernel: Kernel, specialisation: Specialisation, backend: str, root: str | os.PathLike, raw: Collection[str] = ()
) -> Rendered:
    """The Python of one specialisation for one backend ("cpu", "cuda", …, "python"). Raises DeclarationError.

    raw: the modules whose use makes a body raw, `cuda` for `cuda.grid(1)`.
    """
    from .rendering import render

    return render(kernel, specialisation, backend, root, raw)


def schema(targets: str = "") -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of kernels.yaml; `targets` is a regular expression of those that there are."""
    from .json_schema import schema

    return schema(targets)
