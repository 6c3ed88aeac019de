"""What LLVM is told of each CPU target's processor and platform."""

from __future__ import annotations

import re
from functools import cache

import llvmlite.binding as llvm

from ...artifact.cpu_levels import (
    ARCHITECTURES,
    LINUX,
    MACOS,
    NAMES,
    WINDOWS,
    architecture,
    machine,
    name,
    parts,
    platform_of,
)
from ...errors import CompilationError

_TRIPLES = {  # macOS with the oldest version that code is made for
    LINUX: {"x86-64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"},
    MACOS: {"x86-64": "x86_64-apple-macosx10.13.0", "aarch64": "arm64-apple-macosx11.0.0"},
    WINDOWS: {"x86-64": "x86_64-pc-windows-gnu"},
}
# What the ABI of a platform asks of every function: that it can be unwound; on Windows that a large stack is reached
# page by page, by a function of the system's; on Apple's that the frame pointer leads to the caller's.
_ATTRIBUTES = {MACOS: 'uwtable "frame-pointer"="non-leaf"', WINDOWS: 'uwtable "probe-stack"="__chkstk"'}
_HEAD = re.compile(r"^(define .*\)(?: (?:local_)?unnamed_addr)?(?: #\d+)?)", re.M)
_PROCESSORS = {"aarch64": "generic", "aarch64-v8.2": "generic"}  # LLVM's, where it does not know the level's own name
_LEVELS = ARCHITECTURES["x86-64"]
# Features → the first of these levels that has it.
_FIRST = {
    "sse4.1": "x86-64-v2", "avx2": "x86-64-v3", "fma": "x86-64-v3", "f16c": "x86-64-v3", "avx512vl": "x86-64-v4",
}  # fmt: skip
_FEATURES = {
    "x86-64-v4": "-prefer-256-bit,+prefer-no-gather,+prefer-no-scatter",
    "aarch64-v8.2": "+v8.2a,+fullfp16,+dotprod",
}


def level_of(target: str) -> str:
    """`x86-64-v3` of `cpu:x86-64-v3@windows+bounds`; `native`. Raises CompilationError for another name."""
    if target.removesuffix("+bounds") not in NAMES:
        raise CompilationError(f"no CPU target {target!r}: there are {', '.join(NAMES)}")
    return parts(target)[0]


def triple(target: str) -> str:
    """Raises CompilationError."""
    level, platform = level_of(target), platform_of(target)
    own = machine() if level == "native" else architecture(level)
    if own not in _TRIPLES.get(platform, {}):
        raise CompilationError(f"no machine code can be made for this machine, which is {own} with {platform}")
    return _TRIPLES[platform][own]


def parsed(text: str, target: str) -> llvm.ModuleRef:
    """The module of a text, with what the platform of a target asks of its functions."""
    if attributes := _ATTRIBUTES.get(platform_of(target)):
        text = _HEAD.sub(rf"\1 {attributes}", text)
    return llvm.parse_assembly(text)


def export(module: llvm.ModuleRef, target: str) -> None:
    """Let what is visible of a module be found by its name; on Windows that has to be said."""
    if platform_of(target) == WINDOWS:
        for item in (*module.functions, *module.global_variables):
            if not item.is_declaration and item.linkage.name == "external" and item.visibility.name == "default":
                item.storage_class = "dllexport"


def target_machine(target: str) -> llvm.TargetMachine:
    """What makes code for a target. Raises CompilationError."""
    level = level_of(target)
    features = _FEATURES.get(level, "")
    if level == "native":
        level, has = host_cpu()
        whole = ("-prefer-256-bit",) if "avx512vl" in has else ()  # as for x86-64-v4, whose tiles it has
        features = ",".join((*(f"+{name}" for name in has), *whole))
    _initialize()
    return llvm.Target.from_triple(triple(target)).create_target_machine(
        cpu=_PROCESSORS.get(level, level), features=features, opt=3, reloc="pic", codemodel="small"
    )


def lowest(target: str) -> str:
    """The target of the lowest level of the same architecture and platform."""
    level, platform = parts(target)
    own = machine() if level == "native" else architecture(level)
    return name(ARCHITECTURES[own][0], platform)


def has(feature: str, target: str) -> bool:
    """Whether a target's processors have instructions for a * b + c with one rounding ("fma"), for conversions from and
    to float16 ("f16c"), for bits of three registers ("avx512vl"), for choices between registers of floats ("sse4.1"),
    for loads and stores of words under a mask ("avx2").
    Every one of AArch64 has the first two."""
    level = level_of(target)
    if (machine() if level == "native" else architecture(level)) == "aarch64":
        return feature in ("fma", "f16c")
    if level == "native":
        return feature in host_cpu()[1]
    return level in _LEVELS[_LEVELS.index(_FIRST[feature]) :]


def host_cpu() -> tuple[str, tuple[str, ...]]:
    """Name and features of this machine's processor, for `cpu:native`."""
    features = llvm.get_host_cpu_features()
    return llvm.get_host_cpu_name(), tuple(sorted(name for name, on in features.items() if on))


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
