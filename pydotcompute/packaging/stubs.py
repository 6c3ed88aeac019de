"""Type stubs of kernels: overloads that type checkers hold calls to, with docstrings for editors.

One overload for each choice of types. Arrays decide it exactly, as at a call; where only scalars do, their own types
and what Python's mean there. Ranks and shapes are no part of NumPy's types: the docstring has the signature. Where
there are artifacts for devices, arrays with `__cuda_array_interface__` are taken, and what comes back is not known.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple

from ..artifact.signature import Parameter
from ..backends.names import HOST
from ..cache.manifest import KernelRecord
from ..calls.scalars import choose

HEADER = """\
# Written by 'pydotcompute build'; what is changed here is lost with the next one.
# Of NumPy's float32 and float64 arrays mypy thinks that one could be both:
# mypy: disable-error-code="overload-overlap"\
"""
SCALARS = {"b": "bool | np.bool_", "i": "int | np.integer[Any]", "u": "int | np.unsignedinteger[Any]",
           "f": "float | np.floating[Any] | np.integer[Any]", "c": "complex | np.number[Any]"}  # fmt: skip
PYTHON: tuple[type, ...] = (bool, int, float, complex)  # each of these is taken for those after it
WORDS = ("np", "NDArray", "Any", "Literal", "Protocol", "overload", "Kernel", "KernelLibrary", "Library",
         *(kind.__name__ for kind in PYTHON), "str", "tuple", "property", "dict")  # fmt: skip


class Names(dict[str, str]):
    """How the stub writes the words that it needs: with an underscore where a kernel has that name."""

    def __init__(self, kernels: Iterable[str]):
        taken = set(kernels)
        super().__init__({word: f"_{word}" if word in taken else word for word in WORDS})

    def imports(self) -> list[str]:
        """The statements that bring them."""
        renamed = [f"{word} as {name}" for word, name in list(self.items())[-8:] if word != name]
        return [
            *([f"from builtins import {', '.join(renamed)}"] if renamed else []),
            f"from typing import {self._listed('Any', 'Literal', 'Protocol', 'overload')}",
            "",
            f"import numpy as {self['np']}",
            f"from numpy.typing import {self._listed('NDArray')}",
            "",
            f"from pydotcompute.runtime.kernel import {self._listed('Kernel')}",
        ]

    def library_import(self) -> str:
        return f"from pydotcompute.runtime.library import {self._listed('KernelLibrary')}"

    def _listed(self, *words: str) -> str:
        return ", ".join(word if self[word] == word else f"{word} as {self[word]}" for word in words)

    def spelt(self, text: str) -> str:
        """A type, with these names."""
        import re

        return re.sub(r"(?<![\w.])\w+", lambda found: self.get(found[0], found[0]), text)


class Overload(NamedTuple):
    arguments: tuple[str, ...]
    result: str


def stub(records: Iterable[KernelRecord], library: bool = False) -> str:
    """The text of a `.pyi` in which each kernel is a name; `library`: and `Library`, which has them as attributes."""
    records = list(records)
    names = Names(record.name for record in records)
    lines = [HEADER, "", *names.imports()]
    if library:
        lines.append(names.library_import())
    lines += ["", f"__all__ = [{', '.join(map(_quoted, [record.name for record in records]))}]"]
    if any(map(_has_devices, records)):
        lines += [
            "", f"class _OnDevice({names['Protocol']}):", f"    @{names['property']}",
            names.spelt("    def __cuda_array_interface__(self) -> dict[str, Any]: ..."),
        ]  # fmt: skip
    for record in records:
        lines += ["", *_kernel(record, names)]
    lines += ["", *(f"{record.name}: _{record.name}_kernel" for record in records)]
    if library:
        lines += ["", f"class {names['Library']}({names['KernelLibrary']}):"]
        lines += [f"    {record.name}: _{record.name}_kernel" for record in records] or ["    ..."]
    return "\n".join(lines) + "\n"


def _kernel(record: KernelRecord, names: Names) -> Iterator[str]:
    yield f"class _{record.name}_kernel({names['Kernel']}):"
    described = record.description.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').split("\n")
    yield f'    """{described[0]}'
    yield from (f"    {line}".rstrip() for line in described[1:])
    yield '    """'
    found = list(dict.fromkeys(_overloads(record)))
    for overload in found:
        if len(found) > 1:
            yield f"    @{names['overload']}"
        own = "self" if all(p.name != "self" for p in record.signature.parameters) else "_self"
        listed = ", ".join(_spelt(names, argument) for argument in overload.arguments)
        yield f"    def __call__({own}, {listed}) -> {names.spelt(overload.result)}: ..."


def _spelt(names: Names, argument: str) -> str:
    """An argument: its own name stays what it is."""
    name, separator, annotation = argument.partition(": ")
    return name + separator + names.spelt(annotation) if separator else argument


