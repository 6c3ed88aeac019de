"""Functions for AVX-512 in which vectors of addresses are taken apart, and how they are optimised instead.

Of elements that lie apart LLVM computes the addresses in vectors wherever a processor has AVX-512, also where it is
told to gather nothing: then it takes every one out of its vector again, for a load of its own. For AVX2 it leaves them
to scalar registers, which step along. So such a function goes through the passes as if for AVX2, and its code is
emitted for AVX-512 as that of all others. One that computes much with what it loads gains more from wider registers.
"""

from __future__ import annotations

import re

from .short_forms import FUNCTION

_NARROW = '"target-cpu"="x86-64-v3"'
_DONE = '"narrow"'  # says nothing to LLVM
_FEW = 4  # addresses of a block that are nothing
_WORTH = 5  # of them, beside which one vector of floats that is computed there is little
_NAME = re.compile(r"^define internal [^@]*@(\S+?)\(")
_HEAD = r"^(define internal [^@\n]*@{}\(.*\)(?: (?:local_)?unnamed_addr)?)((?: #\d+)? .*\{{)$"
_TAKEN = re.compile(r"^ *(%[\w.]+) = extractelement <\d+ x (?:i32|i64|ptr)> ", re.M)
_EXTENDED = re.compile(r"^ *(%[\w.]+) = [sz]ext (?:nneg )?i32 (%[\w.]+) to i64", re.M)
_ADDRESS = re.compile(r"^ *%\S+ = (?:getelementptr|load) .*(?:i64|ptr) (%[\w.]+)(?:,|$)", re.M)
_FLOATS = re.compile(r"^ *%\S+ = (?:f(?!cmp|reeze)\w+|(?:tail )?call) .*<\d+ x (?:float|double)>", re.M)
_BLOCK = re.compile(r"\n(?=[\w.]+:)")


def taking_apart(text: str) -> tuple[str, ...]:
    """The names of such functions in LLVM IR that has been optimised."""
    if "= extractelement <" not in text:
        return ()
    functions = (found[0] for found in FUNCTION.finditer(text))
    return tuple(name[1] for f in functions if (name := _NAME.match(f)) and _takes_apart(f))


def _takes_apart(function: str) -> bool:
    taken = set(_TAKEN.findall(function))
    taken |= {wide for wide, narrow in _EXTENDED.findall(function) if narrow in taken}
    addresses = computed = 0
    for block in _BLOCK.split(function):
        here = sum(name in taken for name in _ADDRESS.findall(block))
        if here >= _FEW:
            addresses, computed = addresses + here, computed + len(_FLOATS.findall(block))
    return bool(addresses) and _WORTH * computed <= addresses and len(_FLOATS.findall(function)) <= addresses


def as_for_avx2(text: str, names: tuple[str, ...]) -> str:
    """LLVM IR that is to be optimised, with these functions as if for AVX2."""
    for name in names:
        text = re.sub(_HEAD.format(re.escape(name)), rf"\1 {_NARROW}\2", text, flags=re.M)
    return text


def is_for_avx2(text: str) -> bool:
    """Whether some function of LLVM IR that is to be optimised is."""
    return _NARROW in text


def for_avx512(text: str) -> str:
    """LLVM IR that has been optimised, with all functions for the processor that code is to be emitted for."""
    return text.replace(_NARROW, _DONE)
