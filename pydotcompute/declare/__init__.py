"""kernels.yaml → Declaration, and each kernel's specialisations → the Python that is lowered."""

from __future__ import annotations

import os
from typing import Any

from .model import Declaration, Kernel, Rendered, Specialisation


def load(root: str | os.PathLike, keep_going: bool = False) -> Declaration:
    """Read and check `kernels.yaml` in the folder `root`. Raises DeclarationError for the first mistake; keep_going:
    a kernel whose declaration is wrong is in `refused`, and the others are there."""
    from .loader import load

    return load(root, keep_going)


def render(kernel: Kernel, specialisation: Specialisation, backend: str, root: str | os.PathLike) -> Rendered:
    """The Python of one specialisation for one backend ("cpu", "cuda", …, "python"). Raises DeclarationError."""
    from .rendering import render

    return render(kernel, specialisation, backend, root)


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of kernels.yaml."""
    from .json_schema import schema

    return schema()
