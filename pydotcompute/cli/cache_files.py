"""What 'pydotcompute cache' does with a cache as files: what they take up, out of it, into it, away."""

from __future__ import annotations

import argparse
import os
from time import time
from typing import TYPE_CHECKING, Any

from .arguments import check_names, print_json
from .terminal import age_text, ago, count, duration_text, say, size_text, table, tell

if TYPE_CHECKING:
    from ..cache.contents import Cache

MOST_NAMED = 8  # artifacts, in a message that says which there are


def remedy(root: str, folder: str, does: str) -> str:
    """What to do about a fault: a build for a project; of a bundle, whatever it came from."""
    from ..artifact.remedies import build_again

    return build_again(folder, root) if folder == root else f"'pydotcompute build' {does}"


def open_cache(root: str) -> Cache:
    """The cache of a project, or a bundle; says what is wrong with its manifest."""
    from ..cache.contents import Cache

    cache = Cache(root)
    if cache.problem:
        say(f"{cache.problem}; {remedy(cache.root, cache.folder, 'makes it anew')}")
    return cache


def remembered(folder: str, keys: list[str]) -> dict[str, Any]:
    """What the store, or a bundle's metadata.json, says of these keys; nothing where there is none to read."""
    from ..cache.layout import KEYS

    place = os.path.join(folder, KEYS)
    if not os.path.isdir(place):
        from ..packaging.package import read_metadata

        return {key: found for key, found in read_metadata(folder).items() if key in keys}
    from ..cache.keys import record_of
    from ..cache.layout import record_name
    from ..cache.store import open_store

    store = open_store(place, say, start_anew=False)
    try:
        return {key: record for key in keys if (record := record_of(store.get(record_name(key))))}
    finally:
        store.close()


def stats(options: argparse.Namespace, root: str) -> int:
    cache = open_cache(root)
    found, now = cache.statistics(), time()
    if options.json:
        shares = {
            name: [share._asdict() for share in part]
            for name, part in (("kernels", found.kernels), ("targets", found.targets))
        }
        print_json({"version": 1, **found._asdict(), **shares, "builds": found.builds._asdict()})
        return 0
    if found.problem:
        say(found.problem)
    parts = [
        table([
            (head, "artifacts", "size", "build", "used"),
            *((s.name, str(s.artifacts), size_text(s.bytes), _took(s.seconds), ago(s.used, now)) for s in part),
        ], (1, 2, 3, 4))
        for head, part in (("kernel", found.kernels), ("target", found.targets))
    ]  # fmt: skip
    if found.artifacts:
        print("\n\n".join(parts))
    builds = found.builds
    if builds.since is not None:
        print(f"\n{count(builds.builds, 'build')} in {age_text(now - builds.since)}: {count(builds.hits, 'hit')}, "
              f"which saved {duration_text(builds.saved)}; "
              + count(sum(builds.misses.values()), "miss", "misses") + (":" if builds.misses else ""))  # fmt: skip
        print("".join(f"  {number:>6}  {why}\n" for why, number in builds.misses.items()), end="")
    unknown = f", {found.unknown} not known" if found.unknown and found.seconds is not None else ""
    unused = f"; {count(found.unused, 'file')} that none uses, {size_text(found.unused_bytes)}" if found.unused else ""
    stale = f", {found.stale} of them stale" if found.stale else ""
    took = _took(found.seconds) + unknown
    tell(f"{count(found.artifacts, 'artifact')}{stale}, {size_text(found.bytes)}, {took}{unused}")
    return 0


def _took(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f} s"


