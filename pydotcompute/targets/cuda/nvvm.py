"""numba-cuda and NVVM: the Python of a module of kernels → LLVM → canonical PTX. No GPU and no driver are asked."""

from __future__ import annotations

import re
import types as python_types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...artifact.signature import DTYPES
from ...errors import CompilationError
from . import toolchain as cuda_toolchain
from .entry_point import EntryPoint

if TYPE_CHECKING:
    from .dialect import Capability


def module_ir(
    text: str, filename: str, entries: Sequence[EntryPoint], functions: Mapping[str, Sequence[str]],
    capability: Capability, lines: bool = False,
) -> list[str]:  # fmt: skip
    """LLVM modules of a lowered text, with exactly these entry names, for the first capability of a generation.

    `filename` is what messages call the text, `functions` those besides the entries, with the dtypes of what they give.
    lines: with the lines of the text in it. Raises CompilationError.
    """
    cuda_toolchain.require()
    from ..llvm.written import Written
    from .front_end import new_module, write_kernels
    from .namespace import namespace

    results = {**functions, **{e.function: () for e in entries}}

    def attributes(name: str, function: Any) -> None:
        function.linkage = "linkonce_odr"
        if name not in functions:
            function.attributes.add("alwaysinline")

    table = _lines if lines else None
    written = Written(text, filename, new_module("written"), namespace(capability), results, attributes, lines=table)
    with _refusals(entries[0].name):
        write_kernels(written, [(e, [argument_type(t) for t in e.types]) for e in entries], capability)
    return [str(written.module)]


def _lines(*given: Any) -> Any:
    """What tells NVVM the lines of a function; given: as Numba gives it."""
    from numba.cuda.debuginfo import CUDADIBuilder

    return CUDADIBuilder(*given)


def compile_raw(text: str, filename: str, entry: EntryPoint, arch: str, lines: bool = False) -> str:
    """PTX of a raw kernel: a module of numba.cuda's own Python. What it calls that only nvJitLink can bring in, such as
    arithmetic in float16, is linked where that is installed, without `lines`. Raises CompilationError."""
    cuda_toolchain.require()
    import math

    import numpy
    from numba import cuda
    from numba.cuda import types

    namespace: dict = {"__name__": "pydotcompute_cuda_module", "__file__": filename, "cuda": cuda, "math": math}
    namespace |= {"np": numpy, "numpy": numpy}
    namespace |= {name: getattr(types, name) for name in DTYPES if hasattr(types, name) and name != "bool"}
    try:
        exec(compile(text, filename, "exec"), namespace)
    except Exception as error:  # the user's own statements outside of functions
        raise CompilationError(f"{entry.name}: {type(error).__name__}: {error}") from error
    for name, value in list(namespace.items()):
        if (
            isinstance(value, python_types.FunctionType)
            and value.__code__.co_filename == filename
            and name != entry.name
        ):
            namespace[name] = cuda.jit(device=True, lineinfo=lines)(value)
    try:
        modules = functions_ir([(namespace[entry.name], entry)], capability_of(arch), lines)
        return to_ptx(modules, arch, fused=True, lines=lines)
    except Unlinked as error:
        return _linked(namespace[entry.name], entry, arch, error)


class Unlinked(CompilationError):
    """The code calls functions that NVVM does not bring along: arithmetic in float16 and bfloat16."""


def _linked(function: Callable, entry: EntryPoint, arch: str, unlinked: Unlinked) -> str:
    """PTX of a function through nvJitLink. Raises `unlinked` where that is not installed."""
    from numba import types
    from numba.core.errors import NumbaError
    from numba.cuda.compiler import _compile_pyfunc_with_fixup
    from numba.cuda.cudadrv import driver

    from .device import Callees

    capability = capability_of(arch)
    if not cuda_toolchain.has_linker() or not driver._have_nvjitlink():
        raise unlinked
    arguments = [argument_type(t) for t in entry.types]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library, _ = _compile_pyfunc_with_fixup(
                Callees(capability).bound(function), types.void(*arguments), debug=False, lineinfo=False, device=False,
                opt=True, cc=capability,
                abi="numba", abi_info={"abi_name": entry.name}, launch_bounds=entry.block or None, lto=True,
            )  # fmt: skip
            library._lto = True
            ptx = library.get_lto_ptx(cc=capability)
    except NumbaError as error:
        raise CompilationError(f"numba-cuda refused `{entry.name}`: {str(error).strip()}") from error
    except Exception as error:  # nvJitLink's and NVRTC's own
        raise CompilationError(f"nvJitLink refused the code for compute_{arch}: {_first_line(error)}") from error
    return canonical(ptx, arch)


