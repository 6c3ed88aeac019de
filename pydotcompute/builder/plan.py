"""What a build would do, and why: each artifact's key against the manifest. Nothing here compiles or writes.

A plan covers every declared artifact, asked for or not, so that the manifest can say afterwards which of those it
kept are out of date. It imports no compiler: a build with nothing to do costs little more than reading the files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Iterable, Mapping, NamedTuple

from ..artifact import identity
from ..cache.files import sha256
from ..cache.keys import canonical, changes, digest, key
from ..cache.manifest import alias_pairs, artifact_parts
from ..cache.records import FAULTS
from ..declare.model import Declaration, Kernel, Rendered, Specialisation
from ..errors import DeclarationError
from ..targets.base import BOUNDS, backend_of
from ..targets.registry import get
from .code import CODE, versions

Name = tuple[str, str, str]  # kernel, specialisation, target: what the manifest maps to an artifact
Place = tuple[str, str, str, bool]  # kernel, specialisation, backend, with AVX-512 or without: what is rendered once


class Reason(NamedTuple):
    """Why an artifact is not current. `kind`: "not built", "missing", "damaged", "changed" or "unfinished"."""

    kind: str
    what: str = ""  # of "changed": the field
    old: str | None = None
    new: str | None = None
    note: str = ""  # which file, where that is known

    def __str__(self) -> str:
        if self.kind != "changed":
            return self.what or self.kind
        if self.what == CODE:
            return "pydotcompute's code generation changed"
        if self.what.startswith("flag "):  # one that is not there is off
            return f"{self.what}: {self.old or 'no'} → {self.new or 'no'}"
        if self.old is None or self.new is None or self.what in SHOWN_BY_NAME:
            return f"{self.what} changed" + (f" ({self.note})" if self.note else "")
        label = self.what if self.what.startswith("tool ") else f"{self.what}:"
        return f"{label} {self.old} → {self.new}"

    @property
    def cause(self) -> str:
        """In two or three words, the same for all of its kind: what misses are counted by."""
        return f"{self.what or 'something'} changed" if self.kind == "changed" else self.kind


SHOWN_BY_NAME = ("source", "processor", "interface", "lines", "tuned")  # digests and long lists say nothing to a reader
# fields that another one decides: not worth a word beside it
FOLLOWS = {"interface": "signature", "lines": "flag debug-info"}


@dataclass(frozen=True)
class Item:
    """One artifact as it should be, beside what the manifest has."""

    kernel: Kernel
    specialisation: Specialisation
    target: str  # with `+bounds`, where that is asked for
    wanted: bool  # asked for in this build; others are looked at, never built
    fields: dict[str, str]
    sources: dict[str, str]  # what the source is made of → digest, for the reason alone
    key: str
    reasons: tuple[Reason, ...]  # none: current
    found: dict[str, Any] | None  # what the store remembers of this very key, its object being intact
    debug_info: bool = False

    @property
    def name(self) -> Name:
        return (self.kernel.name, str(self.specialisation), self.target)

    @property
    def place(self) -> Place:
        return place_of(self.kernel, self.specialisation, self.target)

    def said(self, meta: Mapping[str, Any]) -> str:
        """The line of its object, of which this is the metadata."""
        return said(self.kernel, self.specialisation, self.target, meta)

    @property
    def reason(self) -> str:
        return "; ".join(map(str, self.reasons))


@dataclass(frozen=True)
class Plan:
    declaration: Declaration
    targets: tuple[str, ...]  # asked for
    bounds: bool
    manifest: dict[str, Any]  # as found
    items: tuple[Item, ...]
    rendered: dict[Place, Rendered]
    unrendered: dict[Place, DeclarationError]  # asked for or not
    asked: frozenset[str]  # kernels

    @property
    def failures(self) -> dict[Name, DeclarationError]:
        """The artifacts that are asked for and cannot even be rendered."""
        return {
            (kernel, label, target): error
            for kernel, label in dict.fromkeys(place[:2] for place in self.unrendered)
            for target in self.targets
            if kernel in self.asked and (error := self.mistake(kernel, label, target))
        }

    def mistake(self, kernel: str, label: str, target: str) -> DeclarationError | None:
        """Why this specialisation cannot be rendered for a target."""
        return self.unrendered.get((kernel, label, *_rendered_for(target)))

    @property
    def refused(self) -> dict[str, DeclarationError]:
        """The kernels that are asked for and whose declaration is wrong."""
        return {name: error for name, error in self.declaration.refused.items() if name in self.asked}

    @property
    def impossible(self) -> list[str]:
        """Kernels that are asked for and that no target asked for can have."""
        made = {item.kernel.name for item in self.wanted} | {kernel for kernel, _, _ in self.failures}
        return [name for name in self.declaration.kernels if name in self.asked and name not in made]

    @property
    def wanted(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.wanted)

    def entry(self, item: Item) -> dict[str, Any] | None:
        """What the manifest says of an item; None: nothing."""
        kernel = self.manifest["kernels"].get(item.name[0], {"specializations": {}})
        found: dict[str, Any] = kernel["specializations"].get(item.name[1], {"artifacts": {}})["artifacts"]
        return found.get(item.target)

    @property
    def stale(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.wanted and item.reasons)


def make_plan(
    declaration: Declaration,
    render: Callable[[Kernel, Specialisation, str, bool], Rendered],
    fault: Callable[[str, str, int, str], str],
    manifest: dict[str, Any],
    *,
    kernels: Iterable[str] | None = None,
    targets: Iterable[str] = (),
    bounds: bool = False,
    debug_info: bool | None = None,
    history: Callable[[str], dict[str, Any] | None] = lambda key: None,
    tools: Callable[[str], Mapping[str, str]] = versions,
) -> Plan:
    """Compare every artifact of the declaration with the cache whose manifest is given. fault: why an object of it is
    not what its name, suffix, size and line say; empty if it is.

    `kernels` and `targets` say what is asked for (default: all, and the declaration's targets). `history` gives the
    record kept under a key. `debug_info` says whether what is asked for has it (None, and of all else: as what is
    there). A kernel that cannot be rendered has no items, but an entry in `unrendered`.
    """
    asked = frozenset((*declaration.kernels, *declaration.refused) if kernels is None else kernels)
    base_targets = tuple(targets) or declaration.targets
    if bounds:
        base_targets = tuple(t + BOUNDS for t in base_targets if get(t).has_bounds)
    wanted_targets = tuple(dict.fromkeys(base_targets))
    versions: dict[str, dict[str, str]] = {}
    items: list[Item] = []
    rendered: dict[Place, Rendered] = {}
    unrendered: dict[Place, DeclarationError] = {}
    for kernel in declaration.kernels.values():
        header = manifest["kernels"].get(kernel.name, {}).get("specializations", {})
        for specialisation in kernel.specialisations:
            entries = header.get(str(specialisation), {}).get("artifacts", {})
            for target in dict.fromkeys((*wanted_targets, *declaration.targets, *entries)):
                wanted = kernel.name in asked and target in wanted_targets
                entry = entries.get(target)
                if entry is None and not wanted:
                    continue
                backend = backend_of(target)
                place = place_of(kernel, specialisation, target)
                if place not in rendered and place not in unrendered:
                    try:
                        rendered[place] = render(kernel, specialisation, *place[2:])
                    except DeclarationError as error:
                        unrendered[place] = error
                if place in unrendered or get(backend).refusal(kernel, specialisation, rendered[place]):
                    continue
                if backend not in versions:
                    versions[backend] = dict(tools(backend))
                fields = key_fields(kernel, specialisation, target, rendered[place], versions[backend])
                debug = debug_info if wanted and debug_info is not None else bool(entry and _has_debug_info(entry))
                if debug := debug and get(backend).has_debug_info:
                    fields |= debug_fields(kernel, rendered[place])
                sources = source_digests(kernel, rendered[place])
                new_key = key(fields)
                line = partial(said, kernel, specialisation, target)
                reasons = why_stale(fault, entry, new_key, fields, sources, history, line)
                found = usable_record(fault, history(new_key), line) if reasons and wanted else None
                items.append(
                    Item(kernel, specialisation, target, wanted, fields, sources, new_key, reasons, found, debug)
                )
    return Plan(declaration, wanted_targets, bounds, manifest, tuple(items), rendered, unrendered, asked)


def place_of(kernel: Kernel, specialisation: Specialisation, target: str) -> Place:
    return (kernel.name, str(specialisation), *_rendered_for(target))


def _rendered_for(target: str) -> tuple[str, bool]:
    return backend_of(target), get(target).has_avx512(target)


def said(kernel: Kernel, specialisation: Specialisation, target: str, meta: Mapping[str, Any]) -> str:
    """The line by which an object with this metadata says what it is."""
    types = dict(specialisation.types)
    concrete = [p._replace(dtype=types.get(p.dtype, p.dtype)) for p in kernel.signature.parameters]
    return identity.line(
        kernel.name, str(specialisation), target, concrete, kernel.signature.symbols, sha256, kernel.requires, meta
    )


def key_fields(
    kernel: Kernel, specialisation: Specialisation, target: str, rendered: Rendered, versions: Mapping[str, str]
) -> dict[str, str]:
    """Everything that can reach the bytes of this artifact, as text by name."""
    fields = {
        "kernel": kernel.name,
        "signature": " ".join(kernel.signature.text.split()),
        # what was read out of it: the order of the words of a call, and what outputs hold before
        "interface": canonical([*map(tuple, kernel.signature.parameters), kernel.signature.symbols]),
        "types": canonical(specialisation.types),
        "declared types": canonical([*kernel.types.items()]),  # an entry point knows which others there are
        "params": canonical(specialisation.params),
        "requires": canonical(list(kernel.requires)),
        "vendor": canonical(kernel.vendor),  # an entry point hands such calls on
        **({"tune": canonical(kernel.tune)} if kernel.tune else {}),  # it chooses by size
        **({"tuned": canonical(kernel.tuned)} if kernel.tuned else {}),
        "source": digest(rendered.text),
        "flag raw": rendered.raw or "no",
        **({"flag avx512": "yes"} if rendered.avx512 else {}),
        "flag inline": "yes" if rendered.inline else "no",
        "flag fastmath": f"[{', '.join(kernel.fastmath)}]",
        "flag unchecked": "yes" if kernel.unchecked else "no",
        "disjoint": canonical(list(kernel.disjoint)),  # without the author's word the kernel may be refused
        "target": target,  # with `+bounds`, where that is meant
    }
    fields |= get(target).fields(kernel, target)
    for name, version in versions.items():
        fields[name if name == CODE else f"tool {name}"] = version
    return fields


def debug_fields(kernel: Kernel, rendered: Rendered) -> dict[str, str]:
    """What enters the key of an artifact with tables of lines: which line each rendered line comes from, and what
    stands there, which decides the columns."""
    return {"flag debug-info": "yes", "lines": digest(canonical(rendered.places_from(os.path.dirname(kernel.at.path))))}


def _has_debug_info(entry: Mapping[str, Any]) -> bool:
    return bool(entry["meta"].get("debug_info"))


def why_stale(
    fault: Callable[[str, str, int, str], str],
    entry: Mapping[str, Any] | None,
    new_key: str,
    fields: Mapping[str, str],
    sources: Mapping[str, str],
    history: Callable[[str], dict[str, Any] | None],
    line: Callable[[Mapping[str, Any]], str],
) -> tuple[Reason, ...]:
    """Why the manifest's entry does not serve; empty if it does. line: of an object (artifact/identity.py), from its
    metadata."""
    if entry is None:
        return (Reason("not built"),)
    if entry["key"] == new_key:
        problem = fault(entry["object"], entry["suffix"], entry["size"], line(entry["meta"]))
        return (Reason("missing" if "missing" in problem else "damaged", problem),) if problem else ()
    record = history(entry["key"])
    if record is None:
        return (Reason("changed", "something", note="the history of the cache was lost"),)
    changed = changes(record["fields"], fields)
    told = {name for name, _, _ in changed}
    return tuple(
        Reason("changed", name, old, new, source_note(record, sources) if name == "source" else "")
        for name, old, new in changed
        if FOLLOWS.get(name) not in told
    )


def source_digests(kernel: Kernel, rendered: Rendered) -> dict[str, str]:
    """What a rendered source is made of, by name: for the reason, not for the key."""
    found = {f"template {name}": digest(text) for name, text in rendered.sources.items()}
    if kernel.body is not None:
        found["body"] = digest(kernel.body)
    if kernel.family:
        found["values of the family"] = digest(canonical(kernel.family))
    return found


def source_note(record: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    """Which files the change of the rendered source comes from, as far as that is known."""
    return ", ".join(name for name, _, _ in changes(record["sources"], sources))


def usable_record(
    fault: Callable[[str, str, int, str], str], record: Mapping[str, Any] | None,
    line: Callable[[Mapping[str, Any]], str],
) -> dict[str, Any] | None:
    """The record of an artifact that was made before under this key, if its object is still there and intact."""
    if record is None or not _is_record(record):
        return None
    entry = record["entry"]
    if fault(entry["object"], entry["suffix"], entry["size"], line(entry["meta"])):
        return None
    return dict(record)


def _is_record(record: Mapping[str, Any]) -> bool:
    """Whether this is what a build writes: the store is a file that anything may have happened to."""
    try:
        artifact_parts(record["entry"])
        alias_pairs(record["aliases"])
    except FAULTS:
        return False
    return True