def extract(options: argparse.Namespace, root: str) -> int:
    from ..cache.inspection import rows
    from . import UsageError

    cache = open_cache(root)
    check_names([options.kernel], cache.kernels, "kernel", cache.folder)
    found = [row for row in rows(cache.manifest) if row.kernel == options.kernel]
    where = f"the cache for {options.kernel}"
    if options.specialization is not None:
        check_names([options.specialization], dict.fromkeys(r.specialization for r in found), "specialization", where)
        found = [row for row in found if row.specialization == options.specialization]
    if options.targets:
        check_names(options.targets, dict.fromkeys(row.target for row in found), "target", where)
        found = [row for row in found if row.target in options.targets]
    if len(found) != 1:
        some = [f"{r.kernel} {r.specialization} -t {r.target}" for r in found[:MOST_NAMED]]
        more = f", and {len(found) - MOST_NAMED} others" if len(found) > MOST_NAMED else ""
        raise UsageError(f"one file takes one artifact; there are {len(found)}: {', '.join(some)}{more}")
    (row,) = found
    try:
        size = cache.extract(*row[:3], options.output)
    except ValueError as error:
        raise UsageError(f"-o {error}") from None
    if row.stale:
        say(f"{' '.join(row[:3])} is out of date: {row.stale}")
    if options.json:
        print_json({"version": 1, "file": options.output, **row._asdict()})
    else:
        tell(f"{options.output}: {' '.join(row[:3])}, {size_text(size)}")
    return 0


def prune(options: argparse.Namespace, root: str) -> int:
    from ..builder.build import BuildError
    from ..cache.contents import Cache
    from ..cache.writer import explain_os_error
    from . import UsageError

    if options.max_size is None and options.older_than is None and not options.unused:
        raise UsageError("say what is to go: --unused, --older-than AGE, --max-size SIZE")
    cache = Cache(root)
    try:
        found = cache.prune(options.max_size, options.older_than, options.unused, options.dry_run, say)
    except OSError as error:
        raise BuildError(explain_os_error(error, cache.folder)) from error
    if options.json:
        objects = [taken._asdict() for taken in found.objects]
        print_json({"version": 1, "dry_run": options.dry_run, **found._asdict(), "objects": objects})
    elif options.dry_run and found.objects:
        now = time()
        print(table([
            (taken.path, size_text(taken.size), age_text(now - taken.last),
             ", ".join(" ".join(name) + ", out of date" for name in taken.artifacts) or "unused")
            for taken in found.objects
        ], right=(1, 2)))  # fmt: skip
    does = "would remove" if options.dry_run else "removed"
    gone = f"{does} {count(found.objects, 'object')}, {size_text(found.bytes)}"
    gone += f", and {count(found.records, 'record')} of its history" if found.records else ""
    tell(f"{cache.folder}: {gone}; {size_text(found.left)} {'would be ' * options.dry_run}left")
    if options.max_size is not None and found.left > options.max_size:
        say(f"that is more than {size_text(options.max_size)}, and all of it is current")
        return 1
    return 0


def export(options: argparse.Namespace, root: str) -> int:
    from ..cache.contents import Cache
    from . import UsageError

    try:
        artifacts, size = Cache(root).export_to(options.file)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.json:
        print_json({"version": 1, "file": options.file, "artifacts": artifacts, "bytes": size})
    else:
        tell(f"{options.file}: {count(artifacts, 'artifact')}, {size_text(size)}")
    return 0


def import_(options: argparse.Namespace, root: str) -> int:
    from ..builder.build import BuildError
    from ..cache.contents import Cache
    from ..cache.writer import explain_os_error

    if not os.path.exists(options.file):
        raise BuildError(f"{options.file}: there is no such file")
    cache = Cache(root)
    try:
        found = cache.import_from(options.file, say)
    except OSError as error:
        raise BuildError(explain_os_error(error, cache.folder)) from error
    if options.json:
        print_json({"version": 1, **found._asdict()})
        return 0
    for name in found.refused:
        say(f"left out: {' '.join(name)}: the kernel is declared otherwise here")
    kept = f"; {len(found.kept)} left out, which are current here" if found.kept else ""
    check = "; 'pydotcompute build' makes anew what is not what the sources say" if found.taken else ""
    tell(f"{cache.folder}: took {count(found.taken, 'artifact')}{kept}{check}")
    return 0


ACTIONS = {"stats": stats, "extract": extract, "export": export, "import": import_, "prune": prune}
