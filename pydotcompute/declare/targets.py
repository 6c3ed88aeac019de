"""What code is made for: the words of `targets:` and of the command line's `-t`."""

from __future__ import annotations

import re

from .names import near

CPU_TARGETS = ("cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:native")
DEFAULT_TARGETS = ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4")
PATTERN = "^(?:" + "|".join(CPU_TARGETS) + r"|cuda:(?:compute|sm)_[1-9][0-9]{1,2}[af]?)$"
# Only to suggest one: which architectures there are is the toolchain's to say.
SUGGESTIONS = (*CPU_TARGETS, "cuda:compute_80", "cuda:sm_75", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90a")
# What compilers call the levels, their processors and the features that decide them.
OTHER_NAMES = {
    "x86-64": "x86_64 amd64 x64 v1 k8 baseline generic sse sse2",
    "x86-64-v2": "v2 nehalem westmere sandybridge ivybridge sse3 ssse3 sse4 sse41 sse42 popcnt avx",
    "x86-64-v3": "v3 avx2 fma fma3 f16c bmi bmi2 haswell broadwell skylake znver1 znver2 znver3 zen zen2 zen3",
    "x86-64-v4": "v4 avx512 avx512f avx512bw avx512dq avx512vl skylake_avx512 cascadelake icelake_server "
    "sapphirerapids znver4 znver5 zen4 zen5",
    "native": "host auto",
}


def target_problem(text: str) -> tuple[str, str] | None:
    """Why this is no target (message, hint), or None."""
    if re.fullmatch(PATTERN, text):
        return None
    if text.startswith("cuda:"):
        return f"unknown target '{text}'", "a CUDA target is cuda:compute_NN (PTX) or cuda:sm_NN (cubin)"
    name = text.removeprefix("cpu:").lower().replace("-", "_").replace(".", "").removeprefix("x86_64_")
    meant = next((level for level, others in OTHER_NAMES.items() if name in others.split()), None)
    return f"unknown target '{text}'", f"did you mean 'cpu:{meant}'?" if meant else near(text, SUGGESTIONS)
