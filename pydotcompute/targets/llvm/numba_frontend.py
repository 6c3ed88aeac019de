"""Numba as a front end: plain Python functions → the text of one LLVM module that names no processor.

Nothing is optimised and no machine code is made here, so the text is the same on every machine and in every process.
Functions called by a compiled function are compiled in the same way, whatever decorator they carry: a Numba
dispatcher among the globals becomes a subroutine, never a call of code compiled for this machine.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from types import FunctionType
from typing import Callable, Collection, Iterator, NamedTuple, Sequence

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import (
    cgutils,
    codegen,
    compiler,
    errors,
    typed_passes,
    untyped_passes,
)
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import FastMathOptions
from numba.core.dispatcher import Dispatcher
from numba.core.funcdesc import FunctionDescriptor
from numba.core.target_extension import target_override
from numba.core.targetconfig import ConfigStack

from . import lanes
from .independence import ACCESS
from .intrinsic import intrinsic
from .line_table import hidden, shown
from .numba_target import NAME, TARGET
from .written import Written


class _Library(codegen.AOTCodeLibrary):
    """Keeps the modules as Numba wrote them, instead of optimising and linking each."""

    def add_ir_module(self, ir_module):
        self._codegen.modules.append(ir_module)

    def add_linking_library(self, library):
        pass  # every library shares the codegen's list

    def finalize(self):
        self._finalized = True


class _Codegen(codegen.AOTCPUCodegen):
    _library_class = _Library

    def __init__(self):
        self.modules: list[ir.Module] = []
        super().__init__("kernel", cpu_name="generic")


def _flags(fastmath: Sequence[str], inline: bool) -> compiler.Flags:
    flags = compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    flags.forceinline = inline
    if fastmath:
        flags.fastmath = FastMathOptions(set(fastmath))
    return flags


# ------------------------------------------------------------------------------------------------ subroutines


class Refused(Exception):
    """Numba does not take a function: what it said, and in which file and line (0: it did not say)."""

    def __init__(self, error: errors.NumbaError):
        super().__init__(str(error).strip() or type(error).__name__)
        told = re.findall(r'(?:", line |\()(\d+)(?::|\))\s*$', str(error), re.M)
        place = getattr(error, "loc", None)
        self.file = place.filename if place else ""
        self.line = place.line if place else int(told[-1]) if told else 0


class _Compiled(NamedTuple):
    descriptor: FunctionDescriptor
    modules: tuple[ir.Module, ...]  # of the function and of everything it calls


_LIBRARY: dict[tuple, _Compiled] = {}  # functions that are the same for every kernel, compiled once a process


def subroutine(
    function: Callable,
    result: types.Type | None = None,
    *,
    fastmath: Sequence[str] = (),
    inline: bool = True,
    attributes: Callable[[ir.Function], None] | None = None,
) -> Callable:
    """An intrinsic that calls `function`, compiled by the same front end for the types it is called with.

    result: its type; inferred where it is None. inline: always. attributes: called with the LLVM function, to add to
    it.
    """
    function = _self_contained(function)
    flags = _flags(fastmath, inline)

    def typed(typing_context, *operands):
        operands = tuple(t if isinstance(t, types.CPointer) else types.unliteral(t) for t in operands)
        signature = (result or _result_type(function, operands))(*operands)

        def emit(context, b, signature, values):
            store = context.codegen()
            compiled = _LIBRARY.get((function, signature))
            if compiled is None:
                compiled = _LIBRARY[function, signature] = _compile(context, function, signature, flags, attributes)
            store.modules += [m for m in compiled.modules if m not in store.modules]
            _, value = context.call_internal_no_propagate(b, compiled.descriptor, signature, values)  # none raises
            return value

        return signature, emit

    names = ", ".join(f"a{k}" for k in range(function.__code__.co_argcount))
    return intrinsic(eval(f"lambda typing_context, {names}: typed(typing_context, {names})", {"typed": typed}))


class Unflagged(ir.instructions.FastMathFlags):
    """Of a call that takes no flags: a kernel's are not those of the functions that it calls."""

    def add(self, name):
        pass


def linked(context, module: ir.Module) -> None:
    """Have a module linked to what is being compiled."""
    store = context.codegen()
    if module not in store.modules:
        store.modules.append(module)


def call_linked(context, b: ir.IRBuilder, function: ir.Function, values: Sequence[ir.Value]) -> ir.Value:
    """A call of a function of another module, which is linked to what calls it."""
    linked(context, function.module)
    declared = b.module.globals.get(function.name) or ir.Function(b.module, function.ftype, function.name)
    made = b.call(declared, values)
    made.fastmath = Unflagged()
    return made


class _Pipeline(compiler.CompilerBase):
    """Numba's passes without those that generated code has no use for: half of them, and a third of the time."""

    _PASSES = (
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        untyped_passes.ReconstructSSA,
        typed_passes.NopythonTypeInference,
        typed_passes.PreLowerStripPhis,
        typed_passes.IRLegalization,
        typed_passes.NativeLowering,
        typed_passes.NoPythonBackend,
    )

    def define_pipelines(self) -> list[PassManager]:
        manager = PassManager("kernel")
        for step in self._PASSES:
            manager.add_pass(step, step.__name__)
        manager.finalize()
        return [manager]


