"""The manifest that follows from a plan and what came of it: which artifact is current, which is kept though stale.

Pure: dictionaries in, a dictionary out. The rules, in one place:

- An artifact whose key is current, or that was just made, is there without a mark.
- One that is out of date (its build failed, or was not asked for) stays, marked with the reason, as long as it can
  still be called the way the manifest says: after a change of the signature only the kernel as a whole stays as it
  was, and only until the first new artifact of it exists.
- What is no longer declared goes; so does an out-of-date artifact of a target that is neither declared nor asked
  for, because nobody would renew it.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..cache.layout import VERSION
from ..declare.model import Kernel
from ..signature import Parameter
from .plan import Item, Name, Plan

Made = Mapping[Name, Mapping[str, Any]]  # what was made: {"entry": manifest entry, "aliases": pairs}


def settle(plan: Plan, made: Made, failed: Mapping[Name, str]) -> dict[str, Any]:
    """The new manifest: `made` are the artifacts that now exist, `failed` why others could not be made."""
    by_kernel: dict[str, list[Item]] = {name: [] for name in plan.declaration.kernels}
    for item in plan.items:
        by_kernel[item.kernel.name].append(item)
    broken = {kernel for kernel, _ in plan.failures}
    kernels = {}
    for name, kernel in plan.declaration.kernels.items():
        old = plan.manifest["kernels"].get(name)
        kernels[name] = _settle_kernel(plan, kernel, old, by_kernel[name], made, failed, name in broken)
    return {"version": VERSION, "kernels": kernels}


def _settle_kernel(
    plan: Plan, kernel: Kernel, old: dict[str, Any] | None, items: list[Item], made: Made,
    failed: Mapping[Name, str], broken: bool,
) -> dict[str, Any]:  # fmt: skip
    new = header(kernel)
    reasons = {item.name: failed.get(item.name) or item.reason for item in items}
    fresh = {item.name for item in items if item.name in made or not item.reasons}
    compatible = old is None or all(old.get(part) == new[part] for part in ("parameters", "symbols", "requires"))
    if old is not None and not compatible and not fresh:
        return _marked(old, kernel.name, reasons, "the declaration changed")
    specialisations = {}
    for specialisation in kernel.specialisations:
        label = str(specialisation)
        before = (old or {}).get("specializations", {}).get(label, {})
        artifacts, alias_sets = {}, []
        for item in (item for item in items if str(item.specialisation) == label):
            entry = before.get("artifacts", {}).get(item.target)
            if item.name in made:
                artifacts[item.target] = {**made[item.name]["entry"], "stale": ""}
                alias_sets.append(made[item.name]["aliases"])
            elif entry is not None and not item.reasons:
                artifacts[item.target] = {**entry, "stale": ""}
                alias_sets.append(before.get("aliases", []))
            elif entry is not None and compatible and _would_be_renewed(plan, item.target):
                artifacts[item.target] = {**entry, "stale": reasons[item.name]}
                alias_sets.append(before.get("aliases", []))
        if broken and not any(str(item.specialisation) == label for item in items):
            why = str(plan.failures.get((kernel.name, label), "")).partition("\n")[0]
            for target, entry in before.get("artifacts", {}).items():
                artifacts[target] = {**entry, "stale": why or "the kernel cannot be rendered"}
                alias_sets.append(before.get("aliases", []))
        specialisations[label] = {
            "types": dict(specialisation.types),
            "params": dict(specialisation.params),
            # Artifacts of different ages may stand side by side: what holds for all of them.
            "aliases": [list(pair) for pair in alias_sets[0] if all(list(pair) in map(list, s) for s in alias_sets)]
            if alias_sets
            else [],
            "artifacts": artifacts,
        }
    return {**new, "specializations": specialisations}


def _would_be_renewed(plan: Plan, target: str) -> bool:
    return target in plan.targets or target in plan.declaration.targets


def _marked(old: dict[str, Any], kernel: str, reasons: Mapping[Name, str], otherwise: str) -> dict[str, Any]:
    """A kernel as it was, every artifact marked."""
    specialisations = {}
    for label, specialisation in old["specializations"].items():
        artifacts = {
            target: {**entry, "stale": reasons.get((kernel, label, target), otherwise)}
            for target, entry in specialisation["artifacts"].items()
        }
        specialisations[label] = {**specialisation, "artifacts": artifacts}
    return {**old, "specializations": specialisations}


def header(kernel: Kernel) -> dict[str, Any]:
    """What the manifest says of a kernel besides its artifacts, as JSON gives it back."""
    return {
        "doc": kernel.doc,
        "signature": kernel.signature.text,
        "types": {name: list(dtypes) for name, dtypes in kernel.types.items()},
        "params": {name: list(values) for name, values in kernel.params.items()},
        "requires": list(kernel.requires),
        "parameters": [parameter_entry(parameter) for parameter in kernel.signature.parameters],
        "symbols": list(kernel.signature.symbols),
    }


def parameter_entry(parameter: Parameter) -> dict[str, Any]:
    """A parameter without its defaults."""
    entry = parameter._asdict()
    entry["dims"] = None if parameter.dims is None else list(parameter.dims)
    return {name: value for name, value in entry.items() if value != Parameter._field_defaults.get(name, ...)}
