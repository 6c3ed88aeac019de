"""Look into the kernel cache of a project, or into a bundle (-C); verify it; clear it.

  pydotcompute cache dir                    where it is
  pydotcompute cache list softmax           its artifacts, with size and state
  pydotcompute cache list --sort size -t cuda:sm_90
  pydotcompute cache list --installed       those of every bundle that installed packages bring
  pydotcompute cache show softmax           everything known of them: key, object, what the processor needs, timings
  pydotcompute cache stats                  artifacts, bytes, build time and last use, by kernel and by target; what
                                            builds found current, and why they made the rest
  pydotcompute cache extract softmax T=float32 -t cuda:sm_90 -o softmax.cubin
  pydotcompute cache verify                 read every object, compare it with its digest; exit code 1 if one is bad
  pydotcompute cache export kernels.tar     what is current, for another machine
  pydotcompute cache import kernels.tar     what is missing or out of date here; it is as trusted as a program you run
  pydotcompute cache prune --unused         remove what no artifact uses
  pydotcompute cache prune -n --max-size 500M --older-than 30d
                                            what would go of all that is not current: see 'cache prune --help'
  pydotcompute cache clear                  remove it all; the next build makes it again

A damaged or missing artifact of a project is repaired by 'pydotcompute build'.
"""

from __future__ import annotations

import argparse
import os
from time import time
from typing import TYPE_CHECKING, Any, Callable

from . import cache_files
from .arguments import (
    add_common,
    add_dry_run,
    add_targets,
    age_seconds,
    check_names,
    file_name,
    print_json,
    project_root,
    size_bytes,
)
from .terminal import ago, count, say, size_text, table, tell

if TYPE_CHECKING:
    from ..cache.contents import Record
    from ..cache.inspection import Row

ORDERS: dict[str, Callable[[Any], Any]] = {
    "kernel": lambda record: record[:3],
    "target": lambda record: (record.target, *record[:3]),
    "age": lambda record: (record.made or 0.0, *record[:3]),
    "size": lambda record: (-record.size, *record[:3]),
    "used": lambda record: (record.used or 0.0, *record[:3]),
}

