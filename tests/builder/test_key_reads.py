"""Whatever lowering and compiling read of a kernel, its specialisation, the rendered text or the job is in the key, or
changes no byte."""

import dataclasses
import pickle
from functools import cache

import pytest

from pydotcompute import declare
from pydotcompute.builder.worker import answer as compile_job
from pydotcompute.targets.base import Job, checked_tree
from pydotcompute.targets.registry import raw_modules
from pydotcompute.builder.plan import key_fields
from pydotcompute.builder.code import versions
from pydotcompute.cache.keys import key
from pydotcompute.errors import Position
from pydotcompute.artifact.signature import Parameter, Signature

DECLARATION = """\
version: 1
kernels:
  rows:
    doc: every row in its own way
    signature: "(a: T, x: strided T[..., n], k: int64[n], m: int64) -> (out: T[..., n], count: int32[m] = 0)"
    types: {T: [float64, float32]}
    params: {WIDTH: [2, 3]}
    requires: ["n > 0", "WIDTH < 9"]
    launch: {block: 64, grid: 8}
    template: rows.py.j2
    reference: (x, k)

  product:
    signature: "(a: T[m, k], b: T[k, n]) -> (out: T[m, n])"
    types: {T: [float64, float32]}
    vendor: {call: matmul, when: "m * n > 99"}
    fastmath: [nsz]
    body: |
      for i, j in grid(m, n):
          t = T(0)
          for c in range(k):
              t += a[i, c] * b[c, j]
          out[i, j] = t

  member:
    family: {twice: {F: 2}, thrice: {F: 3}}
    signature: "(x: inout int16[...]) -> ()"
    body: |
      for i in grid(size):
          x[i] = x[i] * {{ F }}
"""
ROWS = """\
def near(v, w):
    return v * WIDTH + w

def rows(a, x, k, m, out, count):
    for r in blocks(rows):
        t = sum(x[r, c] for c in threads(n))
        for c in threads(n):
            out[r, c] = near(x[r, c], a) / t
            if 0 <= k[c] < m:
                atomic_add(count, k[c], 1)
"""
RAW = """\

  raw:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32, int64]}
    params: {SCALE: 3}
    launch: {block: 64, grid: ["(n + 63) // SCALE"]}
    body: |
      i = cuda.grid(1)
      if i < x.shape[0]:
          out[i] = x[i] * {{ SCALE }}
"""
TARGETS = ("cpu:x86-64-v2", "cpu:x86-64-v3+bounds", "cuda:compute_80", "cuda:sm_75", "opencl:1.2", "hip:gfx90a", "metal:2.4")
# What messages alone are told with: code that checks indices blames places in the rendered text.
# Of a job: its parts above, the target, the folder that sources are shown in, the linker, which is among the tools,
# whether it has debug information, which has fields of its own (tests/cli/test_debug_info.py), and the tree that is made
# of the parts.
JOB = "kernel", "specialisation", "rendered", "targets", "folder", "linker", "debug_info", "tree"
PLACES = {"Kernel.at", "Kernel.positions", "Kernel.source", "Kernel.body_lines", "Kernel.body_places"}
PLACES |= {f"Rendered.{name}" for name in ("files", "origins", "lines", "shift", "places")}


@cache
def recording(kind, seen):
    """A class of objects like those of `kind`, which note what is asked of them in `seen`, the attribute of a class."""
    names = getattr(kind, "_fields", None) or [field.name for field in dataclasses.fields(kind)]

    def read(self, name):
        if name in names:
            seen.reads.add(f"{kind.__name__}.{name}")
        return kind.__getattribute__(self, name)

    return type(kind.__name__, (kind,), {"__getattribute__": read})


def recorded(value, seen):
    """A copy that notes what is read of it, and of the parts of a signature."""
    if isinstance(value, (Signature, Parameter)):
        parts = [tuple(recorded(p, seen) for p in part) if name == "parameters" else part
                 for name, part in zip(value._fields, value)]  # fmt: skip
        return recording(type(value), seen)(*parts)
    copy = object.__new__(recording(type(value), seen))
    for name, part in vars(value).items():
        copy.__dict__[name] = recorded(part, seen) if isinstance(part, Signature) else part
    return copy


def others(value):
    """Values that differ in one way each: another element, one more, another order."""
    if value is None:
        return ["other"]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [value + "_"]
    if isinstance(value, (int, float)):
        return [value + 1]
    if isinstance(value, Position):
        return [dataclasses.replace(value, line=value.line + 5)]
    if isinstance(value, dict):
        changed = [{**value, name: other} for name, part in value.items() for other in others(part)]
        return [*changed, {**value, "another": "one"}]
    if hasattr(value, "_fields"):
        return [value._replace(**{n: other}) for n, part in zip(value._fields, value) for other in others(part)]
    assert isinstance(value, tuple), type(value)
    changed = [(*value[:k], other, *value[k + 1 :]) for k, part in enumerate(value) for other in others(part)]
    reordered = [value[::-1]] if value[::-1] != value else []
    return [*changed, *reordered, (*value, "another")]


