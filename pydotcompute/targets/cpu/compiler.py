"""The typed tree of one specialisation → a shared object for each CPU target.

One pass of the front end (lowered Python → LLVM IR that names no processor) serves every target; then LLVM optimises
and makes an object for each, and the linker a shared object that exports `run`, `threads`, and what the entry point
exports. Same tree, same tools: the same bytes, in any process and folder.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import Callable, Iterator, Mapping, Sequence

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types

from ...artifact.cpu_levels import architecture, parts, platform_of
from ...errors import CompilationError, Position
from ..llvm.line_table import LineTable, nowhere
from ..llvm.numba_frontend import Refused, compile_written
from ..llvm.written import Written
from . import float16, fused, masks
from .fma import emulated, fma_ir
from .line_stores import PREFIX as STREAMING, streaming_ir
from .link import link
from .lowering import CpuSource
from .namespace import namespace
from .power_scaling import with_scalings
from .processors import export, has, lowest, parsed, target_machine, triple
from .rounding import by_conversion
from .run import run_ir
from .saturation import converted
from .short_forms import in_short_forms
from .slices import NAMES, slices_ir
from .taken_apart import as_for_avx2, for_avx512, is_for_avx2, taking_apart
from .undefined import undefined_symbols

# Besides them what LLVM makes of loops on macOS, and what reaches a large stack on Windows.
ALLOWED_SYMBOLS = frozenset((
    "malloc", "free", "memcpy", "memmove", "memset", "bzero", "__bzero", "memset_pattern16", "__chkstk",
))  # fmt: skip
# Options of LLVM. What one turn of a loop has loaded is handed to the next one, which would load it again: before loops
# are vectors, which are then put together from parts of two, and that takes longer than to load them.
_HANDS_ON = "--enable-load-in-loop-pre"
# What a loop chooses is jumped to where that is sooner, if the processor foretells the jump. Of most data it cannot.
_JUMPS = "--x86-cmov-converter"
# A jump that two lines of the cache share takes a cycle or two more on some processors. To move it costs what is put
# before it: worth it in code with jumps of its own, not in the one jump at the end of a reduction's loop.
_LINE = "--x86-align-branch-boundary"
# What says of a module that loops of it reduce, and that conditions in loops of it are the same in all turns.
_REDUCES, _STEADY = "pydotcompute.reduces", "pydotcompute.steady"
_WORDS = types.CPointer(types.int64)
_SIGNATURES = {
    "drive": types.int64(_WORDS, _WORDS, _WORDS),
    "body": types.int64(_WORDS, _WORDS, _WORDS, types.int64, types.int64, types.int64, types.int64),
}


def objects(
    name: str, text: str, targets: Sequence[str], entries: Mapping[str, str] = {}, linker: str = "",
    symbols: bool = False, tick: Callable[[str], None] = lambda phase: None,
) -> Iterator[tuple[str, bytes | CompilationError]]:  # fmt: skip
    """The shared object of each target (`cpu:x86-64-v3`, `cpu:native`, with `+bounds` or without), or why it has none.

    text: by `kernel_ir`. entries: the native entry point for each platform, by `entry_ir`. linker: the setting.
    symbols: keep them, and tables of lines. tick: is told what was done since the last time.
    """
    for target in targets:
        made: bytes | CompilationError
        try:
            code = emit_object(text, target, name)
            tick("LLVM")
            parts = [code, slices_object(target)]
            if entry := entries.get(platform_of(target)):
                parts.append(entry_object(entry, target, name))
            tick("entry point")
            made = link(f"{name} for {target}", triple(target), *parts, linker=linker, symbols=symbols)
            tick("link")
        except CompilationError as error:
            made = error
        yield target, made


def kernel_ir(source: CpuSource, source_file: str, positions: Sequence[Position | None] = ()) -> str:
    """LLVM IR of the lowered kernel and its `run`, the same for every target. positions: of the lines of the source,
    which are then in it."""

    def attributes(name: str, function: ir.Function) -> None:
        if name not in source.loops:
            function.attributes.add("alwaysinline")
            return
        function.attributes.add("noinline")
        for argument in function.args:
            if argument.name in source.unaliased:
                argument.add_attribute("noalias")

    table = LineTable.of(source_file, positions) if any(positions) else None
    results = source.functions | dict.fromkeys(_SIGNATURES, ("int64",))
    written = Written(
        source.text, source_file, ir.Module("written"), namespace(), results, attributes, source.fastmath, table
    )
    try:
        text = compile_written(written, _SIGNATURES, source.fastmath)
    except Refused as error:
        raise CompilationError(_explained(error, source, source_file)) from error
    whole = llvm.parse_assembly(text)
    run = run_ir(source.state_words, source.partial_words, source.words)
    for said, name in ((source.reduces, _REDUCES), (source.steady, _STEADY)):
        run += f"!{name} = !{{}}\n" if said else ""
    whole.link_in(llvm.parse_assembly(nowhere(run, positions) if table else run))
    return str(whole)


def _explained(error: Refused, source: CpuSource, source_file: str) -> str:
    """A message with the place in the user's file, as far as the compiler tells a line of the generated text."""
    ours = error.file in ("", source_file) and 0 < error.line <= len(source.positions)
    at = source.positions[error.line - 1] if ours else None
    if at is None:
        return f"{source.kernel}: Numba refused the lowered kernel\n{error}"
    written = source.text.splitlines()[error.line - 1].strip()
    place = f"{at.path}:{at.line}:{at.column}"
    return f"{place}: Numba refused `{at.text.strip()}`, lowered to `{written}`\n{error}"