ACTIONS = {
    "dir": "print the folder of the cache",
    "list": "list the artifacts",
    "show": "show everything about the artifacts of a kernel",
    "stats": "artifacts, bytes, build time and last use of each kernel and target; hits and misses of builds",
    "extract": "write the object of an artifact to a file",
    "verify": "read every object and compare it with its digest",
    "export": "write the current artifacts to a file, for another machine",
    "import": "take the artifacts of such a file, once all of it is checked",
    "prune": "remove objects that are not current",
    "clear": "remove every artifact, rendered source and record",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    for name, summary in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        add_common(action)
        if name == "list":
            action.add_argument("kernels", nargs="*", metavar="KERNEL", help="of these alone")
            add_targets(action, "for this target alone; repeatable", [])
            action.add_argument(
                "--sort", choices=list(ORDERS), default="kernel",
                help="by kernel (default), by target, by age (the oldest first), by size (the largest first), by last "
                "use (what was not used for longest first)",
            )  # fmt: skip
            action.add_argument("--older-than", metavar="AGE", type=age_seconds, default=0.0, help="e.g. 30d, 12h")
            action.add_argument(
                "--unused-for", metavar="AGE", type=age_seconds, default=0.0,
                help="not loaded by a program since then, e.g. 30d; a use is known to a day",
            )  # fmt: skip
            action.add_argument("--larger-than", metavar="SIZE", type=size_bytes, default=-1, help="e.g. 500K, 2M")
            action.add_argument("--installed", action="store_true", help="of all bundles of installed packages")
        if name == "extract":
            action.add_argument("kernel", metavar="KERNEL", help="a kernel in the cache")
            action.add_argument("specialization", nargs="?", metavar="SPECIALIZATION", help="e.g. T=float32")
            add_targets(action, "the artifact for this target", [])
            action.add_argument(
                "-o", "--output", metavar="FILE", type=file_name, required=True, help="the file to write"
            )
        if name in ("export", "import"):
            what = f"the file to {'write' if name == 'export' else 'read'}"
            action.add_argument("file", metavar="FILE", type=file_name, help=what)
        if name == "prune":
            action.add_argument(
                "--max-size", metavar="SIZE", type=size_bytes,
                help="until the objects have e.g. 500M: first what no artifact uses, then what is out of date, the "
                "oldest first; exit code 1 if what is current has more",
            )  # fmt: skip
            action.add_argument("--older-than", metavar="AGE", type=age_seconds, help="all made before, e.g. 30d, 12h")
            action.add_argument("--unused", action="store_true", help="all that no artifact uses, as older builds left")
            add_dry_run(action, "remove nothing: list what would be removed")
        if name == "show":
            action.add_argument("kernel", metavar="KERNEL", help="a kernel in the cache")
            action.add_argument("specialization", nargs="?", metavar="SPECIALIZATION", help="e.g. T=float32")
            action.add_argument("target", nargs="?", metavar="TARGET", help="e.g. cpu:x86-64-v3")


def run(options: argparse.Namespace) -> int:
    from ..cache.manifest import find

    folder, root = find(project_root(options))
    if options.action == "list" and options.installed:
        return _list_installed(options)
    if folder == root and options.action in ("clear", "prune", "import"):
        from . import UsageError

        else_ = "name the project that it is made of" if options.action == "import" else "remove the folder"
        raise UsageError(f"{root} is a bundle, not a project; {else_}")
    if options.action in cache_files.ACTIONS:
        return cache_files.ACTIONS[options.action](options, root)
    return {"dir": _dir, "list": _list, "show": _show, "verify": _verify, "clear": _clear}[options.action](
        options, root, folder
    )


def _manifest(root: str, folder: str) -> dict[str, Any]:
    from ..cache.writer import read_manifest

    manifest, problem = read_manifest(folder)
    if problem:
        say(f"{problem}; {cache_files.remedy(root, folder, 'makes it anew')}")
    return manifest


def _dir(options: argparse.Namespace, root: str, folder: str) -> int:
    path = os.path.abspath(folder)
    print_json({"version": 1, "dir": path, "exists": os.path.isdir(path)}) if options.json else print(path)
    return 0


def _list(options: argparse.Namespace, root: str, folder: str) -> int:
    cache = cache_files.open_cache(root)
    check_names(options.kernels, cache.kernels, "kernel", folder)
    found = _chosen(cache.records(options.kernels), options, folder)
    if options.json:
        print_json({"version": 1, "artifacts": [record._asdict() for record in found]})
        return 0
    now = time()
    head = ("kernel", "specialization", "target", "size", "made", "used", "object", "")
    lines = [
        (
            r.kernel, r.specialization, r.target, size_text(r.size), ago(r.made, now), ago(r.used, now), r.object[:12],
            r.fault or ("stale" if r.stale else ""),
        )
        for r in found
    ]  # fmt: skip
    if lines:
        print(table([head, *lines], right=(3, 4, 5)))
    objects = {record.object: record.size for record in found}
    tell(f"{count(found, 'artifact')}, {count(objects, 'object')}, {size_text(sum(objects.values()))}")
    return 0


def _chosen(records: list[Record], options: argparse.Namespace, where: str) -> list[Record]:
    """Those that the options ask for, in the order that they ask for."""
    check_names(options.targets, sorted({record.target for record in records}), "target", where)
    before = time() - options.older_than
    chosen = [
        r for r in records
        if (not options.targets or r.target in options.targets) and r.size > options.larger_than
        and (not options.older_than or (r.made is not None and r.made < before))
        and (not options.unused_for or r.used is None or r.used < time() - options.unused_for)
    ]  # fmt: skip
    return sorted(chosen, key=ORDERS[options.sort])


def _list_installed(options: argparse.Namespace) -> int:
    from ..runtime.installed import installed

    libraries = installed()
    records = []
    brought: dict[str, tuple[str, str]] = {}  # path of an object → which library of which distribution
    for name, distribution, library, problem in libraries:
        if library is None:
            say(problem)
            continue
        here = cache_files.open_cache(library._origin.root).records()
        brought |= {record.path: (name, distribution) for record in here}
        records += here
    where = "the installed bundles"
    check_names(options.kernels, sorted({record.kernel for record in records}), "kernel", where)
    records = [record for record in records if not options.kernels or record.kernel in options.kernels]
    found = [(*brought[record.path], record) for record in _chosen(records, options, where)]
    if options.json:
        artifacts = [{"library": name, "distribution": title, **record._asdict()} for name, title, record in found]
        print_json({"version": 1, "artifacts": artifacts})
        return 0
    lines = [(name, r.kernel, r.specialization, r.target, size_text(r.size), r.fault) for name, _, r in found]
    if lines:
        print(table(lines, right=(4,)))
    for name, distribution, library, _ in libraries:
        say(f"{name}: {distribution}" + (f", in {library._origin.root}" if library is not None else ", not usable"))
    return 0


def _show(options: argparse.Namespace, root: str, folder: str) -> int:
    from ..cache.contents import indices
    from ..cache.inspection import artifact_faults, rows
    from ..cache.layout import object_path

    manifest = _manifest(root, folder)
    check_names([options.kernel], manifest["kernels"], "kernel", folder)
    found = [row for row in rows(manifest) if row.kernel == options.kernel]
    for wanted, column, what in ((options.specialization, 1, "specialization"), (options.target, 2, "target")):
        if wanted is not None:
            known = dict.fromkeys(str(row[column]) for row in found)
            check_names([wanted], known, what, f"the cache for {options.kernel}")
            found = [row for row in found if row[column] == wanted]
    faults = artifact_faults(folder, {**manifest, "kernels": {options.kernel: manifest["kernels"][options.kernel]}})
    records = cache_files.remembered(folder, [row.key for row in found])
    data = []
    for row in found:
        record = records.get(row.key) or {}
        data.append(
            {
                **row._asdict(),
                "path": os.path.join(folder, object_path(row.object, row.suffix)),
                "fault": faults[row[:3]],
                "needs": _needs(row),
                "fields": record.get("fields", {}),
                "seconds": record.get("seconds"),
                "phases": record.get("phases", {}),
            }
        )
    header = {name: value for name, value in manifest["kernels"][options.kernel].items() if name != "specializations"}
    if options.json:
        print_json({"version": 1, "kernel": options.kernel, **header, "artifacts": data})
        return 0
    print(f"{options.kernel} {header['signature']}" + (f"\n  {header['doc']}" if header["doc"] else ""))
    for entry in data:
        print(f"\n{entry['specialization']} {entry['target']}")
        seconds = entry["seconds"]
        lines = [
            ("object", entry["path"]),
            ("size", f"{entry['size']} bytes"),
            ("key", entry["key"]),
            ("state", entry["fault"] or (f"stale: {entry['stale']}" if entry["stale"] else "current when last built")),
            ("seconds", "-" if seconds is None else f"{seconds:.3f}"),
        ]
        lines.append(("indices", indices(entry["meta"])))
        lines += [("needs", ", ".join(entry["needs"]))] if entry["needs"] else []
        for name, value in entry["meta"].items():
            if name in ("sites", "calls", "places", "unchecked", "features"):
                continue
            lines.append((name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)))
        lines += [(f"key: {name}", value) for name, value in entry["fields"].items()]
        print(table([("  " + name, value) for name, value in lines]))
    return 0


