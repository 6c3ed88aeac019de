"""Artifacts and projects for tests of the run half: entry points around a `run` that is written in LLVM IR here.

`recorder` is a `run` that computes nothing and copies the words it is called with, views included, to where a test
can read them. `elementwise` computes `out[i] = a * x[i] + y[i]`.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import pydotcompute
from pydotcompute.artifact import abi
from pydotcompute.artifact import dimensions, identity
from pydotcompute.cache import files
from pydotcompute.cache.layout import PROJECT_CACHE, VERSION
from pydotcompute.cache.sealed import seal
from pydotcompute.cache.records import joined, split
from pydotcompute.cache.writer import make_folders, manifest_text, read_manifest, write_manifest, write_object
from pydotcompute.targets.cpu.entry import entry_ir
from pydotcompute.declare import expressions
from pydotcompute.errors import Position
from pydotcompute.artifact.signature import Parameter

SEEN_WORDS, VIEW_WORDS = 64, 40


def scalar(name: str, dtype: str, role: str = "in", fill: str | None = None) -> Parameter:
    return Parameter(name, dtype, None, role, fill=fill)


def array(name: str, dtype: str, *dims, role: str = "in", layout: str = "C", fill: str | None = None) -> Parameter:
    """`array("x", "T", ..., "n")` is `x: T[..., n]`."""
    ellipsis = bool(dims) and dims[0] is ...
    return Parameter(name, dtype, tuple(map(tree, dims[ellipsis:])), role, ellipsis, layout, fill)


def tree(expression: str | int, kind: str = "integer"):
    """An expression as the declaration's reader gives it; what is no text is one already."""
    if not isinstance(expression, str):
        return expression
    spot = lambda offset: Position("expression", 1, offset + 1, expression)  # noqa: E731
    return expressions.read(expression, kind, expressions.used_names(expression), spot)


def symbols_of(parameters) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for p in parameters:
        if p.is_array and p.ellipsis:
            found["size" if not p.dims else "rows"] = None
        for d in p.dims or ():
            found |= dict.fromkeys(dimensions.names(d))
    return tuple(found)


def recorder(parameters, symbols) -> str:
    """LLVM IR of a `run` that keeps its words in `seen`, and the views behind them; output scalars get a 7 in bits."""
    layout, total = abi.slots(parameters, symbols)
    views = [s for s in layout if s.kind == "view"]
    size = SEEN_WORDS + VIEW_WORDS * len(views)
    lines = [
        f"@seen = global [{size} x i64] zeroinitializer", "@calls = global i64 0", "@threads = global i32 0",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "define i32 @run(ptr %w) {",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr @seen, ptr %w, i64 {8 * total}, i1 false)",
        "  %c = load i64, ptr @calls", "  %d = add i64 %c, 1", "  store i64 %d, ptr @calls",
    ]  # fmt: skip
    for k, slot in enumerate(views):
        start = SEEN_WORDS + VIEW_WORDS * k
        lines += [
            f"  %p{k} = getelementptr i64, ptr %w, i64 {slot.index}", f"  %v{k} = load ptr, ptr %p{k}",
            f"  %n{k} = load i64, ptr %v{k}", f"  %t{k} = shl i64 %n{k}, 1", f"  %m{k} = add i64 %t{k}, 1",
            f"  %b{k} = shl i64 %m{k}, 3", f"  %g{k} = getelementptr i64, ptr @seen, i64 {start}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %g{k}, ptr %v{k}, i64 %b{k}, i1 false)",
        ]  # fmt: skip
    for k, p in enumerate(parameters):
        if p.role == "out" and not p.is_array and p.dtype in ("int64", "float64"):
            index = next(s.index for s in layout if s.kind == "data" and s.name == p.name)
            lines += [
                f"  %o{k} = getelementptr i64, ptr %w, i64 {index}", f"  %q{k} = load ptr, ptr %o{k}",
                f"  store i64 7, ptr %q{k}",
            ]  # fmt: skip
    return "\n".join([*lines, "  ret i32 0", "}"])