# ------------------------------------------------------------------------------------------------ machine code


def emit_object(text: str, target: str, what: str) -> bytes:
    """The relocatable object of a kernel: only `run` is visible, and to `slices_object` `body`."""
    module, machine = optimised(text, target, what)
    with emitting(target, lines=not _says(_REDUCES, text)):
        code: bytes = machine.emit_object(module)
    missing = [name for name in undefined_symbols(code) if name not in ALLOWED_SYMBOLS | NAMES]
    if missing:
        raise CompilationError(f"{what} for {target}: the code needs {', '.join(missing)}, which no artifact may")
    return code


def optimised(text: str, target: str, what: str) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """The module of `kernel_ir` after LLVM's passes for a target, and what emits its code."""
    try:
        machine = target_machine(target)
        module = _decided(text, machine, target)[1]
        return _with_short_forms(module, machine, target), machine
    except RuntimeError as error:
        raise CompilationError(f"{what} for {target}: LLVM refused the code\n{error}") from error


def decided(text: str, target: str) -> str:
    """The IR as it goes through the passes in the end, which then are gone through once."""
    return _decided(text, target_machine(target), target)[0] if has("avx512vl", target) else text


def _decided(text: str, machine: llvm.TargetMachine, target: str) -> tuple[str, llvm.ModuleRef]:
    """The text, and what the passes make of it."""
    module = _passed(text, machine, target)
    if has("avx512vl", target) and not is_for_avx2(text) and (names := taking_apart(str(module))):
        text = as_for_avx2(text, names)
        module = _passed(text, machine, target)
    return text, llvm.parse_assembly(for_avx512(str(module))) if is_for_avx2(text) else module


def _passed(text: str, machine: llvm.TargetMachine, target: str) -> llvm.ModuleRef:
    level = 3 if _says(_REDUCES, text) or _says(_STEADY, text) else 2
    try:
        return _optimised(_whole(text, target), machine, target, level)
    except RuntimeError:  # what makes vectors of straight code may use one before it is made, in LLVM 22
        return _optimised(_whole(text, target), machine, target, level, straight=False)


def _says(what: str, text: str) -> bool:
    return f"!{what} =" in text


