"""Plain numba.cuda functions, compiled on demand: what `CUDABackend.compile_kernel` gives and `launch_kernel` takes."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from ...calls.scalars import convert, is_scalar, type_name
from ..build_half import build_half
from ..launch import array_words

Launcher = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]
_made: dict[tuple[int, Any], CUDAFunction] = {}


class CUDAFunction:
    """A function compiled for the arguments of one signature, on one device."""

    def __init__(self, code: bytes, device: int):
        header, self.code = unpacked(code)
        self.name: str = header["entry"]
        self.arguments: list[dict[str, Any]] = header["arguments"]
        self.suffix: str = header["suffix"]
        self.device = device
        self._function: Any = None

    def __repr__(self) -> str:
        return f"<CUDA kernel {self.name} for device {self.device}>"

    def __call__(self, *args: Any) -> None:
        raise TypeError(
            f"{self.name} is a CUDA kernel: launch it by backend.launch_kernel({self.name}, grid, block, …)"
        )

    def launch(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]) -> None:
        """Launch on the current stream; its device is the current one. Raises TypeError and ValueError for arguments
        that do not fit the signature."""
        from . import arrays as cuda_arrays

        own = [cuda_arrays.adopt(value) if cuda_arrays.owns(value) else value for value in args]
        words = marshalled(self.name, self.arguments, own, cuda_arrays, f"CUDA device {self.device}")
        if self._function is None:
            from cupy.cuda import function

            module = function.Module()
            module.load(self.code if self.suffix == ".cubin" else self.code + b"\0")
            self._function = module.get_function(self.name)
        self._function(grid, block, tuple(words))
        if adopted := [(value, array) for value, array in zip(args, own) if value is not array]:
            cuda_arrays.hand_back(*zip(*adopted))


def unpacked(code: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the machine code of what jit/cuda.py makes."""
    length, _, rest = code.partition(b":")
    size = int(length)
    return json.loads(rest[:size]), rest[size:]


def marshalled(
    name: str, arguments: Sequence[Mapping[str, Any]], args: Sequence[Any], arrays: Any, place: str
) -> list[Any]:
    """The words of a launch: NumPy scalars, and ints of 64 bits for everything about arrays.

    `arrays` looks at them (calls/arrays.py); all must lie on `place`. Raises TypeError, ValueError, OverflowError.
    """
    if len(args) != len(arguments):
        takes = "1 argument" if len(arguments) == 1 else f"{len(arguments)} arguments"
        raise TypeError(f"{name} was compiled for {takes}, got {len(args)}")
    words: list[Any] = []
    for k, (spec, value) in enumerate(zip(arguments, args)):
        who = f"{name}: argument {k}"
        if spec["ndim"] is None:
            number = convert(value, spec["dtype"], who)
            words += [number.real, number.imag] if number.dtype.kind == "c" else [number]
            continue
        if not arrays.owns(value):
            raise TypeError(f"{who} must be {arrays.noun}, got {type_name(value)}")
        array = arrays.plain(value)
        wanted = f"{spec['dtype']}, {spec['ndim']} dimension{'s' * (spec['ndim'] != 1)}"
        if array.dtype.name != spec["dtype"]:
            raise TypeError(f"{who} must be {wanted}; got {array.dtype.name}")
        if array.ndim != spec["ndim"]:
            raise ValueError(f"{who} must be {wanted}; got shape {tuple(array.shape)}")
        contiguous = {"C": "c_contiguous", "F": "f_contiguous"}.get(spec["layout"])
        if contiguous and not getattr(array.flags, contiguous):
            raise ValueError(f"{who} must be {spec['layout']}-contiguous; got strides {tuple(array.strides)}")
        if arrays.place(array) != place:
            raise ValueError(f"{who} is on {arrays.place(array)}, but {name} is for {place}")
        words += array_words(array, spec["ndim"], arrays.address)
    return words


def compile_function(
    func: Callable, signature: tuple[Any, ...], device: int, capability: tuple[int, int], caching: bool
) -> CUDAFunction:
    """See CUDABackend.compile_kernel."""
    with build_half("compiling a function for CUDA") as module:
        plain = module("jit.cuda")
        wanted = plain.request(func, signature, capability)
        if not caching:
            return CUDAFunction(plain.obtain(wanted, capability, None), device)
        key = (device, wanted.key or (wanted.function, wanted.types))
        if key not in _made:
            _made.setdefault(key, CUDAFunction(plain.obtain(wanted, capability, plain.disk()), device))
        return _made[key]


def launchable(backend: Any, kernel: Any, args: tuple[Any, ...]) -> Launcher:
    """What launches `kernel` on a grid and block. Raises TypeError for what is no kernel of CUDA's."""
    if isinstance(kernel, CUDAFunction):
        if kernel.device != backend.device_id:
            raise ValueError(f"{kernel!r}: this backend has device {backend.device_id}")
        return kernel.launch
    if hasattr(kernel, "py_func"):
        return backend.compile_kernel(kernel, tuple(type_of(a, k) for k, a in enumerate(args))).launch
    if type(kernel).__module__.partition(".")[0] == "cupy" and callable(kernel):
        return lambda grid, block, args: kernel(grid, block, args)
    raise TypeError(
        f"{type_name(kernel)} is not a CUDA kernel: compile it by backend.compile_kernel(function, signature) first"
    )


def type_of(value: Any, number: int) -> Any:
    """The type of an argument, as a signature says it."""
    if is_scalar(value):
        return value.dtype if isinstance(value, np.generic) else type(value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError(f"argument {number} must be an array on a CUDA device or a number, got {type_name(value)}")
    rank = len(interface["shape"])
    if not rank:
        raise TypeError(f"argument {number} is an array without dimensions: pass its value, or one with an element")
    dtype = np.dtype(interface["typestr"]).name
    contiguous = interface.get("strides") is None
    return f"{dtype}[{', '.join([':'] * (rank - 1) + ['::1' if contiguous else ':'])}]"