def _run(context, library, function, signature, flags) -> compiler.CompileResult:
    # A callee without flags would else take its caller's. What rounds by a magic constant or adds without loss bears
    # none, and what is compiled once a process must not depend on who asks first.
    context = context.subtarget(fastmath=flags.fastmath, enable_debuginfo=False, DIBuilder=None)
    types_, result = signature.args, signature.return_type
    return _Pipeline(context.typing_context, context, library, types_, result, flags, {}).compile_extra(function)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except errors.NumbaError as error:  # the innermost one knows the line; Numba lets other exceptions pass
        raise Refused(error) from error


def _compile(context, function, signature, flags, attributes) -> _Compiled:
    store = context.codegen()
    before, store.modules = store.modules, []
    library = store.create_library(function.__name__)
    with global_compiler_lock, _refusals():
        done = _run(context, library, function, signature, flags)
    made, store.modules = store.modules, before
    if attributes:
        attributes(made[-1].globals[done.fndesc.llvm_func_name])
    return _Compiled(done.fndesc, tuple(made))


@cache
def _of_dispatcher(dispatcher: Dispatcher) -> Callable:
    return subroutine(dispatcher.py_func)


def _self_contained(function: Callable) -> Callable:
    """The function with every Numba dispatcher among its globals and closure replaced by a subroutine."""
    function = getattr(function, "py_func", function)

    def replaced(value):
        return _of_dispatcher(value) if isinstance(value, Dispatcher) else value

    names = set(function.__code__.co_names)
    found = {name: replaced(value) for name, value in function.__globals__.items() if name in names}
    cells = tuple(type(c)(replaced(c.cell_contents)) for c in function.__closure__ or ())
    return FunctionType(
        function.__code__,
        {"__name__": "kernel", "__builtins__": __builtins__, **found},
        function.__name__,
        function.__defaults__,
        cells,
    )


def _result_type(function: Callable, operands: tuple) -> types.Type:
    interpreted = compiler.run_frontend(function)
    _, result, _, _ = typed_passes.type_inference_stage(
        TARGET.typing_context, TARGET.target_context, interpreted, operands, None
    )
    return types.unliteral(result)


# --------------------------------------------------------------------------------------------------- modules


def compile_written(written: Written, functions: dict[str, types.Signature], fastmath: Sequence[str]) -> str:
    """LLVM IR of a module that defines these of the written functions under their names, `i32 NAME(result *, ptr,
    arguments…)`, and everything that they call as internal functions. Raises Refused."""
    flags = _flags(fastmath, False)
    with global_compiler_lock, _refusals(), ConfigStack().enter(flags), target_override(NAME):
        TARGET.target_context.refresh()  # before the derived one: Numba sets itself up once, for the first that asks
        store = _Codegen()
        context = TARGET.target_context.subtarget(
            _internal_codegen=store, aot_mode=True, fastmath=flags.fastmath,
            enable_debuginfo=bool(written.lines), DIBuilder=written.lines,
        )  # fmt: skip
        called = {name: written.define(context, name, signature.args) for name, signature in functions.items()}
        for name, signature in functions.items():
            type_ = context.call_conv.get_function_type(signature.return_type, signature.args)
            function = ir.Function(written.module, type_, name)
            b = ir.IRBuilder(function.append_basic_block("entry"))
            with written.located(context, function, b, name):
                result, _, *arguments = function.args
                b.store(b.call(called[name], arguments), result)
                b.ret(ir.Constant(type_.return_type, 0))
    return _linked([*store.modules, written.module], functions)


def _linked(modules: Sequence[ir.Module], exported: Collection[str]) -> str:
    """The text of all modules as one, its symbols numbered in order of appearance: Numba's contain counters."""
    def parsed(module: ir.Module) -> llvm.ModuleRef:
        return llvm.parse_assembly(hidden(cgutils.normalize_ir_text(str(module))))

    linked = parsed(modules[0])
    for module in modules[1:]:
        linked.link_in(parsed(module))
    for item in [*linked.functions, *linked.global_variables]:
        if not item.is_declaration and item.name not in exported and not item.name.startswith("llvm."):
            item.linkage = "internal"
    linked.name = "kernel"
    text = str(linked)
    defined = [f.name for f in linked.functions if not f.is_declaration] + [g.name for g in linked.global_variables]
    numbers = {
        symbol: symbol if symbol in exported else f"local.{k}"
        for k, symbol in enumerate(defined)
        if not symbol.startswith(("llvm.", lanes.PREFIX))  # attributes and LLVM itself know these by name
    }

    def renamed(match):
        symbol = match[1] or match[2]
        return f"@{numbers[symbol]}" if symbol in numbers else match[0]

    text = re.sub(r'@(?:"([^"]+)"|([\w.$-]+))', renamed, text)
    text = re.sub(rf'^(!\d+ = )!{{!"{ACCESS}"}}$', r"\1distinct !{}", text, flags=re.M)
    return shown(re.sub(rf"^!{ACCESS} = .*\n", "", text, flags=re.M))
