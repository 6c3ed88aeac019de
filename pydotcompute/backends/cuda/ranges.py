"""NVTX ranges around calls of kernels, which Nsight Systems shows by name: where PYDOTCOMPUTE_NVTX asks for them."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Mapping

from ...artifact.remedies import install

DOMAIN = "pydotcompute"


def asked(environment: Mapping[str, str] = os.environ) -> bool:
    """Raises ValueError for anything but 0 and 1."""
    text = environment.get("PYDOTCOMPUTE_NVTX", "").strip()
    if text not in ("", "0", "1", "false", "true"):
        raise ValueError(f"PYDOTCOMPUTE_NVTX={text!r}: write 1 for NVTX ranges around calls, or 0")
    return text in ("1", "true")


def around(name: str) -> AbstractContextManager[object]:
    """A range of that name, if ranges are asked for. Raises ImportError where NVIDIA's package for them is missing."""
    if not asked():
        return nullcontext()
    try:
        import nvtx
    except ImportError:
        raise ImportError(f"PYDOTCOMPUTE_NVTX asks for NVTX ranges: {install('nvtx', 'nvtx')}") from None
    range_: AbstractContextManager[object] = nvtx.annotate(message=name, domain=DOMAIN)
    return range_