def elementwise(dtype: str = "float32") -> str:
    """LLVM IR of `out[i] = a * x[i] + y[i]` for (a: T, x: T[...], y: T[...]) -> (out: T[...])."""
    t = {"float32": "float", "float64": "double"}[dtype]
    return f"""
@threads = global i32 0
define i32 @run(ptr %w) {{
  %a = load {t}, ptr %w
  %px = getelementptr i64, ptr %w, i64 1
  %py = getelementptr i64, ptr %w, i64 2
  %po = getelementptr i64, ptr %w, i64 3
  %pn = getelementptr i64, ptr %w, i64 4
  %x = load ptr, ptr %px
  %y = load ptr, ptr %py
  %o = load ptr, ptr %po
  %n = load i64, ptr %pn
  br label %head
head:
  %i = phi i64 [0, %0], [%j, %body]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %xi = getelementptr {t}, ptr %x, i64 %i
  %yi = getelementptr {t}, ptr %y, i64 %i
  %oi = getelementptr {t}, ptr %o, i64 %i
  %xv = load {t}, ptr %xi
  %yv = load {t}, ptr %yi
  %m = fmul {t} %a, %xv
  %s = fadd {t} %m, %yv
  store {t} %s, ptr %oi
  %j = add i64 %i, 1
  br label %head
done:
  ret i32 0
}}"""


@lru_cache(None)
def shared_object(*texts: str) -> bytes:
    """Modules of LLVM IR, linked into one shared object for this machine's baseline."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(texts[0])
    for text in texts[1:]:
        module.link_in(llvm.parse_assembly(text))
    module.verify()
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu="x86-64", opt=2, reloc="pic", codemodel="small")
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    link = [sys.executable, "-m", "ziglang", "ld.lld", "-shared", "-Bsymbolic", "-s", "/dev/stdin", "-o", "/dev/stdout"]
    return subprocess.run(link, input=machine.emit_object(module), capture_output=True, check=True).stdout


def kernel_entry(name, parameters, artifacts, types=None, params=None, requires=(), doc="", symbols=None, **more):
    """One kernel of a manifest. artifacts: {specialisation label: (types, params, aliases, {target: bytes})}."""
    symbols = symbols_of(parameters) if symbols is None else symbols
    written = [
        {**p._asdict(), "dims": None if p.dims is None else list(map(dimensions.data, p.dims))} for p in parameters
    ]
    return {
        "doc": doc, "signature": signature_text(parameters), "types": types or {}, "params": params or {},
        "requires": [dimensions.data(tree(r, "condition")) for r in requires],
        "parameters": written, "symbols": list(symbols), **more,
        "specializations": {
            label: {
                "types": chosen, "params": constants, "aliases": [list(pair) for pair in aliases],
                "artifacts": {
                    target: {"object": sha256(data).hexdigest(), "suffix": ".so", "size": len(data), "key": "k",
                             "stale": "", "meta": {}}
                    for target, data in objects.items()
                },
            }
            for label, (chosen, constants, aliases, objects) in artifacts.items()
        },
    }  # fmt: skip


def bound(data: bytes, kernel, parameters, label="-", target="cpu:x86-64", symbols=None, requires=()) -> bytes:
    """An object that says what it is. parameters: with concrete dtypes."""
    symbols = symbols_of(parameters) if symbols is None else symbols
    return identity.bind(data, identity.line(kernel, label, target, parameters, symbols, files.sha256, requires), "")


def signature_text(parameters) -> str:
    def one(p: Parameter) -> str:
        words = [p.role] * (p.role == "inout") + [p.layout] * (p.layout != "C")
        dims = ", ".join([*["..."] * p.ellipsis, *map(str, p.dims or ())])
        tail = f"[{dims}]" if p.is_array else ""
        return " ".join([f"{p.name}:", *words, p.dtype + tail, *(["=", p.fill] if p.fill else [])])

    inputs = ", ".join(one(p) for p in parameters if p.is_input)
    return f"({inputs}) -> ({', '.join(one(p) for p in parameters if p.role == 'out')})"


def write_project(root, kernels: dict, objects=()) -> str:
    """A project's build/cache with this manifest and these objects. Its path."""
    folder = os.path.join(str(root), *PROJECT_CACHE)
    make_folders(folder)
    for data in objects:
        write_object(folder, data, ".so")
    write_manifest(folder, {"version": VERSION, "kernels": kernels})
    return str(root)