def _overloads(record: KernelRecord) -> Iterator[Overload]:
    signature = record.signature
    decided = {p.dtype for p in signature.inputs if p.is_array}
    free = {name: dtypes for name, dtypes in record.types.items() if name not in decided}
    outputs = {p.dtype for p in signature.outputs}
    tail = _params(record)
    for types in _choices(record):
        # by the inputs alone: what no array decides, scalars do, or it is the first
        scalars = {name: _deciding(record, name, types[name]) for name in free}
        if all(scalars.values()):
            yield Overload((*_arguments(record, types, scalars, needed=False), *tail), _result(record, types))
    for types in _choices(record) if free and outputs & set(free) else ():
        yield Overload((*_arguments(record, types, {}, needed=True), *tail), _result(record, types))
    if _has_devices(record) and any(p.is_array for p in signature.parameters):
        yield Overload((*_device_arguments(record), *tail), "Any" if signature.outputs else "None")


def _choices(record: KernelRecord) -> Iterator[dict[str, str]]:
    """Every choice of types that there is, params apart."""
    seen = []
    for specialisation in record.specialisations.values():
        if specialisation.types not in seen:
            seen.append(specialisation.types)
            yield specialisation.types


def _deciding(record: KernelRecord, variable: str, dtype: str) -> str:
    """The type of scalars that make this dtype of a type variable which no array decides; empty: none do."""
    declared = record.types[variable]
    if not any(p.dtype == variable for p in record.signature.inputs):
        return "Any" if dtype == declared[0] else ""
    if len(declared) == 1:
        return SCALARS[_kind(dtype)]
    meant = [kind.__name__ for kind in PYTHON if choose(declared, [kind(0)]) == dtype and _fits(kind, dtype)]
    return " | ".join([*meant[-1:], _scalar(dtype)])


def _fits(kind: type, dtype: str) -> bool:
    return PYTHON.index(kind) <= "biufc".index(_kind(dtype)) - (_kind(dtype) in "ufc")


def _arguments(
    record: KernelRecord, types: dict[str, str], scalars: dict[str, str], needed: bool
) -> Iterator[str]:
    """Of an overload; needed: the outputs that decide a type are to be given."""
    decided = {p.dtype for p in record.signature.inputs if p.is_array}
    for p in (*record.signature.inputs, *record.signature.outputs):
        dtype = types.get(p.dtype, p.dtype)
        array = f"NDArray[{_scalar(dtype)}]"
        if p.role == "out":
            given = needed and p.dtype in record.types and p.dtype not in decided
            yield f"{p.name}: {array}" + (" | None" * (not given) + " = None" * (not needed))
        else:
            kind = array if p.is_array else scalars.get(p.dtype) or SCALARS[_kind(dtype)]
            yield f"{p.name}: {kind}" + " = ..." * (p.may_be_left_out and not needed)


def _device_arguments(record: KernelRecord) -> Iterator[str]:
    for p in (*record.signature.inputs, *record.signature.outputs):
        kinds = [_kind(dtype) for dtype in record.types.get(p.dtype, (p.dtype,))]
        if p.role == "out":
            yield f"{p.name}: _OnDevice | None = None"
        else:
            kind = "_OnDevice" if p.is_array else SCALARS[max(kinds, key="biufc".index)]
            yield f"{p.name}: {kind}" + " = ..." * p.may_be_left_out


def _params(record: KernelRecord) -> tuple[str, ...]:
    """The keywords that every call takes: params, and where it is to run."""
    listed = []
    for name, choices in record.params.items():
        floats = any(isinstance(choice, float) for choice in choices)
        kind = "float" if floats else f"Literal[{', '.join(map(repr, choices))}]"
        listed.append(f"{name}: {kind} = {repr(choices[0]) if name not in record.by_size else '...'}")
    return ("*", *listed, "backend: str = ...", "stream: Any = None")


def _result(record: KernelRecord, types: dict[str, str]) -> str:
    results = [_returned(p, types.get(p.dtype, p.dtype)) for p in record.signature.outputs]
    return "None" if not results else results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"


def _returned(p: Parameter, dtype: str) -> str:
    return f"NDArray[{_scalar(dtype)}]" if p.is_array else _scalar(dtype)


def _scalar(dtype: str) -> str:
    """The type of an element; of bfloat16, which NumPy's stubs do not know, and ml_dtypes may not be there, any."""
    return "Any" if dtype == "bfloat16" else "np.bool_" if dtype == "bool" else f"np.{dtype}"


def _kind(dtype: str) -> str:
    """As NumPy's `dtype.kind`."""
    return "f" if dtype == "bfloat16" else dtype[0]


def _has_devices(record: KernelRecord) -> bool:
    return any(a.backend != HOST for s in record.specialisations.values() for a in s.artifacts)


def _quoted(name: str) -> str:
    return f'"{name}"'
