"""The parts of a manifest: an index, which alone changes, and one immutable record a kernel, named by its digest.

So one kernel of thousands costs what one of ten does, and a library that was opened before a build still finds what
its index names. What a later build marks as out of date stands in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..artifact import remedies
from ..errors import KernelNotBuiltError
from . import files
from .json_text import parse, text_of
from .layout import record_path

FAULTS = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)  # of what was read


class Kernels(Mapping[str, Any]):
    """The kernels of an index by name; what is said of one is read whenever it is asked for."""

    def __init__(self, index: dict[str, Any], folder: str, root: str):
        self.digests: dict[str, Any] = index["kernels"]
        self.stale: dict[str, Any] = index.get("stale", {})
        self._folder, self._root = folder, root

    def path(self, name: str) -> str:
        """Of the record of a kernel. Raises ValueError where the index names none."""
        return f"{self._folder}/{record_path(digest(self.digests[name]))}"

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Raises KeyError, KernelNotBuiltError, UntrustedCacheError."""
        found = self.digests[name]
        try:
            project = None if self._folder == self._root else self._root
            data = files.read(self._folder, record_path(digest(found)), files.MOST_MANIFEST, project)
            return joined(data, found, self.stale.get(name, {}))
        except FileNotFoundError:
            told = f"{self.path(name)} is missing: if '{name}' was built again, load the library anew; otherwise"
        except OSError as error:
            told = f"{self.path(name)} cannot be read: {error.strerror};"
        except FAULTS as error:
            told = f"{self._folder}/{record_path(str(found))} is damaged (kernel '{name}': {brief(error)});"
        raise KernelNotBuiltError(f"{told} {remedies.build_again(self._folder, self._root, name)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.digests)

    def __len__(self) -> int:
        return len(self.digests)

    def __contains__(self, name: object) -> bool:
        return name in self.digests


def joined(data: bytes, name: str, stale: Mapping[str, Any], read: Callable[[str], Any] = parse) -> dict[str, Any]:
    """What a manifest says of a kernel: its record, with the marks of the index. Raises some of FAULTS."""
    if files.sha256(data) != name:
        raise ValueError("its digest is not its name")
    entry: dict[str, Any] = read(text_of(data))
    for label, specialisation in entry["specializations"].items():
        marks = stale.get(label, {})
        for target, artifact in specialisation["artifacts"].items():
            artifact["stale"] = marks.get(target, "")
    return entry


def split(manifest: Mapping[str, Any], text: Callable[[Any], str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The index of a manifest, and its records by digest. text: of a value, always the same of the same."""
    digests, stale, records = {}, {}, {}
    for name, entry in manifest["kernels"].items():
        marks = {
            label: {target: artifact["stale"] for target, artifact in s["artifacts"].items() if artifact["stale"]}
            for label, s in entry["specializations"].items()
        }
        if marks := {label: targets for label, targets in marks.items() if targets}:
            stale[name] = marks
        specialisations = {
            label: {**s, "artifacts": {t: _unmarked(artifact) for t, artifact in s["artifacts"].items()}}
            for label, s in entry["specializations"].items()
        }
        data = text({**entry, "specializations": specialisations}).encode()
        digests[name] = files.sha256(data)
        records[digests[name]] = data
    return {"version": manifest["version"], "kernels": digests, "stale": stale}, records


def _unmarked(artifact: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in artifact.items() if name != "stale"}


def digest(value: Any) -> str:
    """A SHA-256, which becomes part of a path. Raises ValueError where it is none."""
    if not isinstance(value, str) or len(value) != 64 or value.strip("0123456789abcdef"):
        raise ValueError(f"{value!r} is not a SHA-256 digest")
    return value


def brief(error: Exception) -> str:
    """Why something is damaged, in some words."""
    text = f"no {error}" if isinstance(error, KeyError) else str(error)
    return " ".join(text.split())[:200]

