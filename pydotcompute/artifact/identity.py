"""What an object says it is: one line, in text its first one, as a comment; of machine code its last, behind the rest.

    pydotcompute object: convention 1, saxpy[T=float32] for cpu:x86-64-v3, signature 3f1c…, metadata 90ab…

The signature is the digest of what decides the words of a call and which calls there are; that of the metadata is over
what a backend needs to launch it. The loader compares the line with what it was told to load, so that an object that is
taken for another, or called in another way than it was made for, is refused. The key is not in it: a changed comment
does not change the bytes of an object, so neither are the lines of what the metadata says of the source.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from . import abi
from .dimensions import Tree, data
from .signature import Parameter

MARK = "pydotcompute object: "
MOST = 4096  # bytes of the line
MOST_LEVELS = 200  # of the metadata: more than any that is made
SHOWN = ("places", "resources", "tools")  # of the metadata: nothing that a call needs
OF_LINES = ("sites", "calls")  # lists, in each of which a line and a column come first


def title(kernel: str, specialisation: str) -> str:
    """`saxpy[T=float32]`; the kernel's name alone where it has one specialisation without a name."""
    return kernel if specialisation == "-" else f"{kernel}[{specialisation}]"


def line(
    kernel: str, specialisation: str, target: str, parameters: Sequence[Parameter], symbols: Sequence[str],
    sha256: Callable[[bytes], str], requires: Sequence[Tree] = (), meta: Mapping[str, Any] = {},
) -> str:  # fmt: skip
    """The line of an object. parameters: with concrete dtypes; requires: the conditions on its calls."""
    calls = [[_parameter(p) for p in parameters], list(symbols), *map(data, requires)]
    signature, metadata = (sha256(repr(part).encode("utf-8", "replace")) for part in (calls, _needed(meta)))
    what = title(kernel, specialisation)
    said = f"{MARK}convention {abi.CONVENTION}, {what} for {target}, signature {signature}, metadata {metadata}"
    return said.encode("ascii", "backslashreplace").decode()


def _needed(meta: Mapping[str, Any]) -> Any:
    """What a call needs of the metadata, the same before it was written as JSON and after."""
    needed = {name: value for name, value in meta.items() if name not in SHOWN}
    for name in OF_LINES:
        if isinstance(found := needed.get(name), (list, tuple)):
            needed[name] = [one[2:] if isinstance(one, (list, tuple)) else one for one in found]
    return _plain(needed)


def _plain(value: Any, levels: int = MOST_LEVELS) -> Any:
    if isinstance(value, (list, tuple)) and levels:
        return [one if type(one) in (str, int) else _plain(one, levels - 1) for one in value]
    if isinstance(value, dict) and levels:
        return [(name, _plain(value[name], levels - 1)) for name in sorted(value)]
    return None if isinstance(value, (list, tuple, dict)) else value


def _parameter(p: Parameter) -> list[object]:
    dims = None if p.dims is None else [data(dim) for dim in p.dims]
    return [p.name, p.dtype, dims, p.role, p.ellipsis, p.layout, p.fill, *filter(None, [p.length])]


def bind(code: bytes, said: str, comment: str) -> bytes:
    """The object with its line. comment: what begins one in text such as this; empty: it is machine code."""
    if comment:
        return f"{comment} {said}\n".encode() + code
    return code + f"\n{said}\n".encode()


def of(code: bytes) -> tuple[str, bytes]:
    """The line of an object, empty if it has none, and the object as it was before: text keeps its comment."""
    mark = MARK.encode()
    first = code[:MOST].partition(b"\n")[0]
    if mark in first:
        return first[first.index(mark) :].decode("utf-8", "replace"), code
    start = code.rfind(b"\n" + mark, max(0, len(code) - MOST))
    if start < 0 or not code.endswith(b"\n"):
        return "", code
    return code[start + 1 : -1].decode("utf-8", "replace"), code[:start]


def difference(found: str, wanted: str) -> str:
    """Why an object is not what is wanted; empty if it is."""
    if found == wanted:
        return ""
    if not found:
        return "does not say what it is"
    theirs, ours = _parts(found), _parts(wanted)
    if theirs[0] != ours[0]:
        return f"is called by {theirs[0]}, this program calls by {ours[0]}"
    if theirs[1] != ours[1]:
        return f"is {theirs[1]}"
    if theirs[2] != ours[2]:
        return "was made for another signature"
    return "was made with other metadata than its record has"


def _parts(said: str) -> tuple[str, str, str, str]:
    convention, _, rest = said.removeprefix(MARK).partition(", ")
    rest, _, metadata = rest.rpartition(", ")
    what, _, signature = rest.rpartition(", ")
    return convention, what, signature, metadata
