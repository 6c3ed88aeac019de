"""Write the first files of a project: kernels.yaml, a template, references, a program that calls a kernel.

  pydotcompute init rings                   then 'pydotcompute build -C rings'
  pydotcompute init --package rings         a package whose wheel ships the kernels: pyproject.toml with the build
                                            hook, tests, and a CI recipe; then 'pip wheel --no-deps ./rings'

Nothing that is there is replaced.
"""

from __future__ import annotations

import argparse
import os

from .arguments import add_common, file_name, print_json, project_root
from .terminal import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", default=".", metavar="DIR", type=file_name, help="where (default: here); made if need be"
    )
    add_common(parser)
    parser.add_argument("--package", action="store_true", help="a package whose wheel ships the kernels")
    parser.add_argument("--name", default="", help="what the package is called (default: as its folder)")


def run(options: argparse.Namespace) -> int:
    from ..packaging.skeleton import InitError, write
    from . import UsageError

    folder = os.path.normpath(os.path.join(project_root(options), options.folder))
    try:
        files = write(folder, options.package, options.name)
    except InitError as error:
        raise UsageError(str(error)) from None
    if options.json:
        print_json({"version": 1, "folder": folder, "files": files})
    else:
        print("\n".join(os.path.join(folder, name) for name in files))
    here = "" if folder == "." else f" -C {folder}"
    place = folder if folder.startswith((os.sep, ".")) else f"./{folder}"
    tell(f"next: pip wheel --no-deps {place}" if options.package else f"next: pydotcompute build{here}")
    return 0
