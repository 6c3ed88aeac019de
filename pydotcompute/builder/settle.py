"""The manifest that follows from a plan and what came of it: which artifact is current, which is kept though stale.

Pure: dictionaries in, a dictionary out. The rules, in one place:

- An artifact whose key is current, or that was just made, is there without a mark.
- One that is out of date (its build failed, or was not asked for) stays, marked with the reason, as long as it can
  still be called the way the manifest says: after a change of the signature only the kernel as a whole stays as it
  was, and only until the first new artifact of it exists.
- Why a build of an artifact failed stays until one succeeds.
- What is no longer declared goes; so does an out-of-date artifact of a target that is neither declared nor asked
  for, because nobody would renew it.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

from ..artifact.dimensions import data
from ..artifact.signature import Parameter
from ..cache.layout import VERSION
from ..declare.model import Kernel
from .plan import Item, Name, Plan

Made = Mapping[Name, Mapping[str, Any]]  # what was made: {"entry": manifest entry, "aliases": pairs}


def settle(plan: Plan, made: Made, failed: Mapping[Name, str]) -> dict[str, Any]:
    """The new manifest: `made` are the artifacts that now exist, `failed` why others could not be made."""
    by_kernel: dict[str, list[Item]] = {name: [] for name in plan.declaration.kernels}
    for item in plan.items:
        by_kernel[item.kernel.name].append(item)
    return {
        "version": VERSION,
        "kernels": {
            name: _settle_kernel(plan, kernel, plan.manifest["kernels"].get(name), by_kernel[name], made, failed)
            for name, kernel in plan.declaration.kernels.items()
        }
        | {  # a mistake in its declaration takes nothing away that works
            name: _marked(plan.manifest["kernels"][name], name, {}, _first_line(str(error)))
            for name, error in plan.declaration.refused.items()
            if name in plan.manifest["kernels"]
        },
    }


def _settle_kernel(
    plan: Plan, kernel: Kernel, old: dict[str, Any] | None, items: list[Item], made: Made, failed: Mapping[Name, str]
) -> dict[str, Any]:
    new = header(kernel)
    reasons = {item.name: _first_line(failed.get(item.name) or item.reason) for item in items}
    fresh = [item for item in items if item.name in made or not item.reasons]
    compatible = old is None or all(old.get(part) == new[part] for part in ("parameters", "symbols", "requires"))
    if old is not None and not compatible and not fresh:
        return _marked(old, kernel.name, reasons, "the declaration changed")
    specialisations = {}
    for specialisation in kernel.specialisations:
        label = str(specialisation)
        before = (old or {}).get("specializations", {}).get(label, {"artifacts": {}, "aliases": []})
        artifacts: dict[str, Any] = {}
        aliases: list[list[list[str]]] = []  # of each artifact
        for item in items:
            if str(item.specialisation) != label:
                continue
            entry = before["artifacts"].get(item.target)
            if item.name in made:
                artifacts[item.target] = {**_placed(plan, item, made[item.name]["entry"]), "stale": ""}
                aliases.append([list(pair) for pair in made[item.name]["aliases"]])
            elif entry is not None and not item.reasons:
                artifacts[item.target] = {**_placed(plan, item, entry), "stale": ""}
                aliases.append(before["aliases"])
            elif entry is not None and compatible and _would_be_renewed(plan, item.target):
                artifacts[item.target] = {**entry, "stale": reasons[item.name]}
                aliases.append(before["aliases"])
        for target, entry in before["artifacts"].items():
            problem = plan.mistake(kernel.name, label, target)
            if problem is not None and compatible:
                artifacts[target] = {**entry, "stale": _first_line(str(problem))}
                aliases.append(before["aliases"])
        errors = (*failed.items(), *plan.failures.items())
        reported = {
            **(old or {}).get("specializations", {}).get(label, {}).get("failed", {}),
            **{name[2]: _first_line(str(why)) for name, why in errors if name[:2] == (kernel.name, label)},
        }
        current = {target for target, entry in artifacts.items() if not entry["stale"]}
        reported = {t: why for t, why in reported.items() if t not in current and _would_be_renewed(plan, t)}
        specialisations[label] = {
            "types": dict(specialisation.types),
            "params": dict(specialisation.params),
            # Artifacts of different ages may stand side by side: what holds for all of them.
            "aliases": [pair for pair in aliases[0] if all(pair in each for each in aliases)] if aliases else [],
            "artifacts": artifacts,
            **({"failed": reported} if reported else {}),
        }
    return {**new, "targets": list(plan.declaration.targets), "specializations": specialisations}


def _placed(plan: Plan, item: Item, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a current artifact, with the places in the user's files of what its metadata says of the rendered
    text: they may have moved since it was made."""
    meta = entry["meta"]
    if "sites" not in meta:
        return dict(entry)
    rendered = plan.rendered[item.place]
    root = os.path.dirname(item.kernel.at.path)
    found = [rendered.position(*place[:2]) for place in (*meta["sites"], *meta["calls"])]
    places = [[os.path.relpath(at.path, root).replace(os.sep, "/"), at.line, at.column] for at in found]
    return {**entry, "meta": {**meta, "places": places}}


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


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
        **({"tune": list(kernel.tune)} if kernel.tune else {}),
        **({"tuned": kernel.tuned} if kernel.tuned else {}),
        "requires": list(map(data, kernel.requires)),
        "vendor": {key: data(value) for key, value in kernel.vendor.items()},
        "parameters": [parameter_entry(parameter) for parameter in kernel.signature.parameters],
        "symbols": list(kernel.signature.symbols),
    }


def parameter_entry(parameter: Parameter) -> dict[str, Any]:
    """A parameter without its defaults."""
    entry = parameter._asdict()
    entry["dims"] = None if parameter.dims is None else list(map(data, parameter.dims))
    return {name: value for name, value in entry.items() if value != Parameter._field_defaults.get(name, ...)}