def key_of(kernel, specialisation, target, rendered):
    return key(key_fields(kernel, specialisation, target, rendered, versions(target.partition(":")[0])))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("reads")
    (root / "templates").mkdir()
    (root / "templates/rows.py.j2").write_text(ROWS)
    (root / "kernels.yaml").write_text(DECLARATION + RAW)
    return root


def job_of(root, name, target):
    kernel = declare.load(root).kernels[name]
    specialisation = kernel.specialisations[-1]
    rendered = declare.render(kernel, specialisation, target.partition(":")[0], root, raw_modules())
    return Job(kernel, specialisation, rendered, (target,), str(root / "rendered"))


def made(job):
    answer = compile_job(job)
    assert not answer.failures, answer.failures
    return answer.artifacts[job.targets[0]]


def reads_of(job):
    """What a compilation reads, as CLASS.ATTRIBUTE."""
    seen = type("Seen", (), {"reads": set()})
    parts = {name: recorded(getattr(job, name), seen) for name in ("kernel", "specialisation", "rendered")}
    made(recorded(dataclasses.replace(job, **parts), seen))
    return seen.reads


def test_each_target_has_a_key_of_its_own(root):
    targets = ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v3+bounds", "cuda:compute_80", "cuda:sm_80")
    jobs = [(job_of(root, "rows", target), target) for target in targets]
    assert len({key_of(job.kernel, job.specialisation, target, job.rendered) for job, target in jobs}) == len(targets)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["rows", "product"])
def test_a_tree_that_is_made_already_changes_no_byte(root, name, target):
    job = job_of(root, name, target)
    there, anew = made(dataclasses.replace(job, tree=pickle.dumps(checked_tree(job)))), made(job)
    assert there == dataclasses.replace(anew, seconds=there.seconds)


CASES = [(n, t) for n in ("rows", "product", "twice", "raw") for t in TARGETS if n != "raw" or t.startswith("cuda")]


@pytest.mark.parametrize("name, target", CASES)
def test_what_is_read_changes_the_key(root, name, target):
    job = job_of(root, name, target)
    before = key_of(job.kernel, job.specialisation, target, job.rendered)
    parts = {"Kernel": job.kernel, "Specialisation": job.specialisation, "Rendered": job.rendered}
    reads = reads_of(job)
    assert {"Kernel.name", "Kernel.signature", "Rendered.text", "Specialisation.types", "Signature.parameters",
            "Parameter.dtype", "Job.targets"} <= reads  # fmt: skip
    assert {read for read in reads if read.startswith("Job.")} <= {f"Job.{name}" for name in JOB}
    looked_at = 0
    for read in sorted(reads - PLACES):
        kind, attribute = read.split(".")
        if kind not in parts:
            continue
        for other in others(getattr(parts[kind], attribute)):
            changed = {**parts, kind: dataclasses.replace(parts[kind], **{attribute: other})}
            after = key_of(changed["Kernel"], changed["Specialisation"], target, changed["Rendered"])
            assert after != before, f"{read} is read, and {other!r} in its place leaves the key as it is"
            looked_at += 1
    assert looked_at > 10


@pytest.mark.parametrize("target", ["cpu:x86-64-v2", "cpu:x86-64-v3+bounds"])
def test_where_lines_come_from_changes_no_byte_and_no_word(root, target):
    """As if one line of a template, in a loop of Jinja2, had given them all."""
    job = job_of(root, "twice", target)
    looped = tuple((0, 1) for _ in job.rendered.origins)
    here, there = made(job), made(dataclasses.replace(job, rendered=dataclasses.replace(job.rendered, origins=looped)))
    assert (there.data, there.meta) == (here.data, here.meta)
    assert not target.endswith("+bounds") or here.meta["sites"]


@pytest.mark.parametrize("target", ["cpu:x86-64-v2", "cpu:x86-64-v3+bounds", "cuda:compute_80", "opencl:1.2", "hip:gfx90a"])
def test_what_is_in_no_key_changes_no_byte(root, tmp_path, target):
    """Other lines, another folder: the places that messages name, and where rendered sources go."""
    job = job_of(root, "product", target)
    (tmp_path / "kernels.yaml").write_text(
        "# moved\n\n# down\n" + DECLARATION.replace("      for i, j", "      # a\n      for i, j")
    )
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/rows.py.j2").write_text(ROWS)
    other = job_of(tmp_path, "product", target)
    moved = dataclasses.replace(
        other, rendered=dataclasses.replace(other.rendered, text=job.rendered.text, origins=job.rendered.origins)
    )
    assert moved.kernel.at != job.kernel.at and moved.folder != job.folder
    assert key_of(moved.kernel, moved.specialisation, target, moved.rendered) == key_of(
        job.kernel, job.specialisation, target, job.rendered
    )
    one, two = made(job), made(moved)
    assert one.data == two.data and one.meta == two.meta


def test_another_order_of_symbols_is_another_artifact(root):
    """As if the reading of signatures had changed: the words of a call stand in another order."""
    job = job_of(root, "product", "cpu:x86-64-v2")
    before = key_of(job.kernel, job.specialisation, job.targets[0], job.rendered)
    signature = job.kernel.signature._replace(symbols=job.kernel.signature.symbols[::-1])
    turned = dataclasses.replace(job.kernel, signature=signature)
    assert key_of(turned, job.specialisation, job.targets[0], job.rendered) != before
