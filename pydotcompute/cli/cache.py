"""Look into the kernel cache of a project, or into a bundle (-C); verify it; clear it.

  pydotcompute cache dir                    where it is
  pydotcompute cache list softmax           its artifacts, with size and state
  pydotcompute cache list --installed       those of every bundle that installed packages bring
  pydotcompute cache show softmax           everything known of them: key, object, what the processor needs, timings
  pydotcompute cache verify                 read every object, compare it with its digest; exit code 1 if one is bad
  pydotcompute cache clear                  remove it all; the next build makes it again

A damaged or missing artifact of a project is repaired by 'pydotcompute build'.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from .arguments import add_common, check_names, print_json, project_root
from .terminal import count, say, size_text, table

ACTIONS = {
    "dir": "print the folder of the cache",
    "list": "list the artifacts",
    "show": "show everything about the artifacts of a kernel",
    "verify": "read every object and compare it with its digest",
    "clear": "remove every artifact, rendered source and record",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    for name, summary in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        add_common(action)
        if name == "list":
            action.add_argument("kernels", nargs="*", metavar="KERNEL", help="of these alone")
            action.add_argument("--installed", action="store_true", help="of all bundles of installed packages")
        if name == "show":
            action.add_argument("kernel", metavar="KERNEL", help="a kernel in the cache")
            action.add_argument("specialization", nargs="?", metavar="SPECIALIZATION", help="e.g. T=float32")
            action.add_argument("target", nargs="?", metavar="TARGET", help="e.g. cpu:x86-64-v3")


def run(options: argparse.Namespace) -> int:
    from ..cache.layout import MANIFEST, PROJECT_CACHE

    root = project_root(options)
    if options.action == "list" and options.installed:
        return _list_installed(options)
    is_bundle = os.path.isfile(os.path.join(root, MANIFEST))
    if is_bundle and options.action == "clear":
        from . import UsageError

        raise UsageError(f"{root} is a bundle, not a project; remove the folder")
    folder = root if is_bundle else os.path.join(root, *PROJECT_CACHE)
    return {"dir": _dir, "list": _list, "show": _show, "verify": _verify, "clear": _clear}[options.action](
        options, root, folder
    )


def _remedy(root: str, folder: str, does: str) -> str:
    """What to do about a fault: a build for a project; of a bundle, whatever it came from."""
    from ..artifact.remedies import build_again

    return build_again(folder, root) if folder == root else f"'pydotcompute build' {does}"


def _manifest(root: str, folder: str) -> dict[str, Any]:
    from ..cache.writer import read_manifest

    manifest, problem = read_manifest(folder)
    if problem:
        say(f"{problem}; {_remedy(root, folder, 'makes it anew')}")
    return manifest


def _dir(options: argparse.Namespace, root: str, folder: str) -> int:
    path = os.path.abspath(folder)
    print_json({"dir": path, "exists": os.path.isdir(path)}) if options.json else print(path)
    return 0


def _list(options: argparse.Namespace, root: str, folder: str) -> int:
    from ..cache.inspection import artifact_faults, rows

    manifest = _manifest(root, folder)
    check_names(options.kernels, manifest["kernels"], "kernel", folder)
    found = [row for row in rows(manifest) if not options.kernels or row.kernel in options.kernels]
    faults = artifact_faults(folder, manifest)
    states = [faults[row[:3]] or ("stale" if row.stale else "") for row in found]
    if options.json:
        print_json([{**row._asdict(), "fault": state if state != "stale" else ""} for row, state in zip(found, states)])
        return 0
    lines = [
        (row.kernel, row.specialization, row.target, size_text(row.size), row.object[:12], state)
        for row, state in zip(found, states)
    ]
    if lines:
        print(table(lines, right=(3,)))
    objects = {row.object: row.size for row in found}
    say(f"{count(found, 'artifact')}, {count(objects, 'object')}, {size_text(sum(objects.values()))}")
    return 0


def _indices(meta: dict[str, Any]) -> str:
    """What becomes of an artifact's indices."""
    if sites := meta.get("sites"):
        return f"{len(sites)} checked in every call, the others proved to be inside"
    unchecked = meta.get("unchecked")  # by targets of others: not said
    if unchecked == 0:
        return "proved to be inside"
    some = f"{unchecked} access{'es' * (unchecked != 1)}" if unchecked else "all accesses"
    return f"those of {some} neither proved to be inside nor checked"