def _whole(text: str, target: str) -> llvm.ModuleRef:
    """The module of `kernel_ir` with all that it calls."""
    if "@llvm.fma." in text and not has("fma", target):
        module = parsed(emulated(text), target)
        module.link_in(parsed(fma_ir(), target))
    else:
        module = parsed(text, target)
    if f"@{float16.PREFIX}" in text:
        module.link_in(parsed(float16.float16_ir(has("f16c", target)), target))
    if fused.PREFIX in text:
        module.link_in(parsed(fused.fused_ir(text, has("fma", target)), target))
    if STREAMING in text:
        module.link_in(parsed(streaming_ir(triple(target).startswith("x86_64")), target))
    if f"@{masks.PREFIX}" in text:
        module.link_in(parsed(masks.masks_ir(has("avx2", target)), target))
    for item in (*module.functions, *module.global_variables):
        if item.is_declaration or item.name == "run" or item.name.startswith("llvm."):
            continue
        if item.name == "body":
            item.visibility = "hidden"
        else:
            item.linkage = "internal"
    return module


def entry_object(entry_ir: str, target: str, what: str) -> bytes:
    """The relocatable object of an entry point. It only looks at arguments: one for the lowest level of a target's
    architecture serves all."""
    try:
        return _common_object(entry_ir, lowest(target))
    except RuntimeError as error:
        raise CompilationError(f"{what}: LLVM refused the entry point\n{error}") from error


def slices_object(target: str) -> bytes:
    """The relocatable object of what every kernel of a target's architecture shares; `threads` is visible."""
    own = lowest(target)
    return _common_object(slices_ir(platform_of(own), architecture(parts(own)[0])), own)


@lru_cache(256)
def _common_object(text: str, target: str) -> bytes:
    """Many kernels have one signature, and one text. Three passes take a third of the time of the whole pipeline, and
    a call is as fast."""
    machine = target_machine(target)
    module = parsed(text, target)
    _prepare(module, machine, target)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1)))
    return machine.emit_object(module)


def _prepare(module: llvm.ModuleRef, machine: llvm.TargetMachine, target: str) -> None:
    module.triple, module.data_layout = triple(target), str(machine.target_data)
    export(module, target)
    module.verify()


def _optimised(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, target: str, level: int, straight: bool = True
) -> llvm.ModuleRef:
    """level: of LLVM, 3 to take out of loops over rows what their length decides (short rows take up to half the time
    then), and other conditions that are the same in all turns. Where nothing of the kind is to be had 3 only takes more
    time, of attention twice as much. straight: make vectors of straight code too.

    RuntimeError: what LLVM made is no module.
    """
    _prepare(module, machine, target)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization, options.slp_vectorization = True, straight
    builder = llvm.create_pass_builder(machine, options)
    with _set(_HANDS_ON, "false", "true"):
        builder.getModulePassManager().run(module, builder)
    module.verify()
    return module


def _with_short_forms(module: llvm.ModuleRef, machine: llvm.TargetMachine, target: str) -> llvm.ModuleRef:
    """After the passes, which know what it is written in."""
    if not triple(target).startswith("x86_64"):
        return module
    text = str(module)
    rounds, masks = has("sse4.1", target), has("avx512vl", target)
    changed = in_short_forms(text if rounds else by_conversion(text), masks, blends=rounds)
    changed = converted(changed, to_64_bits=masks)
    if masks:
        changed = with_scalings(changed)
    if changed == text:
        return module
    module = llvm.parse_assembly(changed)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    module.verify()
    return module


@contextmanager
def emitting(target: str, lines: bool = False) -> Iterator[None]:
    """What the code of a module of `optimised` is emitted in. lines: no jump lies across two lines of the cache."""
    if not triple(target).startswith("x86_64"):
        yield
        return
    llvm.set_option("", "--x86-align-branch=fused+jcc+jmp")
    with _set(_JUMPS, "false", "true"), _set(_LINE, "64" if lines else "0", "0"):
        yield


@contextmanager
def _set(option: str, value: str, usual: str) -> Iterator[None]:
    llvm.set_option("", f"{option}={value}")
    try:
        yield
    finally:
        llvm.set_option("", f"{option}={usual}")  # Numba compiles in this process too
