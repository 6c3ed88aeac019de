"""What several commands take, and how it is checked."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any, Iterable


def add_common(parser: argparse.ArgumentParser) -> None:
    """-C and --json: every command has them."""
    parser.add_argument("-C", dest="directory", metavar="DIR", default=".", help="work on the project in DIR")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")


def project_root(options: argparse.Namespace) -> str:
    """The folder that -C names, as the user wrote it; it must exist."""
    from . import UsageError

    if not os.path.isdir(options.directory):
        what = "is not a folder" if os.path.exists(options.directory) else "there is no such folder"
        raise UsageError(f"-C {options.directory}: {what}")
    return options.directory


def check_names(names: Iterable[str], known: Iterable[str], what: str, where: str) -> None:
    """Each of `names` is one of `known`, or the user is told which was probably meant."""
    from . import UsageError

    known = list(known)
    for name in names:
        if name not in known:
            from ..declare.names import near

            hint = near(name, known)
            raise UsageError(f"no {what} '{name}' in {where}" + (f"; {hint}" if hint else ""))


def print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))
