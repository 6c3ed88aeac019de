"""Say of each artifact of a kernel whether it is up to date, why not, and what its key is made of.

  pydotcompute explain softmax              every artifact, with the reason where one is out of date
  pydotcompute explain softmax --fields     and every field of its key
  pydotcompute explain softmax -C src/mylib/kernels     the same of a bundle, where nothing is out of date
  pydotcompute explain softmax --installed mylib        or of one that an installed package brings
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..cache.layout import MANIFEST
from .arguments import add_common, add_targets, check_names, print_json, project_root
from .terminal import say, size_text, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="KERNEL", help="a kernel of kernels.yaml, or of a bundle")
    add_common(parser)
    add_targets(parser, "this target instead of those declared; repeatable")
    parser.add_argument("--bounds", action="store_true", help="the artifacts of 'build --bounds'")
    parser.add_argument("--fields", action="store_true", help="print every field of the keys")
    parser.add_argument("--installed", metavar="NAME", help="of the library that an installed package brings as NAME")


def run(options: argparse.Namespace) -> int:
    root = project_root(options)
    if options.installed is not None:
        from ..runtime.installed import library

        return _of_bundle(options, library(options.installed)._origin.root)
    if os.path.exists(os.path.join(root, MANIFEST)) and not os.path.exists(os.path.join(root, "kernels.yaml")):
        return _of_bundle(options, root)
    from ..builder.build import Project, Request

    project = Project(root, say)
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
        _print_fields(rows)


def _print_fields(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(f"\n{row['specialization']} {row['target']}  {row['key']}")
        print(table([("  " + name, value) for name, value in row["fields"].items()]))


def _of_bundle(options: argparse.Namespace, folder: str) -> int:
    """What its artifacts were made from, by its metadata.json."""
    from ..cache import manifest
    from ..cache.inspection import rows as rows_of
    from ..cache.writer import read_manifest
    from ..packaging.package import read_metadata

    index = manifest.read(*manifest.find(folder))
    check_names([options.kernel], index, "kernel", folder)
    record = manifest.kernel_record(index, options.kernel, folder, folder)
    whole, _ = read_manifest(folder)
    made = read_metadata(folder)
    of_kernel = [row for row in rows_of(whole) if row.kernel == options.kernel]
    built = dict.fromkeys(row.target for row in of_kernel)
    check_names(options.targets or (), built, "target", f"{folder} for {options.kernel}")
    rows = [
        {
            "specialization": row.specialization, "target": row.target,
            "status": "stale" if row.stale else "current", "reason": row.stale, "changes": [], "key": row.key,
            "fields": made.get(row.key, {}).get("fields", {}), "object": row.object, "bytes": row.size,
            "seconds": None,
        }
        for row in of_kernel
        if not options.targets or row.target in options.targets
    ]  # fmt: skip
    if options.json:
        print_json({"version": 1, "kernel": options.kernel, "artifacts": rows})
        return 0
    print(f"{record.name} {record.signature.text}")
    if record.doc:
        print(f"  {record.doc}")
    sources = dict.fromkeys(path for row in rows for path in made.get(row["key"], {}).get("sources", {}))
    print(f"  a bundle in {folder}, made from {', '.join(sources) or 'sources that it does not name'}\n")
    print(table([(r["specialization"], r["target"], r["status"], r["reason"] or size_text(r["bytes"])) for r in rows]))
    if options.fields:
        _print_fields(rows)
    return 0