def _list_installed(options: argparse.Namespace) -> int:
    from ..cache.inspection import rows
    from ..runtime.installed import installed

    libraries = installed()
    found = []
    for name, distribution, library, problem in libraries:
        if library is None:
            say(problem)
            continue
        manifest = _manifest(library._root, library._folder)
        found += [(name, distribution, row) for row in rows(manifest)]
    check_names(options.kernels, {row.kernel for _, _, row in found}, "kernel", "the installed bundles")
    found = [entry for entry in found if not options.kernels or entry[2].kernel in options.kernels]
    if options.json:
        print_json([{"library": name, "distribution": title, **row._asdict()} for name, title, row in found])
        return 0
    lines = [(name, row.kernel, row.specialization, row.target, size_text(row.size)) for name, _, row in found]
    if lines:
        print(table(lines, right=(4,)))
    for name, distribution, library, _ in libraries:
        say(f"{name}: {distribution}" + (f", in {library._root}" if library is not None else ", not usable"))
    return 0


def _show(options: argparse.Namespace, root: str, folder: str) -> int:
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
    records = _records(folder, [row.key for row in found])
    data = []
    for row in found:
        record = records.get(row.key) or {}
        data.append(
            {
                **row._asdict(),
                "path": os.path.join(folder, object_path(row.object, row.suffix)),
                "fault": faults[row[:3]],
                "fields": record.get("fields", {}),
                "seconds": record.get("seconds"),
                "phases": record.get("phases", {}),
            }
        )
    header = {name: value for name, value in manifest["kernels"][options.kernel].items() if name != "specializations"}
    if options.json:
        print_json({"kernel": options.kernel, **header, "artifacts": data})
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
        lines.append(("indices", _indices(entry["meta"])))
        for name, value in entry["meta"].items():
            if name in ("sites", "calls", "places", "unchecked"):
                continue
            lines.append((name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)))
        lines += [(f"key: {name}", value) for name, value in entry["fields"].items()]
        print(table([("  " + name, value) for name, value in lines]))
    return 0


def _records(folder: str, keys: list[str]) -> dict[str, Any]:
    """What the store, or a bundle's metadata.json, says of these keys; nothing where there is none to read."""
    from ..cache.layout import KEYS

    place = os.path.join(folder, KEYS)
    if not os.path.isdir(place):
        from ..packaging.package import read_metadata

        return {key: found for key, found in read_metadata(folder).items() if key in keys}
    from ..builder.outcome import record_name
    from ..cache.store import open_store

    store = open_store(place, say, start_anew=False)
    try:
        return {key: store.get(record_name(key)) for key in keys}
    finally:
        store.close()


def _verify(options: argparse.Namespace, root: str, folder: str) -> int:
    from ..cache.inspection import verify

    if not os.path.isdir(folder):
        say(f"{folder}: there is no cache; {_remedy(root, folder, 'makes it')}")
        if options.json:
            print_json({"ok": False, "findings": []})
        return 1
    findings = verify(folder)
    bad = [finding for finding in findings if finding.fault]
    fatal = any(finding.fatal for finding in bad)
    if options.json:
        print_json({"ok": not fatal, "findings": [finding._asdict() for finding in bad], "checked": len(findings)})
    else:
        for finding in bad:
            print(f"{finding.what}: {finding.fault}")
    repair = f"; {_remedy(root, folder, 'repairs ' + ('it' if len(bad) == 1 else 'them'))}" if fatal else ""
    say(f"{len(findings)} checked, {len(bad)} with a fault{repair}")
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
        print_json({"files": files, "bytes": size})
    else:
        say(f"{folder}: removed {count(files, 'file')}, {size_text(size)}")
    return 0
