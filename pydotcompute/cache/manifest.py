"""Reading a manifest: JSON → what a call needs to know about a kernel, checked while it is read.

A manifest that cannot be used is a `KernelNotBuiltError` that names the file, what is wrong with it, and the command
that writes a new one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Mapping, NamedTuple

from ..artifact import identity, remedies
from ..artifact.dimensions import Tree, from_data, names, text as expression
from ..artifact.identity import title
from ..artifact.signature import DTYPES, Parameter, Signature
from ..artifact.targets import backend_of
from ..errors import KernelNotBuiltError
from . import files, sealed
from .json_text import parse, parse_safely, text_of
from .layout import MANIFEST, PROJECT_CACHE, VERSION, object_path
from .records import FAULTS, Kernels, brief, digest

VENDOR_CALLS = ("matmul",)


class Artifact(NamedTuple):
    """One specialisation for one target: what a backend needs to load it. `str()` is how messages name it."""

    folder: str  # of the cache or bundle
    root: str  # of the project; of a bundle, the bundle
    kernel: str
    specialisation: str
    target: str  # "cpu:x86-64-v3", "cuda:sm_90"; "cpu:x86-64-v3+bounds"
    digest: str
    suffix: str
    size: int
    key: str
    stale: str  # "", or why a newer one could not be made
    meta: dict[str, Any]
    parameters: tuple[Parameter, ...]  # with concrete dtypes
    symbols: tuple[str, ...]
    requires: tuple[Tree, ...] = ()

    def __str__(self) -> str:
        return f"{title(self.kernel, self.specialisation)} for {self.target}"

    @property
    def backend(self) -> str:
        return backend_of(self.target)

    @property
    def remedy(self) -> str:
        """What makes it again."""
        return remedies.build_again(self.folder, self.root, f"{self.kernel} {target_words(self.target)}")

    @property
    def said(self) -> str:
        """The line that its object must have."""
        return identity.line(
            self.kernel, self.specialisation, self.target, self.parameters, self.symbols, files.sha256, self.requires,
            self.meta,
        )  # fmt: skip

    @property
    def file(self) -> str:
        """Its object, relative to the folder."""
        return object_path(self.digest, self.suffix)

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.file}"

    @property
    def owned(self) -> str | None:
        """The project whose own cache it lies in; None of a bundle's."""
        return project_of(self.folder, self.root)


def target_words(target: str) -> str:
    """What a build command says for a target: "-t cpu:native", or "-t cpu:native --bounds"."""
    return f"-t {target.removesuffix('+bounds')}" + " --bounds" * target.endswith("+bounds")


class SpecialisationRecord(NamedTuple):
    name: str  # "T=float32,TILE=32"
    types: dict[str, str]
    params: dict[str, Any]
    aliases: frozenset[tuple[str, str]]  # pairs that may be the same view
    parameters: tuple[Parameter, ...]  # with concrete dtypes
    artifacts: tuple[Artifact, ...]
    failed: dict[str, str] = {}  # target → why the last build of it came to nothing


# types ("T=float32", or "-") → target → device → size class (artifact/size_classes.py) → values by param
Tuned = dict[str, dict[str, dict[str, dict[str, dict[str, Any]]]]]


