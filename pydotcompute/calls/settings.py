"""The setting of every call: PYDOTCOMPUTE_THREADS."""

from __future__ import annotations

import os
import re
from typing import Mapping

from ..artifact.machine import processors

MAX_THREADS = 4096


def threads(environment: Mapping[str, str] = os.environ) -> int:
    """How many threads a kernel may use: PYDOTCOMPUTE_THREADS, else what this process may use of the machine.

    Raises ValueError for anything but a number from 1 to 4096.
    """
    text = environment.get("PYDOTCOMPUTE_THREADS", "")
    if not text:
        return processors()
    if not re.fullmatch("[0-9]{1,9}", text.strip()) or not 1 <= int(text) <= MAX_THREADS:
        raise ValueError(f"PYDOTCOMPUTE_THREADS={text!r} is not a number of threads; write one from 1 to {MAX_THREADS}")
    return int(text)
