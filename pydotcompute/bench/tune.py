"""The fastest values of the params that kernels list under `tune`, by types, target, device and size class: every
choice that `check` passes is timed, on one thread, and templates/tuned.yaml says which was the fastest."""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial
from math import exp, log
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from ..artifact import size_classes
from ..artifact.targets import backend_of
from .declared_cases import cases_of, named_params, placed, runnable, timed_on
from .own import built, copy, pydotcompute

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..check.draw import Case
    from ..declare.model import Kernel, Specialisation
    from ..runtime.kernel import Kernel as Built

COLUMNS = ("kernel", "specialization", "target", "calls", "fastest", "µs", "default µs", "times as fast", "note")
WORTH = 1.02  # how much slower than the fastest an earlier choice may be, and still be taken: less is noise
Passed = Mapping[tuple[str, str, str], str]  # kernel, specialisation, target → why it does not count; "": it does


def measure(directory: str, targets: list[str], kernels: list[str], rounds: int = 20) -> Iterator[dict[str, Any]]:
    """Times all choices, and writes the table after each kernel. targets: default, those declared that run here.
    rounds: milliseconds for each figure, or the time of one call. Raises DeclarationError where no kernel lists params,
    BackendNotAvailableError where no declared target runs here."""
    from ..declare import load
    from ..declare.tuned import FILE
    from ..errors import DeclarationError
    from ..targets.registry import checked

    declaration = checked(load(directory))
    chosen = [k for name, k in declaration.kernels.items() if name in (kernels or names(directory)) and k.tune]
    if not chosen:
        raise DeclarationError("no kernel lists params to tune", None, "add tune: [PARAM] to one")
    run = targets or runnable(declaration)
    table = {name: kernel.tuned for name, kernel in declaration.kernels.items() if kernel.tuned}
    with tempfile.TemporaryDirectory() as folder:  # the project's own cache stays as it is
        root = os.path.join(folder, "project")
        copy(directory, root)
        if os.path.exists(old := os.path.join(root, *FILE)):
            os.remove(old)
        libraries = dict(zip(run, built(root, run, *(k.name for k in chosen))))
        passed = _passed(root, run, [k.name for k in chosen])
        for kernel in chosen:
            counted = False
            for label, choices in _choices(kernel).items():
                cases = [*cases_of(kernel, choices[0], directory)]
                for target, library in libraries.items():
                    own = _Timing(kernel, choices, target, library[kernel.name], passed)
                    for row, values in own.rows(cases, rounds / 1e3):
                        if values:
                            found = table
                            for key in (kernel.name, label, target, own.backend.device_name):
                                found = found.setdefault(key, {})
                            found[row["calls"]], counted = values, True
                        elif targets:  # it was asked for
                            row["failed"] = f"{kernel.name}[{label}] for {target}: no choice counts: {row['note']}"
                        yield {"kernel": kernel.name, "specialization": label, "target": target, **row}
            if counted:
                _write(directory, table)


def names(directory: str) -> list[str]:
    """The kernels that can be tuned."""
    from ..declare import load

    return [name for name, kernel in load(directory).kernels.items() if kernel.tune]


class _Timing:
    """The choices of one kernel's params, for some types and a target."""

    def __init__(
        self, kernel: Kernel, choices: Sequence[Specialisation], target: str, built: Built, passed: Passed
    ):  # fmt: skip
        from ..devices.registry import get_backend

        self.kernel, self.choices, self.built = kernel, choices, built
        self.backend: Backend = get_backend(backend_of(target))
        self.why = {c: passed.get((kernel.name, str(c), target), "it is not built") for c in choices}

    def rows(self, cases: Sequence[Case], seconds: float) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """For each size class what is printed, and the values of the fastest choice; none where no choice counts."""
        counted = [choice for choice in self.choices if not self.why[choice]]
        note = {"note": "; ".join(f"{self.shown(c)} {why}" for c, why in self.why.items() if why)}
        if not counted:
            yield note, {}
            return
        times: dict[str, list[dict[Specialisation, float]]] = {}
        for case in cases:
            size = sum(case.arguments[p.name].nbytes for p in self.kernel.signature.inputs if p.is_array)
            found = {choice: self.seconds(choice, case, seconds) for choice in counted}
            times.setdefault(size_classes.NAMES[size_classes.number(size)], []).append(found)
        for name, several in times.items():
            mean = {c: exp(sum(log(found[c]) for found in several) / len(several)) for c in counted}
            best = next(c for c in counted if mean[c] <= WORTH * min(mean.values()))
            row = {"calls": name, "fastest": self.shown(best), "µs": mean[best] * 1e6}
            if (default := self.choices[0]) in mean:
                row |= {"default µs": mean[default] * 1e6, "times as fast": mean[default] / mean[best]}
            yield {**row, **(note if note["note"] else {})}, self.values(best)

    def values(self, choice: Specialisation) -> dict[str, Any]:
        return {name: value for name, value in choice.params if name in self.kernel.tune}

    def shown(self, choice: Specialisation) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values(choice).items())

    def seconds(self, choice: Specialisation, case: Case, seconds: float) -> float:
        given = {**case.arguments, **case.outputs, **named_params(self.kernel, choice)}
        return timed_on(self.backend, partial(self.built, **placed(self.backend, given)), seconds)[0]


def _passed(root: str, targets: Sequence[str], kernels: Sequence[str]) -> Passed:
    """What `check` says of every artifact: in a process of its own, before this one uses a device."""
    words = ["check", *kernels, "-C", root, "--json", *(word for target in targets for word in ("-t", target))]
    found = {}
    for row in json.loads(pydotcompute(words, accepted=(0, 1)))["artifacts"]:
        what = row["reason"] if row["status"] == "not run" else "".join(f["what"] for f in row["failures"][:1])
        why = "" if row["status"] == "ok" else f"{row['status']}: {what}"
        found[row["kernel"], row["specialization"], row["target"]] = why
    return found


def _choices(kernel: Kernel) -> dict[str, list[Specialisation]]:
    """By types, what there is to choose from; params that are not tuned have their first values."""
    from ..declare.tuned import labels

    fixed = [(name, values[0]) for name, values in kernel.params.items() if name not in kernel.tune]
    able = [one for one in kernel.specialisations if {*fixed} <= {*one.params}]
    each = len(able) // len(labels(kernel))
    return {label: able[k * each : (k + 1) * each] for k, label in enumerate(labels(kernel))}


def _write(directory: str, table: dict[str, Any]) -> None:
    from ..cache.writer import replace_regular
    from ..declare.tuned import FILE, text

    path = os.path.join(directory, *FILE)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace_regular(path, text(table).encode())