class KernelRecord(NamedTuple):
    name: str
    doc: str
    signature: Signature
    types: dict[str, tuple[str, ...]]  # type variable → dtypes, in the order of the declaration
    params: dict[str, tuple[Any, ...]]  # the first value is the default
    requires: tuple[Tree, ...]
    specialisations: dict[str, SpecialisationRecord]
    vendor: str = ""  # the function of NumPy's and CuPy's that computes the same, or none
    vendor_when: Tree | None = None  # the condition under which it does so in the kernel's place; none: always
    vendor_on_device: Tree | None = None  # that on GPUs; none: the same
    targets: tuple[str, ...] = ()  # the declared ones
    reference: tuple[str, ...] = ()  # NumPy expressions, or one FILE:FUNCTION, for machines that no artifact is for
    tune: tuple[str, ...] = ()  # params whose values calls get by their size, where they name none
    tuned: Tuned = {}

    @property
    def by_size(self) -> tuple[str, ...]:
        """The params that have no one default: calls that name none of them get values by device and size."""
        return self.tune if self.tuned else ()

    def specialisation(self, types: dict[str, str], params: dict[str, Any]) -> SpecialisationRecord | None:
        """That of these types and params, if there is one."""
        chosen = (s for s in self.specialisations.values() if s.types == types and s.params == params)
        return next(chosen, None)

    @property
    def description(self) -> str:
        """What `help` shows of a kernel: its line, the signature, what types and params there are, and conditions."""
        lines = [self.doc, "", f"{self.name}{self.signature.text}"] if self.doc else [self.name + self.signature.text]
        lines += [f"  {name}: {', '.join(dtypes)}" for name, dtypes in self.types.items()]
        for name, (default, *others) in self.params.items():
            choices = "".join(f" or {other}" for other in others)
            if name in self.by_size:
                lines.append(f"  {name}={default}{choices}, where a call names none by its size and the device")
            else:
                lines.append(f"  {name}={default}{choices and f' (the default){choices}'}")
        lines += [f"  requires {expression(condition)}" for condition in self.requires]
        if self.signature.outputs:
            lines += ["", "Outputs that are not given are allocated; what is returned are the outputs."]
        return "\n".join(lines)


def find(path: str) -> tuple[str, str]:
    """The folder with the manifest for a project or a bundle, and what `-C` is to get in a build command."""
    import os

    if not isinstance(path := os.fspath(path), str):
        raise TypeError(f"a path must be a str or a pathlib.Path, got {path!r}; os.fsdecode makes a str of bytes")
    if os.path.exists(os.path.join(path, MANIFEST)):
        project = os.path.dirname(os.path.dirname(whole := os.path.abspath(path)))  # "cache/" says not where it lies
        if whole == os.path.join(project, *PROJECT_CACHE) and os.path.exists(os.path.join(project, "kernels.yaml")):
            return os.path.normpath(path), project if os.path.isabs(path) else os.path.relpath(project)
        return path, path
    return os.path.join(path, *PROJECT_CACHE), path


def project_of(folder: str, root: str) -> str | None:
    """The project that a folder found by `find` is the cache of; None of a bundle."""
    return None if folder == root else root


