"""What LLVM is told of each CPU target's processor."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from ...artifact.cpu_levels import LEVELS, architecture, machine
from ...errors import CompilationError

_TRIPLES = {"x86-64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
_PROCESSORS = {"aarch64": "generic", "aarch64-v8.2": "generic"}  # LLVM's, where it does not know the level's own name
_FEATURES = {
    "x86-64-v4": "-prefer-256-bit,+prefer-no-gather,+prefer-no-scatter",
    "aarch64-v8.2": "+v8.2a,+fullfp16,+dotprod",
}


def level_of(target: str) -> str:
    """`x86-64-v3` of `cpu:x86-64-v3+bounds`; `native`. Raises CompilationError for another name."""
    level = target.removeprefix("cpu:").removesuffix("+bounds")
    if level != "native" and level not in LEVELS:
        known = ", ".join(f"cpu:{name}" for name in LEVELS)
        raise CompilationError(f"no CPU target {target!r}: there are {known} and cpu:native")
    return level


def triple(target: str) -> str:
    """Raises CompilationError."""
    level = level_of(target)
    own = machine() if level == "native" else architecture(level)
    if own not in _TRIPLES:
        raise CompilationError(f"no machine code can be made for this machine, which is {own}")
    return _TRIPLES[own]


def target_machine(target: str) -> llvm.TargetMachine:
    """What makes code for a target. Raises CompilationError."""
    level = level_of(target)
    features = _FEATURES.get(level, "")
    if level == "native":
        level, has = host_cpu()
        features = ",".join(f"+{name}" for name in has)
    _initialize()
    return llvm.Target.from_triple(triple(target)).create_target_machine(
        cpu=_PROCESSORS.get(level, level), features=features, opt=3, reloc="pic", codemodel="small"
    )


def lowest(target: str) -> str:
    """The target of the lowest level of the same architecture."""
    own = triple(target)
    return next(name for name in (f"cpu:{level}" for level in LEVELS) if triple(name) == own)


def has(feature: str, target: str) -> bool:
    """Whether a target's processors have instructions for a * b + c with one rounding ("fma"), and for conversions
    from and to float16 ("f16c"). Every one of AArch64 has both."""
    if triple(target) == _TRIPLES["aarch64"]:
        return True
    level = level_of(target)
    return feature in host_cpu()[1] if level == "native" else level in ("x86-64-v3", "x86-64-v4")


def host_cpu() -> tuple[str, tuple[str, ...]]:
    """Name and features of this machine's processor, for `cpu:native`."""
    features = llvm.get_host_cpu_features()
    return llvm.get_host_cpu_name(), tuple(sorted(name for name, on in features.items() if on))


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
