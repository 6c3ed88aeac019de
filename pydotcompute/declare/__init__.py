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
    kernel: Kernel, specialisation: Specialisation, backend: str, root: str | os.PathLike, raw: Collection[str] = (),
    avx512: bool = False,
) -> Rendered:  # fmt: skip
    """The Python of one specialisation for one backend ("cpu", "cuda", …, "python"). Raises DeclarationError.

    raw: the modules whose use makes a body raw, `cuda` for `cuda.grid(1)`. avx512: for processors that have it.
    """
    from .rendering import render

    return render(kernel, specialisation, backend, root, raw, avx512)


def asks_for_avx512(kernel: Kernel, rendered: Rendered) -> bool:
    """Whether it may read otherwise for processors with AVX-512 than for others."""
    from .rendering import asks_for_avx512

    return asks_for_avx512(kernel, rendered)


def schema(targets: str = "") -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of kernels.yaml; `targets` is a regular expression of those that there are."""
    from .json_schema import schema

    return schema(targets)