def _needs(row: Row) -> list[str]:
    """What an artifact wants of the processor or device that runs it."""
    from ..targets.registry import find

    target = find(row.target)
    return list(target.needs(row.target, row.meta)) if target else []


def _verify(options: argparse.Namespace, root: str, folder: str) -> int:
    from ..cache.inspection import verify

    if not os.path.isdir(folder):
        say(f"{folder}: there is no cache; {cache_files.remedy(root, folder, 'makes it')}")
        if options.json:
            print_json({"version": 1, "ok": False, "findings": []})
        return 1
    findings = verify(folder)
    bad = [finding for finding in findings if finding.fault]
    fatal = any(finding.fatal for finding in bad)
    if options.json:
        told = [finding._asdict() for finding in bad]
        print_json({"version": 1, "ok": not fatal, "findings": told, "checked": len(findings)})
    else:
        for finding in bad:
            print(f"{finding.what}: {finding.fault}")
    repair = f"; {cache_files.remedy(root, folder, 'repairs ' + ('it' if len(bad) == 1 else 'them'))}" if fatal else ""
    (say if fatal else tell)(f"{len(findings)} checked, {len(bad)} with a fault{repair}")
    return 1 if fatal else 0


def _clear(options: argparse.Namespace, root: str, folder: str) -> int:
    from ..builder.build import BuildError
    from ..cache.inspection import clear
    from ..cache.layout import PROJECT_RENDERED
    from ..cache.writer import explain_os_error

    try:
        files, size = clear(folder, say, (os.path.join(root, *PROJECT_RENDERED),))
    except OSError as error:
        raise BuildError(explain_os_error(error, folder)) from error
    if options.json:
        print_json({"version": 1, "files": files, "bytes": size})
    else:
        tell(f"{folder}: removed {count(files, 'file')}, {size_text(size)}")
    return 0
