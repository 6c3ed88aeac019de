"""The levels of processors as targets of the CPU, by architecture, and what compilers and users call them otherwise."""

from __future__ import annotations

import os

ARCHITECTURES = {  # each one's levels, the lowest first
    "x86-64": ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"),
    "aarch64": ("aarch64", "aarch64-v8.2"),
}
LEVELS = tuple(level for levels in ARCHITECTURES.values() for level in levels)
NAMES = tuple(f"cpu:{level}" for level in (*LEVELS, "native"))
# What compilers call the levels, their processors and the features that decide them.
OTHER_NAMES = {
    "x86-64": "x86_64 amd64 x64 v1 k8 baseline generic sse sse2",
    "x86-64-v2": "v2 nehalem westmere sandybridge ivybridge sse3 ssse3 sse4 sse41 sse42 popcnt avx",
    "x86-64-v3": "v3 avx2 fma fma3 f16c bmi bmi2 haswell broadwell skylake znver1 znver2 znver3 zen zen2 zen3",
    "x86-64-v4": "v4 avx512 avx512f avx512bw avx512dq avx512vl skylake_avx512 cascadelake icelake_server "
    "sapphirerapids znver4 znver5 zen4 zen5",
    "aarch64": "arm64 armv8 armv8_a v8 neon asimd arm cortex_a53 cortex_a57 cortex_a72 graviton",
    "aarch64-v8.2": "armv82 armv82_a v82 fp16 dotprod asimdhp asimddp neoverse_n1 graviton2 cortex_a76",
    "native": "host auto",
}
# What each level has that the one below it has not, by Linux's names (/proc/cpuinfo).
FLAGS = {
    "x86-64-v2": ("pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "cx16", "lahf_lm"),
    "x86-64-v3": ("avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe"),
    "x86-64-v4": ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"),
    "aarch64-v8.2": ("fphp", "asimdhp", "asimddp", "atomics", "asimdrdm"),
}
_MACHINES = {"amd64": "x86-64", "x86_64": "x86-64", "arm64": "aarch64", "aarch64": "aarch64"}


def machine() -> str:
    """What this machine's architecture is called: as in ARCHITECTURES, or by its own name where it is none of them."""
    if hasattr(os, "uname"):
        name = os.uname().machine
    else:
        import platform

        name = platform.machine()
    return _MACHINES.get(name.lower(), name)


def architecture(level: str) -> str:
    """Of one of LEVELS."""
    return next(name for name, levels in ARCHITECTURES.items() if level in levels)


def flags(level: str) -> tuple[str, ...]:
    """What a processor must have for code for one of LEVELS, besides what all of its architecture have."""
    levels = ARCHITECTURES[architecture(level)]
    return tuple(flag for name in levels[: levels.index(level) + 1] for flag in FLAGS.get(name, ()))


def meant(text: str) -> str:
    """The target for which this is another's word: "cpu:x86-64-v3" for "avx2" or "cpu:haswell". Empty: none."""
    name = text.removeprefix("cpu:").lower().replace("-", "_").replace(".", "")
    name = name.removeprefix("x86_64_").removeprefix("aarch64_")
    return next((f"cpu:{level}" for level, others in OTHER_NAMES.items() if name in others.split()), "")
