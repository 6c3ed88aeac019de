"""A report as one file: a page that holds its data compressed, a kernel at a time, and fetches nothing."""

from __future__ import annotations

import json
import os
import zlib
from base64 import b85encode
from collections.abc import Iterable, Mapping
from math import isfinite
from time import time
from typing import Any

from ..builder.build import Project, Request
from ..builder.plan import Item, Plan
from ..builder.remembered import timeline as remembered
from ..cache.builds import noted
from .code import codes
from .state import STATES, cells
from .timeline import timeline

# In the place of those of base 85 that mean something in HTML; page.js knows them.
DIGITS = bytes.maketrans(b"&<>`", b",.:[")
HERE = os.path.dirname(os.path.abspath(__file__))
Cells = Mapping[tuple[str, str, str], dict[str, Any]]


def overview(project: Project, plan: Plan, found: Cells, benches: list[dict[str, Any]]) -> dict[str, Any]:
    """What the page shows of all kernels together."""
    targets = list(dict.fromkeys((*plan.targets, *(target for _, _, target in found))))
    ran = remembered(project.store(create=False))
    kernels = []
    for name in sorted(plan.asked):
        kernel = project.declaration.kernels.get(name)
        labels = list(dict.fromkeys(label for k, label, _ in found if k == name))
        kernels.append({
            "name": name, "doc": kernel.doc if kernel else "", "signature": kernel.signature.text if kernel else "",
            "at": f"kernels.yaml:{kernel.at.line}" if kernel else "", "specializations": labels,
            "cells": [[_brief(found.get((name, label, target))) for label in labels] for target in targets],
        })  # fmt: skip
    return {
        "project": os.path.basename(os.path.abspath(project.root)), "made": time(),
        "states": STATES, "targets": targets, "kernels": kernels, "builds": noted(project.cache)._asdict(),
        "timeline": timeline(ran) if ran else None, "benches": benches,
    }  # fmt: skip


def _brief(cell: Mapping[str, Any] | None) -> list[Any] | None:
    return None if cell is None else [cell["state"], cell["why"], cell.get("size"), cell.get("seconds")]


def of_kernels(found: Cells, shown: Iterable[dict[str, Any]], items: Iterable[Item]) -> dict[str, dict[str, Any]]:
    """What the page shows of each kernel by itself: its artifacts, then the code of those that it was made for."""
    parts: dict[str, dict[str, Any]] = {}
    for (kernel, label, target), cell in found.items():
        part = parts.setdefault(kernel, {"artifacts": [], "codes": []})
        part["artifacts"].append({"specialization": label, "target": target, **cell})
    for item, code in zip(items, shown):
        parts[item.kernel.name]["codes"].append(code)
    return parts


def page(whole: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> str:
    """The HTML of a report."""
    import jinja2

    loader = jinja2.FileSystemLoader(HERE)
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return made.get_template("page.html.j2").render(
        project=whole["project"], style=_own("page.css"), program=_own("charts.js") + _own("page.js"),
        whole=_packed(whole),
        parts=[_packed(parts.get(kernel["name"], {"artifacts": [], "codes": []})) for kernel in whole["kernels"]],
    )  # fmt: skip


def _packed(data: Any) -> str:
    text = json.dumps(_finite(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return b85encode(zlib.compress(encoded(text), 9)).translate(DIGITS).decode()


def encoded(text: str) -> bytes:
    """A `?` stands for what no text is, as in names of files that are not UTF-8."""
    return text.encode(errors="replace")


def _finite(data: Any) -> Any:
    """The same with words for NaN and infinities, which browsers refuse in JSON."""
    if isinstance(data, float):
        return data if isfinite(data) else str(data)
    if isinstance(data, Mapping):
        return {name: _finite(value) for name, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, (list, tuple)) else data


def _own(name: str) -> str:
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def chosen(plan: Plan, targets: Iterable[str], every: bool) -> list[Item]:
    """The artifacts whose code is shown: of each kernel the first specialisation, or every one; for these targets, or
    for the first of each kernel."""
    found: dict[tuple[str, str], list[Item]] = {}
    for item in plan.wanted:
        found.setdefault(item.name[:2], []).append(item)
    wanted = list(targets)
    items = []
    done: set[str] = set()
    for (kernel, _), group in found.items():
        if kernel in done and not every:
            continue
        done.add(kernel)
        items += [item for item in group if item.target in wanted] if wanted else group[:1]
    return items


def report(
    project: Project, request: Request, targets: Iterable[str], every: bool, benches: list[dict[str, Any]],
    done: Any = lambda items: lambda item: None,
) -> tuple[str, dict[str, int]]:  # fmt: skip
    """The page of a project, and how many artifacts are in which state. done: is told which code is to be had, and
    gives what is told of each that is."""
    plan = project.plan(request)
    found = cells(project, plan)
    whole = overview(project, plan, found, benches)
    project.close()
    items = chosen(plan, targets, every)
    parts = of_kernels(found, codes(plan, items, request.linker, request.jobs, done(items)), items)
    states = [cell["state"] for cell in found.values()]
    return page(whole, parts), {state: states.count(state) for state in STATES}
