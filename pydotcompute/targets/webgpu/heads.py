"""The heads of functions in WGSL, as the entries of its library write them."""

from __future__ import annotations

from ..text.scalars import Scalars


def function(s: Scalars, result: str, name: str, parameters: str, *body: str) -> list[str]:
    return [f"fn {name}({parameters}) -> {s.type(result)} {{", *(f"    {line}" for line in body), "}"]


def two_of(s: Scalars, dtype: str) -> str:
    return f"x: {s.type(dtype)}, y: {s.type(dtype)}"


def one_of(s: Scalars, dtype: str) -> str:
    return f"x: {s.type(dtype)}"


def signed(dtype: str) -> bool:
    return dtype.startswith("int")
