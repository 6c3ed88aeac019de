"""Say of each artifact of a kernel whether it is up to date, why not, and what its key is made of.

  pydotcompute explain softmax              every artifact, with the reason where one is out of date
  pydotcompute explain softmax --fields     and every field of its key
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from .arguments import add_common, add_targets, check_names, print_json, project_root
from .terminal import say, size_text, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="KERNEL", help="a kernel of kernels.yaml")
    add_common(parser)
    add_targets(parser, "this target instead of those declared; repeatable")
    parser.add_argument("--bounds", action="store_true", help="the artifacts of 'build --bounds'")
    parser.add_argument("--fields", action="store_true", help="print every field of the keys")


def run(options: argparse.Namespace) -> int:
    from ..builder.build import Project, Request

    project = Project(project_root(options), say)
    settings = project.settings({"targets": options.targets})
    check_names([options.kernel], project.declaration.kernels, "kernel", project.declaration.path)
    request = Request(
        (options.kernel,), tuple(settings["targets"].value), options.bounds, linker=settings["linker"].value
    )
    plan = project.plan(request)
    for text in dict.fromkeys(map(str, plan.failures.values())):
        say(text)
    rows = [_row(project, plan, item) for item in plan.wanted]
    project.close()
    if options.json:
        print_json({"version": 1, "kernel": options.kernel, "artifacts": rows})
    else:
        _print(project, plan, options, rows)
    return 1 if plan.failures else 0


def _row(project: Any, plan: Any, item: Any) -> dict[str, Any]:
    entry = plan.entry(item)
    record = project.history(item.key) or {}
    changes = [reason._asdict() for reason in item.reasons]
    return {
        "specialization": item.name[1],
        "target": item.target,
        "status": "stale" if item.reasons else "current",
        "reason": item.reason,
        "changes": changes,
        "key": item.key,
        "fields": item.fields,
        "object": entry["object"] if entry else None,
        "bytes": entry["size"] if entry else None,
        "seconds": record.get("seconds"),
    }


def _print(project: Any, plan: Any, options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    kernel = project.declaration.kernels[options.kernel]
    print(f"{kernel.name} {kernel.signature.text}")
    if kernel.doc:
        print(f"  {kernel.doc}")
    source = os.path.join("templates", kernel.template) if kernel.template else "body"
    print(f"  declared at {kernel.at.path}:{kernel.at.line}, code in {source}")
    print(f"  rendered to {os.path.join(project.rendered_folder, kernel.name)}")
    print()
    lines = []
    for row in rows:
        detail = row["reason"] or (size_text(row["bytes"]) if row["bytes"] is not None else "")
        lines.append((row["specialization"], row["target"], row["status"], detail))
    print(table(lines))
    if options.fields:
        for row in rows:
            print(f"\n{row['specialization']} {row['target']}  {row['key']}")
            print(table([("  " + name, value) for name, value in row["fields"].items()]))