def functions_ir(
    functions: Sequence[tuple[Callable, EntryPoint]], capability: Capability, lines: bool = False
) -> list[str]:
    """LLVM modules of Python functions, an entry each, and of what they call. Raises CompilationError."""
    cuda_toolchain.require()
    from .device import Callees

    callees = Callees(capability)
    modules: list[str] = []
    for function, entry in functions:
        texts = _front_end(callees.bound(function), entry, capability, lines)
        modules += [text for text in texts if text not in modules]
    return modules


def to_ptx(modules: Sequence[str], arch: str, fused: bool = False, lines: bool = False) -> str:
    """NVVM's half; `fused` lets it make one rounding of a product and a sum, `lines` has it write line tables.

    Canonical: no banner, no environment of numba's, no path; the same bytes in every process and folder.
    Raises CompilationError.
    """
    from numba.cuda.cudadrv import nvvm

    try:
        # fma=0: every rounding of a lowered kernel stands in its source, so that each GPU gives the same bits.
        options = {"generate-line-info": None} if lines else {}
        ptx = nvvm.compile_ir(list(modules), arch=f"compute_{arch}", opt=3, fma=int(fused), **options).decode()
    except Exception as error:
        raise CompilationError(f"NVVM refused the code for compute_{arch}: {_first_line(error)}") from error
    return canonical(ptx, arch)


def capability_of(arch: str) -> tuple[int, int]:
    """ "90a" → (9, 0)."""
    number = arch.rstrip("af")
    return int(number[:-1]), int(number[-1])


def canonical(ptx: str, arch: str) -> str:
    """PTX without what differs between processes. Raises CompilationError if it was made for another architecture
    or calls a function that it does not hold."""
    target = re.search(r"^\.target (\w+)", ptx, re.M)
    if target is None or target[1] != f"sm_{arch}":
        raise CompilationError(f"the toolchain made code for {target and target[1]} where sm_{arch} was asked for")
    ptx = ptx.replace("\0", "")
    ptx = re.sub(r"^\.common \.global [^;]*NumbaEnv[^;]*;\n", "", ptx, flags=re.M)
    ptx = re.sub(r"\A(\s*//[^\n]*\n)+\s*", "", ptx)
    if unlinked := re.findall(r"^\.extern\s+\.func.*?(\w+)\s*$", ptx, re.M):
        raise Unlinked(
            f"the code calls {', '.join(sorted(set(unlinked)))}, which this toolchain cannot link (arithmetic in "
            "float16 within a raw kernel: convert to float32 first, or install nvidia-nvjitlink-cu12)"
        )
    return "\n".join(line.rstrip() for line in ptx.strip().splitlines()) + "\n"


def argument_type(text: str):
    """The numba type of "float32", "float32*" or "float32[:, ::1]"."""
    from numba import types

    scalar = re.match(r"\w+", text)
    if scalar is None or not hasattr(types, scalar[0]):
        raise CompilationError(f"`{text}` is not a type of an argument")
    base = types.boolean if scalar[0] == "bool" else getattr(types, scalar[0])
    rest = text[scalar.end() :].replace(" ", "")
    if rest == "*":
        return types.CPointer(base)
    if rest:
        dims = rest[1:-1].split(",")
        contiguous = dims[-1] == "::1" and all(d in (":", "::1") for d in dims)
        return types.Array(base, len(dims), "C" if contiguous else "A")
    return base


def _front_end(function: Callable, entry: EntryPoint, capability: Capability, lines: bool) -> list[str]:
    """numba-cuda's half: Python → the LLVM modules of a kernel and of the helpers that it calls."""
    from numba import types
    from numba.cuda.compiler import _compile_pyfunc_with_fixup

    arguments = [argument_type(t) if isinstance(t, str) else t for t in entry.types]
    with warnings.catch_warnings(), _refusals(entry.name):
        warnings.simplefilter("ignore")  # performance hints of numba's about code that is ours
        library, _ = _compile_pyfunc_with_fixup(
            function, types.void(*arguments), debug=False, lineinfo=lines, device=False, opt=True,
            cc=capability, abi="numba", abi_info={"abi_name": entry.name}, launch_bounds=entry.block or None,
        )  # fmt: skip
    kernel = library.get_function(entry.name)
    for argument, free in zip(kernel.args, entry.noalias):
        if free:
            argument.add_attribute("noalias")
    return [str(module) for module in library.modules]


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    from numba.core.errors import NumbaError

    try:
        yield
    except NumbaError as error:
        raise CompilationError(f"numba-cuda refused `{name}`: {str(error).strip()}") from error


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
