"""The way from `compile_kernel` to the build half's compiler of plain functions."""

from __future__ import annotations

from typing import Any, Callable

from .build_half import build_half


def compile_function(func: Callable, signature: tuple[Any, ...]) -> Callable:
    """See jit/cpu.py. Raises CompilerNotInstalledError where the build half's packages are missing."""
    with build_half("compiling a function") as module:
        return module("jit.cpu").compile_function(func, signature)
