"""Which names a user may choose, and what to suggest when one is unknown."""

from __future__ import annotations

import keyword
import re
from difflib import get_close_matches
from typing import Iterable

from ..artifact.signature import DTYPES
from ..ir.functions import CONSTANTS, FUNCTIONS, WORDS

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYWORDS = frozenset(keyword.kwlist)
MOST_CHARACTERS = 200  # of a name: kernels' become names of files, of which most systems take 255; LLVM joins others
# What a name means before anybody chooses one, and so cannot mean anything else inside a kernel. Constants (`e`) give
# way to arguments, dimensions and locals of their name.
MEANINGS = (
    {name: "a function of the kernel language" for name in FUNCTIONS}
    | {name: "a word of the kernel language" for name in sorted(WORDS)}
    | {name: "a dtype" for name in DTYPES}
    | {"np": "NumPy in a reference"}
    | {name: "a Python keyword" for name in keyword.kwlist}
)
# Keywords of every call, which therefore name no argument, output or param.
OF_CALLS = {"backend": "where a call runs", "stream": "the stream that a call runs on"}
# What a library has beside its kernels: `lib.NAME` would be this.
OF_LIBRARIES = ("raise_faults", "reload")
# Names that Jinja2 or the rendering give a meaning of their own: no type variable, param or family value.
CONTEXT_MEANINGS = (
    {name: "a constant of the kernel language" for name in CONSTANTS}
    | {"kernel": "the kernel's name in a template", "backend": "the backend's name in a template"}
    | {"avx512": "whether a template is for processors with AVX-512"}
    | {"stream": OF_CALLS["stream"]}
    | {name: "a literal of Jinja2" for name in ("true", "false", "none")}
    | {name: "a word of Jinja2" for name in ("self", "super", "caller")}
)

_REST = f"{{0,{MOST_CHARACTERS - 1}}}$"
KERNEL_PATTERN = r"^(?!(?:" + "|".join(sorted({*KEYWORDS, *OF_LIBRARIES})) + r")$)[A-Za-z][A-Za-z0-9_]" + _REST
CONTEXT_PATTERN = r"^(?!__)(?!(?:" + "|".join(sorted(MEANINGS | CONTEXT_MEANINGS)) + r")$)[A-Za-z_][A-Za-z0-9_]" + _REST
TARGET_PATTERN = "^[a-z][a-z0-9_]*(?::[A-Za-z0-9_.@-]+)?$"  # the form alone: which there are is not said here


def near(name: str, candidates: Iterable[str], what: str = "one of") -> str:
    """A hint: the name that was probably meant, or else all that there are."""
    names = list(dict.fromkeys(candidates))
    close = get_close_matches(name, names, 1, 0.6)
    if not close and len(name) > 1:  # the beginning of a name, as people shorten it
        close = [longer for longer in names if longer.lower().startswith(name.lower())]
    if len(close) == 1:
        return f"did you mean '{close[0]}'?"
    return f"expected {what} {', '.join(names)}" if names else ""


def target_problem(text: str) -> tuple[str, str] | None:
    """Why this cannot be the name of a target (message, hint), or None."""
    if re.fullmatch(TARGET_PATTERN, text):
        return None
    return f"unknown target '{text}'", "a target is written as cpu:x86-64-v3 or cuda:sm_90"


# What is called otherwise here, or is one of these in memory.
_DTYPES = {
    "int": "int64", "uint": "uint64", "float": "float64", "double": "float64", "single": "float32", "half": "float16",
    "complex": "complex128", "byte": "uint8", "datetime64": "int64, which takes datetime64 too",
    "timedelta64": "int64, which takes timedelta64 too", "np": "the dtype alone: float32",
    "numpy": "the dtype alone: float32",
}  # fmt: skip


def dtype_problem(name: str, variables: Iterable[str] = ()) -> tuple[str, str] | None:
    """Why this is no dtype, nor one of these type variables (message, hint with the table), or None."""
    known = [*variables, *DTYPES]
    if name in known:
        return None
    hint = f"write {_DTYPES[name]}" if name in _DTYPES else near(name, known)
    return f"unknown dtype '{name}'", f"{hint} dtypes: {', '.join(DTYPES)}" if hint.endswith("?") else hint


def length_problem(name: str) -> tuple[str, str] | None:
    """Why a name is too long (message, hint), or None."""
    if len(name) <= MOST_CHARACTERS:
        return None
    return f"a name of {len(name):,} characters; {MOST_CHARACTERS} are allowed", "choose a shorter name"


def name_problem(name: str, context: bool = False) -> tuple[str, str] | None:
    """Why `name` cannot be chosen inside a kernel (message, hint), or None. `context`: it is also a Jinja2 name."""
    if not IDENTIFIER.fullmatch(name):
        return f"'{name}' is not a name", "a name is a letter or underscore, then letters, digits and underscores"
    if name.startswith("__"):
        return f"'{name}' is reserved", "names do not begin with two underscores"
    meaning = MEANINGS.get(name) or (CONTEXT_MEANINGS.get(name) if context else None)
    if meaning:
        return f"'{name}' cannot be used as a name: it is {meaning}", "choose another name"
    return length_problem(name)


def context_name_problem(name: str) -> tuple[str, str] | None:
    return name_problem(name, context=True)


def kernel_name_problem(name: str) -> tuple[str, str] | None:
    """Kernels may share a name with a function (`exp`), but must be importable."""
    if name in KEYWORDS:
        return f"a kernel cannot be called '{name}': it is a Python keyword", "choose another name"
    if name in OF_LIBRARIES:
        return f"a kernel cannot be called '{name}': `lib.{name}` is a method of its library", "choose another name"
    if not IDENTIFIER.fullmatch(name) or name.startswith("_"):
        return f"'{name}' is not a kernel name", "a kernel name is a letter, then letters, digits and underscores"
    return length_problem(name)
