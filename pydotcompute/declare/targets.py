"""What code is made for: the words of `targets:` and of the command line's `-t`."""

from __future__ import annotations

import re

from .names import near

CPU_TARGETS = ("cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:native")
DEFAULT_TARGETS = ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4")
PATTERN = "^(?:" + "|".join(CPU_TARGETS) + r"|cuda:(?:compute|sm)_[1-9][0-9]{1,2}[af]?)$"
# Only to suggest one: which architectures there are is the toolchain's to say.
SUGGESTIONS = (*CPU_TARGETS, "cuda:compute_80", "cuda:sm_75", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90a")


def target_problem(text: str) -> tuple[str, str] | None:
    """Why this is no target (message, hint), or None."""
    if re.fullmatch(PATTERN, text):
        return None
    if text.startswith("cuda:"):
        return f"unknown target '{text}'", "a CUDA target is cuda:compute_NN (PTX) or cuda:sm_NN (cubin)"
    return f"unknown target '{text}'", near(text, SUGGESTIONS)
