"""What several commands take, and how it is checked."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any


def add_common(parser: argparse.ArgumentParser, talk: argparse._ActionsContainer | None = None) -> None:
    """-C, --json and -q: every command has them. talk: the group that -q belongs to."""
    parser.add_argument(
        "-C", "--directory", dest="directory", metavar="DIR", default=".", help="work on the project in DIR"
    )
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    add_quiet(parser if talk is None else talk)


def add_targets(parser: argparse.ArgumentParser, text: str, default: list[str] | None = None) -> None:
    """-t, which may be given more than once."""
    parser.add_argument("-t", "--target", dest="targets", metavar="TARGET", action="append", default=default, help=text)


def add_jobs(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("-j", "--jobs", dest="jobs", metavar="N", help=text)


def add_quiet(parser: argparse._ActionsContainer) -> None:
    """-q: see terminal.tell."""
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but what is wrong; data are printed")


def add_dry_run(parser: argparse.ArgumentParser, text: str) -> None:
    """-n: say what would be done."""
    parser.add_argument("-n", "--dry-run", dest="dry_run", action="store_true", help=text)


def file_name(text: str) -> str:
    """The type of an argument that names a file or a folder."""
    if not text:
        raise argparse.ArgumentTypeError("'' names no file and no folder")
    return text


def project_root(options: argparse.Namespace) -> str:
    """The folder that -C names, as the user wrote it; it must exist."""
    from . import UsageError

    if not os.path.isdir(options.directory):
        what = "is not a folder" if os.path.exists(options.directory) else "there is no such folder"
        raise UsageError(f"-C {options.directory}: {what}")
    return options.directory


def of_loading() -> dict[str, Any]:
    """The settings that programs which load kernels read, as those read them."""
    from ..backends.cuda.ranges import asked
    from ..calls.settings import threads
    from ..devices.pinned import target
    from ..errors import BackendNotAvailableError
    from . import UsageError

    try:
        return {"target": target(None) or "", "threads": threads(), "nvtx": asked()}
    except (ValueError, BackendNotAvailableError) as error:
        raise UsageError(str(error)) from None


def check_names(names: Iterable[str], known: Iterable[str], what: str, where: str) -> None:
    """Each of `names` is one of `known`, or the user is told which was probably meant."""
    from . import UsageError

    known = list(known)
    for name in names:
        if name not in known:
            from ..declare.names import near

            hint = near(name, known)
            raise UsageError(f"no {what} '{name}' in {where}" + (f"; {hint}" if hint else ""))


def print_json(data: Mapping[str, Any]) -> None:
    """One object, a line for each of its values, and one for each record of a list: `json` takes several times as long
    to indent what is inside them. Characters that stdout does not have are escaped, so that nothing is lost; so are
    the bytes of names that are not UTF-8, which no reader of JSON takes."""

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write = json.JSONEncoder(ensure_ascii=not encoding.lower().startswith("utf")).encode

    def text(value: Any) -> str:
        if not isinstance(value, (list, tuple)) or not value:
            return write(value)
        return "[\n" + ",\n".join(f"    {write(record)}" for record in value) + "\n  ]"

    whole = "{\n" + ",\n".join(f"  {write(key)}: {text(value)}" for key, value in data.items()) + "\n}"
    print(re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", whole))


SIZES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
AGES = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def size_bytes(text: str) -> int:
    """Bytes: 500M, 1.5GB, 64KiB, 1000."""
    found = re.fullmatch(r"(\d{1,100}(?:\.\d+)?) ?([KMGT]i?|)B?", text)  # of more digits a float may be infinite
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 500M, 1.5G, 64Ki or a number of bytes")
    return int(float(found[1]) * SIZES[found[2]])


def age_seconds(text: str) -> float:
    """Seconds: 30d, 2w, 12h, 90min, 45s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|min|h|d|w)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no age: write 30d, 2w, 12h, 90min or 45s")
    return float(found[1]) * AGES[found[2]]
