"""A bundle as a package of Python's: `from mylib.kernels import softmax`, with stubs, and what it was made from."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Iterable, NamedTuple

from ..builder.build import BuildError, Project
from ..builder.bundle import MADE, require_replaceable, write_bundle
from ..builder.plan import Item, Plan
from ..cache.files import read_file
from ..cache.keys import record_of
from ..cache.manifest import KernelRecord, kernel_record
from ..cache.writer import explain_os_error, make_folders, read_manifest, replace_file
from ..declare.model import Kernel
from .stubs import stub

METADATA, METADATA_VERSION = "metadata.json", 1
INIT = f'''\
"""Compiled kernels: {{names}}. `help(NAME)` describes one.

{MADE}
"""

from pydotcompute.runtime.module import bundle as _bundle

__getattr__, __dir__ = _bundle(__name__, globals())
'''
CHECKOUT = f'''\
"""Compiled kernels, as 'pydotcompute build' has left them in this checkout.

{MADE}
"""

from pydotcompute.runtime.module import checkout as _checkout

__getattr__, __dir__ = _checkout(__name__, globals(), {{project!r}}, auto_build={{auto_build}})
'''


def write_package(project: Project, plan: Plan, folder: str, references: bool = False) -> tuple[int, int]:
    """Write what a plan asked for, which is built, to `folder`; returns the number of artifacts and their bytes.

    references: with the kernels' declared references, for machines that no artifact is for. Raises BundleError where
    `folder` is something else, BuildError where it cannot be written, or a kernel has no reference.
    """
    kernels = {item.kernel.name: item.kernel for item in plan.wanted} if references else {}
    if lacking := [name for name, kernel in kernels.items() if kernel.reference is None]:
        raise BuildError(
            f"{project.declaration.path}: fallback = \"reference\", and {', '.join(lacking)} declare"
            f"{'s' * (len(lacking) == 1)} none; give each kernel a reference, or take the setting away"
        )
    carried = {name: Carried.of(kernel, project.root) for name, kernel in kernels.items()}

    def beside(manifest: dict[str, Any]) -> dict[str, str]:
        records = [kernel_record(manifest["kernels"], name, folder, folder) for name in sorted(manifest["kernels"])]
        return {
            "__init__.py": INIT.format(names=", ".join(record.name for record in records) or "none"),
            "__init__.pyi": stub(records),
            "py.typed": "",
            METADATA: metadata(plan.wanted),
            **{path: text for reference in carried.values() for path, text in reference.files.items()},
        }

    manifest = manifest_of(project)
    for name, reference in carried.items():
        manifest["kernels"][name]["reference"] = reference.said
    try:
        return write_bundle(project.cache, manifest, {item.name for item in plan.wanted}, folder, project.say, beside)
    except OSError as error:
        raise BuildError(explain_os_error(error, folder)) from error


def manifest_of(project: Project) -> dict[str, Any]:
    """That of what was just built. Raises BuildError: a part that cannot be read is not left out."""
    try:
        manifest, problem = read_manifest(project.cache)
    except OSError as error:
        raise BuildError(explain_os_error(error, project.cache)) from error
    if problem:
        raise BuildError(f"{problem}; run 'pydotcompute build' again")
    return manifest


class Carried(NamedTuple):
    """The reference of a kernel as a bundle has it: what its record says, and the file it needs, by path."""

    said: list[str]
    files: dict[str, str]

    @staticmethod
    def of(kernel: Kernel, root: str) -> Carried:
        declared = kernel.reference or ()
        texts = [declared] if isinstance(declared, str) else list(declared)
        if ".py:" not in texts[0]:
            return Carried(texts, {})
        file, _, function = texts[0].partition(":")
        path = f"references/{file}"
        return Carried([f"{path}:{function}"], {path: Path(root, "templates", file).read_text("utf-8")})


def write_checkout(folder: str, project: str, auto_build: bool) -> None:
    """Write to `folder`, in the place of a bundle, a package that opens what is built in `project`. Raises BuildError,
    BundleError."""
    require_replaceable(folder)
    try:
        shutil.rmtree(folder, ignore_errors=True)
        make_folders(folder)
        there = os.path.relpath(os.path.abspath(project), os.path.abspath(folder))
        text = CHECKOUT.format(project=there, auto_build=auto_build)
        replace_file(os.path.join(folder, "__init__.py"), text.encode(), sync=False)
    except OSError as error:
        raise BuildError(explain_os_error(error, folder)) from error


def write_stubs(project: Project, plan: Plan, path: str) -> int:
    """Write the stubs of the kernels that a plan asked for to the file `path`; returns how many. Raises BuildError."""
    manifest = manifest_of(project)
    names = sorted({item.kernel.name for item in plan.wanted} & set(manifest["kernels"]))
    records: list[KernelRecord] = [
        kernel_record(manifest["kernels"], name, project.cache, project.root) for name in names
    ]
    try:
        make_folders(os.path.dirname(os.path.abspath(path)))
        replace_file(path, stub(records, library=True).encode(), sync=False)
    except OSError as error:
        raise BuildError(explain_os_error(error, path)) from error
    return len(names)


def metadata(items: Iterable[Item]) -> str:
    """What a bundle was made from, as JSON: the fields of each artifact's key, versions of tools among them, and the
    digests of its sources; what all of them share stands once. Nothing in it depends on the machine or the time."""
    items = sorted(items, key=lambda item: item.name)
    every = [set(item.fields.items()) for item in items]
    shared = set.intersection(*every) if every else set()
    artifacts = []
    for item, fields in zip(items, every):
        kernel, specialisation, target = item.name
        artifacts.append(
            {
                "kernel": kernel, "specialization": specialisation, "target": target, "key": item.key,
                "fields": dict(sorted(fields - shared)), "sources": item.sources,
            }
        )  # fmt: skip
    data = {"version": METADATA_VERSION, "fields": dict(sorted(shared)), "artifacts": artifacts}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def read_metadata(folder: str) -> dict[str, dict[str, Any]]:
    """Key → the fields and the sources that a bundle's metadata.json has for it; nothing where it cannot be read."""
    try:
        data = json.loads(read_file(os.path.join(folder, METADATA)))
        found = {
            entry["key"]: record_of({"fields": {**data["fields"], **entry["fields"]}, "sources": entry["sources"]})
            for entry in data["artifacts"]
        }
        return {key: record for key, record in found.items() if record is not None}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
