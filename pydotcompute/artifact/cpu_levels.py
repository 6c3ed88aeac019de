"""Targets of the CPU by their names, `cpu:LEVEL` and `cpu:LEVEL@PLATFORM`: the levels of processors by architecture,
the platforms that code is made for, and what compilers and users call them otherwise."""

from __future__ import annotations

import os
import sys

ARCHITECTURES = {  # each one's levels, the lowest first
    "x86-64": ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"),
    "aarch64": ("aarch64", "aarch64-v8.2"),
}
LEVELS = tuple(level for levels in ARCHITECTURES.values() for level in levels)
LINUX, MACOS, WINDOWS = "linux", "macos", "windows"
PLATFORMS = {  # each one's architectures; a name that says no platform means the first
    LINUX: ("x86-64", "aarch64"),
    MACOS: ("x86-64", "aarch64"),
    WINDOWS: ("x86-64",),
}
SUFFIXES = {LINUX: ".so", MACOS: ".dylib", WINDOWS: ".dll"}
TITLES = {LINUX: "Linux", MACOS: "macOS", WINDOWS: "Windows"}
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
OTHER_PLATFORMS = {
    LINUX: "manylinux musllinux musl glibc gnu",
    MACOS: "darwin mac osx apple",
    WINDOWS: "win32 win64 win nt mingw msvc",
}
_MACHINES = {"amd64": "x86-64", "x86_64": "x86-64", "arm64": "aarch64", "aarch64": "aarch64"}


def machine() -> str:
    """What the architecture of this process is called: as in ARCHITECTURES, or by its own name where it is none of
    them."""
    if hasattr(os, "uname"):
        name = os.uname().machine
    else:  # on Windows, where an x86-64 process may run on another processor
        from sysconfig import get_platform

        name = get_platform().rpartition("-")[2]
    return _MACHINES.get(name.lower(), name)


def system() -> str:
    """What this machine's platform is called: as in PLATFORMS, or by Python's name where it is none of them."""
    return {"darwin": MACOS, "win32": WINDOWS}.get(sys.platform, sys.platform)


def architecture(level: str) -> str:
    """Of one of LEVELS."""
    return next(name for name, levels in ARCHITECTURES.items() if level in levels)


def name(level: str, platform: str) -> str:
    """The target: `cpu:x86-64-v3@windows`."""
    return f"cpu:{level}" + f"@{platform}" * (platform != LINUX)


NAMES = (
    *(name(level, platform) for platform, own in PLATFORMS.items() for level in LEVELS if architecture(level) in own),
    "cpu:native",
)


def parts(target: str) -> tuple[str, str]:
    """The level and the platform that a target means, with checked bounds or without; of `cpu:native` this machine's
    platform."""
    level, _, platform = target.removeprefix("cpu:").removesuffix("+bounds").partition("@")
    return level, platform or (system() if level == "native" else LINUX)


def flags(level: str) -> tuple[str, ...]:
    """What a processor must have for code for one of LEVELS, besides what all of its architecture have."""
    levels = ARCHITECTURES[architecture(level)]
    return tuple(flag for name in levels[: levels.index(level) + 1] for flag in FLAGS.get(name, ()))


def platform_of(target: str) -> str:
    """As `parts`."""
    return parts(target)[1]


def meant(text: str) -> str:
    """The target for which this is another's word: "cpu:x86-64-v3" for "avx2" or "cpu:haswell". Empty: none."""
    level, at, platform = text.removeprefix("cpu:").lower().replace("-", "_").replace(".", "").partition("@")
    short = level.removeprefix("x86_64_").removeprefix("aarch64_")
    level = next((own for own, others in OTHER_NAMES.items() if short in others.split()), "") or next(
        (own for own in LEVELS if own.replace("-", "_").replace(".", "") == level), ""
    )
    found = name(level, _platform_meant(platform) if at else LINUX) if level else ""
    return found if found in NAMES and found != text else ""


def _platform_meant(word: str) -> str:
    return next((own for own, others in OTHER_PLATFORMS.items() if word in (own, *others.split())), "")
