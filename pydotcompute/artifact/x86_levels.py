"""The levels of x86-64 as targets of the CPU, and what compilers and users call them otherwise."""

from __future__ import annotations

LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
NAMES = tuple(f"cpu:{level}" for level in (*LEVELS, "native"))
# What compilers call the levels, their processors and the features that decide them.
OTHER_NAMES = {
    "x86-64": "x86_64 amd64 x64 v1 k8 baseline generic sse sse2",
    "x86-64-v2": "v2 nehalem westmere sandybridge ivybridge sse3 ssse3 sse4 sse41 sse42 popcnt avx",
    "x86-64-v3": "v3 avx2 fma fma3 f16c bmi bmi2 haswell broadwell skylake znver1 znver2 znver3 zen zen2 zen3",
    "x86-64-v4": "v4 avx512 avx512f avx512bw avx512dq avx512vl skylake_avx512 cascadelake icelake_server "
    "sapphirerapids znver4 znver5 zen4 zen5",
    "native": "host auto",
}


def meant(text: str) -> str:
    """The target for which this is another's word: "cpu:x86-64-v3" for "avx2" or "cpu:haswell". Empty: none."""
    name = text.removeprefix("cpu:").lower().replace("-", "_").replace(".", "").removeprefix("x86_64_")
    return next((f"cpu:{level}" for level, others in OTHER_NAMES.items() if name in others.split()), "")
