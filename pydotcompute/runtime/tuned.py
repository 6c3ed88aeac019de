"""Which values tuned params get in calls that name none: what was the fastest, by device and size of the call."""

from __future__ import annotations

from math import prod
from typing import Any, Mapping, NamedTuple, Sequence

from ..artifact import size_classes
from ..artifact.dtypes import dtype_name
from ..artifact.signature import DTYPE_BYTES
from ..cache.manifest import KernelRecord


class Choice(NamedTuple):
    """The values for the calls of one size class, and where they are from."""

    params: dict[str, Any]
    why: str

    def __str__(self) -> str:
        return f"{', '.join(f'{name}={value}' for name, value in self.params.items())}: {self.why}"


def choices(record: KernelRecord, types: Mapping[str, str], target: str | None, device: str) -> tuple[Choice, ...]:
    """One for each size class. target: of the artifact that would serve; device: what it would run on. What was
    measured on another device of the same target counts for more than the order of the declaration."""
    label = ",".join(f"{name}={dtype}" for name, dtype in types.items()) or "-"
    target = (target or "").removesuffix("+bounds")
    devices = record.tuned.get(label, {}).get(target, {})
    known = device if device in devices else min(devices, default=device)
    first = {name: record.params[name][0] for name in record.tune}
    found = []
    for name in size_classes.NAMES:
        values, calls = devices.get(known, {}).get(name), f"{name} calls as {target} on {known}"
        if values is None:
            found.append(Choice(first, f"the first declared, as nothing was measured for {calls}"))
        else:
            values = {name: values[name] for name in record.tune}
            other = "" if known == device else f", as nothing was on {device}"
            found.append(Choice(values, f"the fastest in {calls}{other}"))
    return tuple(found)


def of_call(by_class: Sequence[Choice], record: KernelRecord, arrays: Mapping[str, Any]) -> Choice:
    """That of a call with these arrays by name, of which those among the inputs count."""
    inputs = [arrays[p.name] for p in record.signature.inputs if p.is_array]
    size = sum(prod(array.shape) * DTYPE_BYTES[dtype_name(array.dtype)] for array in inputs)
    return by_class[size_classes.number(size)]