def read(folder: str, root: str) -> Kernels:
    """The manifest in `folder`: whole, and none of its records read.

    Raises KernelNotBuiltError: there is none, it is damaged, or of another format version; UntrustedCacheError.
    """
    path = f"{folder}/{MANIFEST}"

    def remedy() -> str:
        return remedies.build_again(folder, root)

    try:
        data = files.read(folder, MANIFEST, files.MOST_MANIFEST, project_of(folder, root))
        whole = sealed.is_whole(data)
        manifest = parse(text_of(data)) if whole else parse_safely(data.decode())
        version = manifest["version"]
        kernels = manifest["kernels"]
        if version == VERSION and not whole:
            raise ValueError("its digest is not that of what follows")
    except (FileNotFoundError, NotADirectoryError):
        raise KernelNotBuiltError(f"no kernels are built in {root}: there is no {path}; {remedy()}") from None
    except OSError as error:
        raise KernelNotBuiltError(f"{path} cannot be read: {error.strerror}; {remedy()}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise KernelNotBuiltError(f"{path} is damaged ({brief(error)}); {remedy()}") from None
    if version != VERSION or type(version) is not int:
        newer = type(version) is int and version > VERSION
        advice = "a newer version of this package reads it; or " if newer else ""
        found = f"{path} has format version {version!r}"
        raise KernelNotBuiltError(f"{found}, this program reads {VERSION}; {advice}{remedy()}")
    if not isinstance(kernels, dict):
        raise KernelNotBuiltError(f"{path} is damaged ('kernels' is not a mapping); {remedy()}")
    if not isinstance(manifest.get("stale", {}), dict):
        raise KernelNotBuiltError(f"{path} is damaged ('stale' is not a mapping); {remedy()}")
    return Kernels(manifest, folder, root)


def kernel_record(kernels: Mapping[str, Any], name: str, folder: str, root: str) -> KernelRecord:
    """What the manifest says about one kernel. Raises KernelNotBuiltError if that is not what it should be."""
    try:
        return parsed(kernels[name], name, folder, root)
    except FAULTS as error:
        path = kernels.path(name) if isinstance(kernels, Kernels) else f"{folder}/{MANIFEST}"
        raise KernelNotBuiltError(
            f"{path} is damaged (kernel '{name}': {brief(error)}); {remedies.build_again(folder, root, name)}"
        ) from None


def stale_artifacts(kernels: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """(kernel, specialisation, target, reason) of every artifact that an unfinished or failed build left behind."""
    try:
        if isinstance(kernels, Kernels):
            return [
                (name, specialisation, target, str(reason))
                for name, marks in kernels.stale.items()
                for specialisation, targets in marks.items()
                for target, reason in targets.items()
            ]
        return [
            (name, specialisation, target, str(artifact["stale"]))
            for name, kernel in kernels.items()
            for specialisation, entry in kernel["specializations"].items()
            for target, artifact in entry["artifacts"].items()
            if artifact.get("stale")
        ]
    except (KeyError, TypeError, AttributeError):
        return []  # the damaged kernel says so when it is used


def parsed(entry: dict[str, Any], name: str, folder: str, root: str) -> KernelRecord:
    """What the entry of a kernel says. Raises some of FAULTS."""
    parameters = tuple(_parameter(p) for p in entry["parameters"])
    if not parameters or len({p.name for p in parameters}) < len(parameters):
        raise ValueError("its parameters are none, or two of one name")
    symbols = tuple(map(_text, entry["symbols"]))
    requires = tuple(map(from_data, entry.get("requires", ())))
    declared_types = {k: tuple(map(_dtype, v)) for k, v in entry.get("types", {}).items()}
    declared_params = {k: tuple(v) for k, v in entry.get("params", {}).items()}
    _check_names(parameters, symbols, requires, declared_types, declared_params)
    specialisations = {}
    for label, s in entry["specializations"].items():
        types = {k: _dtype(v) for k, v in s["types"].items()}
        _check_choice(label, types, declared_types, s["params"], declared_params)
        concrete = tuple(p._replace(dtype=_dtype(types.get(p.dtype, p.dtype))) for p in parameters)
        artifacts = tuple(
            Artifact(folder, root, name, label, target, *artifact_parts(a), concrete, symbols, requires)
            for target, a in s["artifacts"].items()
        )
        aliases = alias_pairs(s["aliases"])
        failed = {_text(target): _text(reason) for target, reason in s.get("failed", {}).items()}
        specialisations[label] = SpecialisationRecord(
            label, types, dict(s["params"]), aliases, concrete, artifacts, failed
        )
    return KernelRecord(
        name,
        _text(entry["doc"]),
        Signature(_text(entry["signature"]), parameters, symbols),
        declared_types,
        declared_params,
        requires,
        specialisations,
        _vendor(entry.get("vendor", {}).get("call", "")),
        _optional(entry.get("vendor", {}).get("when")),
        _optional(entry.get("vendor", {}).get("on_device")),
        tuple(map(_text, entry.get("targets", ()))),
        tuple(map(_text, entry.get("reference", ()))),
        tuple(map(_text, entry.get("tune", ()))),
        _tuned(entry),
    )


def artifact_parts(a: Mapping[str, Any]) -> tuple[str, str, int, str, str, dict[str, Any]]:
    """Digest, suffix, size, key, why it is stale, and metadata, by the entry of an artifact. Raises some of FAULTS."""
    return (
        digest(a["object"]), _suffix(a["suffix"]), _size(a["size"]), _text(a["key"]), _text(a.get("stale", "")),
        _meta(a["meta"]),
    )  # fmt: skip


def alias_pairs(pairs: Any) -> frozenset[tuple[str, str]]:
    """Those that may be the same view. Raises some of FAULTS."""
    return frozenset((_text(one), _text(other)) for one, other in _list(pairs))


def _check_names(
    parameters: tuple[Parameter, ...], symbols: tuple[str, ...], requires: tuple[Tree, ...],
    types: Mapping[str, tuple[str, ...]], params: Mapping[str, Any],
) -> None:  # fmt: skip
    """Every symbol must get its value from an argument, and every name in an expression be one that has a value."""
    scalars = {p.name: types.get(p.dtype, (p.dtype,)) for p in parameters if p.is_input and not p.is_array}
    bound = {name for name, dtypes in scalars.items() if any("int" in dtype for dtype in dtypes)}
    for p in parameters:
        if p.is_input:
            bound |= {dim for dim in p.dims or () if isinstance(dim, str)}
        if p.ellipsis:
            bound.add("rows" if p.dims else "size")
    dims = {name for p in parameters for dim in p.dims or () for name in names(dim)}
    conditions = {name for tree in requires for name in names(tree)}
    known = bound | params.keys()
    if unknown := (dims - known) | (conditions - known - scalars.keys()) | (set(symbols) - bound):
        raise ValueError(f"nothing gives {', '.join(sorted(unknown))} a value")


def _check_choice(
    label: str, types: Mapping[str, str], declared_types: Mapping[str, tuple[str, ...]], params: Mapping[str, Any],
    declared_params: Mapping[str, tuple[Any, ...]],
) -> None:  # fmt: skip
    """A specialisation must have one of the declared choices, and be called so: its objects are bound to the name."""
    chosen, declared = {**types, **params}, {**declared_types, **declared_params}
    if chosen.keys() != declared.keys() or any(value not in declared[name] for name, value in chosen.items()):
        raise ValueError(f"{chosen} is not one of the choices of types and params")
    if sorted(label.split(",")) != (sorted(f"{name}={value}" for name, value in chosen.items()) or ["-"]):
        raise ValueError(f"{label!r} is not the name of {chosen}")


def _meta(found: Any) -> dict[str, Any]:
    """What a backend needs is compared with the object when that is loaded; only places in the source are not in it."""
    if not isinstance(found, dict):
        raise TypeError(f"{found!r} says nothing of an artifact")
    meta = dict(found)
    if "sites" in meta and len(meta["places"]) != len(meta["sites"]) + len(meta["calls"]):
        raise ValueError("it does not say where its indices stand")
    for file, line, column in meta.get("places", ()):
        if not isinstance(file, str) or type(line) is not int or type(column) is not int:
            raise ValueError(f"{[file, line, column]} is not a place")
    return meta


def _tuned(entry: dict[str, Any]) -> Tuned:
    tune, params, found = entry.get("tune", ()), entry.get("params", {}), entry.get("tuned", {})
    if unknown := {*tune} - params.keys():
        raise ValueError(f"{', '.join(map(str, unknown))} under tune is no param")
    for targets in found.values():
        for devices in targets.values():
            for classes in devices.values():
                for values in classes.values():
                    if {*values} != {*tune} or any(value not in params[name] for name, value in values.items()):
                        raise ValueError(f"{values} are not values of {', '.join(tune) or 'no params'}")
    return dict(found)


def _parameter(p: dict[str, Any]) -> Parameter:
    dims = p["dims"]
    if dims is not None:
        dims = tuple(map(from_data, _list(dims)))
        if any(isinstance(dim, (bool, float)) for dim in dims):
            raise ValueError(f"{list(dims)} are not dimensions")
    fill, length = p.get("fill"), p.get("length")
    role, layout = p.get("role", "in"), p.get("layout", "C")
    if role not in ("in", "inout", "out", "temp") or layout not in ("C", "strided", "broadcast"):
        raise ValueError(f"role {role!r}, layout {layout!r}")
    ellipsis = p.get("ellipsis", False)
    if type(ellipsis) is not bool:
        raise TypeError(f"{ellipsis!r} is neither true nor false")
    return Parameter(
        _text(p["name"]), _text(p["dtype"]), dims, role, ellipsis, layout,
        fill if fill is None else _text(fill), length if length is None else _text(length),
    )  # fmt: skip


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _dtype(value: Any) -> str:
    if not isinstance(value, str) or value not in DTYPES:
        raise ValueError(f"{value!r} is not a dtype")
    return value


def _size(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= files.MOST_OBJECT:
        raise ValueError(f"{value!r} is not the size of an object")
    return value


def _vendor(value: Any) -> str:
    """It becomes the name of a function that is called."""
    if not isinstance(value, str) or value not in ("", *VENDOR_CALLS):
        raise ValueError(f"{value!r} is not a function of a vendor's")
    return value


def _optional(value: Any) -> Tree | None:
    return None if value is None else from_data(value)


@lru_cache  # there are few, and thousands of artifacts
def _suffix(value: Any) -> str:
    suffix = _text(value)
    if not suffix.startswith(".") or not suffix[1:].isalnum():
        raise ValueError(f"{value!r} is not a suffix")
    return suffix