def write_kernel(
    root, name, parameters, *, types=None, params=None, aliases=(), run=None, target="cpu:x86-64", **more
) -> str:
    """A project with one kernel, for every choice of its types; its `run` is the recorder unless given.

    params: {name: its values}, or the one value.
    """
    from itertools import product

    types = types or {}
    requires = [tree(r, "condition") for r in more.get("requires", ())]
    artifacts, objects, symbols = {}, [], tuple(s for s in symbols_of(parameters) if s not in (params or {}))
    declared = {name: value if isinstance(value, list) else [value] for name, value in (params or {}).items()}
    for choice in product(*types.values(), *declared.values()):
        chosen, constants = dict(zip(types, choice)), dict(zip(declared, choice[len(types) :]))
        concrete = [p._replace(dtype=chosen.get(p.dtype, p.dtype)) for p in parameters]
        body = run({**chosen, **constants}) if run else recorder(concrete, symbols)
        entry = entry_ir(
            concrete,
            symbols,
            aliases,
            declared=parameters,
            types=tuple(types),
            requires=requires,
            params=constants,
            tuned="tune" in more,
        )
        label = ",".join(f"{k}={v}" for k, v in (*chosen.items(), *constants.items())) or "-"
        data = bound(shared_object(entry, body), name, concrete, label, target, symbols, requires)
        objects.append(data)
        artifacts[label] = (chosen, constants, aliases, {target: data})
    kernels = {name: kernel_entry(name, parameters, artifacts, types, declared, symbols=symbols, **more)}
    return write_project(root, kernels, objects)


def write_saxpy(root, name: str = "saxpy", target: str = "cpu:x86-64") -> str:
    parameters = [scalar("a", "T"), array("x", "T", ...), array("y", "T", ...), array("out", "T", ..., role="out")]
    return write_kernel(
        root, name, parameters, types={"T": ["float32", "float64"]}, aliases=[("out", "y"), ("out", "x")],
        run=lambda chosen: elementwise(chosen["T"]), doc="a * x + y", target=target,
    )  # fmt: skip


def seen(kernel) -> list[int]:
    """What the recorder of the artifact that a kernel loaded first kept; addresses of views are replaced by 0."""
    first = next(iter(kernel._dispatcher.loaded.values()))
    return read_seen(first.library, first.artifact)


def read_seen(library, artifact) -> list[int]:
    layout, total = abi.slots(artifact.parameters, artifact.symbols)
    views = [s for s in layout if s.kind == "view"]
    size = SEEN_WORDS + VIEW_WORDS * len(views)
    words = list((ctypes.c_int64 * size).in_dll(library, "seen"))
    result = words[:total]
    for k, slot in enumerate(views):
        start = SEEN_WORDS + VIEW_WORDS * k
        result[slot.index] = 0
        result += words[start : start + 1 + 2 * words[start]]
    return result


# ----------------------------------------------------------------------- projects of `write_saxpy`

X = np.arange(5, dtype="f4")


def manifest_of(root) -> Path:
    return Path(root, "build", "cache", "manifest.json")


def object_of(root, label="T=float32") -> Path:
    digest = artifact_of(read_manifest(str(manifest_of(root).parent))[0], label)["object"]
    return Path(root, "build", "cache", "objects", digest[:2], f"{digest}.so")


def record_of(root, kernel="saxpy") -> Path:
    digest = json.loads(manifest_of(root).read_text())["kernels"][kernel]
    return Path(root, "build", "cache", "records", f"{digest}.json")


def edit_manifest(root, change) -> None:
    """As if it had been written so; the old records stay."""
    folder = manifest_of(root).parent
    index = json.loads(manifest_of(root).read_text())
    data = {"version": index["version"], "kernels": {}}
    for kernel, digest in index["kernels"].items():
        marks = index["stale"].get(kernel, {})
        data["kernels"][kernel] = joined(record_of(root, kernel).read_bytes(), digest, marks, json.loads)
    change(data)
    index, records = {"version": data["version"], "kernels": data["kernels"], "stale": {}}, {}
    try:
        index, records = split(data, manifest_text)
    except (KeyError, TypeError, AttributeError):  # it makes no sense: each kernel as it is
        for name, entry in data["kernels"].items():
            text = manifest_text(entry).encode()
            index["kernels"][name] = sha256(text).hexdigest()
            records[index["kernels"][name]] = text
    for name, text in records.items():
        (folder / "records" / f"{name}.json").write_bytes(text)
    replacement = manifest_of(root).with_suffix(".new")
    replacement.write_bytes(seal(manifest_text(index)))
    os.replace(replacement, manifest_of(root))


def artifact_of(data, label="T=float32"):
    return data["kernels"]["saxpy"]["specializations"][label]["artifacts"]["cpu:x86-64"]


def fails(root, text, call=lambda lib: lib.saxpy(2.0, X, X), **options) -> None:
    with pytest.raises(pydotcompute.KernelNotBuiltError) as caught:
        call(pydotcompute.load(root, **options))
    assert str(caught.value) == text
