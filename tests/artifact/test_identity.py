"""An object says what it is, and the loader refuses what is something else: every form of object, every pair of them."""

import itertools
import os

import numpy as np
import pytest

from pydotcompute.artifact import abi, identity
from pydotcompute.artifact.signature import Parameter
from pydotcompute.cache import files, manifest, objects, writer
from pydotcompute.cache.inspection import verify
from pydotcompute.errors import KernelNotBuiltError

X = Parameter("x", "float32", (), "in", True)
OUT = X._replace(name="out", role="out")


def line(kernel="k", label="-", target="cpu:x86-64", parameters=(X, OUT), symbols=("size",)):
    return identity.line(kernel, label, target, parameters, symbols, files.sha256)


@pytest.mark.parametrize("code", [b"", b"\n", b"\x7fELF\0\n\n", b"a\nb", os.urandom(9000)])
def test_machine_code_comes_back_to_the_byte_and_text_keeps_its_comment(code):
    bound = identity.bind(code, line(), "")
    assert identity.of(bound) == (line(), code) and bound.endswith(line().encode() + b"\n")
    bound = identity.bind(code, line(), "//")
    assert identity.of(bound) == (line(), bound) and bound.startswith(b"// " + line().encode() + b"\n")
    assert identity.of(code) == ("", code)


def test_the_line_is_text_for_any_compiler():
    said = line("größe", "T=float32")
    assert said.isascii() and "\n" not in said and said != line("groesse", "T=float32")


def test_everything_that_decides_the_words_of_a_call_is_in_the_signature():
    different = [
        (X, OUT), (OUT, X), (X,), (X._replace(name="y"), OUT), (X._replace(dtype="float64"), OUT),
        (X._replace(dims=("n",)), OUT), (X._replace(dims=None), OUT), (X._replace(role="inout"), OUT),
        (X._replace(ellipsis=False), OUT), (X._replace(layout="strided"), OUT), (X, OUT._replace(fill="0")),
        (X, OUT._replace(length="count")),
    ]  # fmt: skip
    assert len(X) == 8, "a new field of a parameter belongs here"
    lines = {line(parameters=p) for p in different} | {line(symbols=("size", "n"))}
    assert len(lines) == len(different) + 1
    assert {identity.difference(other, line()) for other in lines} == {"", "was made for another signature"}


def test_the_difference_is_told(monkeypatch):
    assert identity.difference(line("j"), line()) == "is j for cpu:x86-64"
    assert identity.difference(line(label="T=float64"), line()) == "is k[T=float64] for cpu:x86-64"
    assert identity.difference(line(target="cuda:sm_90"), line()) == "is k for cuda:sm_90"
    assert identity.difference("", line()) == "does not say what it is"
    old = line()
    monkeypatch.setattr(abi, "CONVENTION", abi.CONVENTION + 1)
    was = abi.CONVENTION - 1
    assert identity.difference(old, line()) == (
        f"is called by convention {was}, this program calls by convention {was + 1}"
    )


DECLARED = """
version: 1
targets: [cpu:x86-64-v2, cuda:compute_80, cuda:sm_80, "opencl:1.2", "hip:gfx90a"]
kernels:
  twice: {signature: "(x: T[...]) -> (out: T[...])", types: {T: [float32, float64]}, body: "for i in grid(size): out[i] = 2 * x[i]"}
  more: {signature: "(x: float32[...], y: float32[...]) -> (out: float32[...])", body: "for i in grid(size): out[i] = x[i] + y[i]"}
"""


def build(root, *words):
    from pydotcompute.cli import main

    return main(["build", "-C", str(root), "-j", "2", *words])


def artifacts(root):
    folder, root = manifest.find(str(root))
    kernels = manifest.read(folder, root)
    records = [manifest.kernel_record(kernels, name, folder, root) for name in kernels]
    return [a for record in records for s in record.specialisations.values() for a in s.artifacts]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("identity")
    (root / "kernels.yaml").write_text(DECLARED)
    assert build(root) == 0
    return root


@pytest.mark.slow
def test_any_two_objects_swapped_are_refused_and_found_and_repaired(project):
    """Of every target: whole objects, right digests, a manifest that is whole, and yet the wrong ones."""
    made = artifacts(project)
    assert {a.suffix for a in made} == {".so", ".ptx", ".cubin", ".cl", ".hsaco"} and len(made) == 15
    for one in made:
        said, code = identity.of(objects.files.read(one.folder, one.file, one.size))
        assert said == one.said and objects.read(one) == code
        if one.suffix in (".so", ".cubin"):
            assert code.startswith(b"\x7fELF") and identity.MARK.encode() not in code
    for one, other in itertools.permutations(made, 2):
        swapped = one._replace(digest=other.digest, size=other.size, suffix=other.suffix)
        with pytest.raises(KernelNotBuiltError) as caught:
            objects.read(swapped)
        assert f"{swapped.path} is {other}; run: pydotcompute build {one.kernel} -t {one.target}" in str(caught.value)


@pytest.mark.slow
def test_a_swap_in_the_manifest_is_found_by_verify_and_repaired_by_build(project, capsys):
    cache = project / "build" / "cache"
    text, problem = writer.read_manifest(str(cache))
    places = text["kernels"]["twice"]["specializations"]
    for target in ("cpu:x86-64-v2", "cuda:sm_80"):
        one, other = (places[f"T={dtype}"]["artifacts"][target] for dtype in ("float32", "float64"))
        for part in ("object", "size"):
            one[part], other[part] = other[part], one[part]
    writer.write_manifest(str(cache), text)
    found = {finding.what: finding.fault for finding in verify(str(cache)) if finding.fault}
    assert found == {
        f"twice T={a} {target}": f"object is twice[T={b}] for {target}"
        for target in ("cpu:x86-64-v2", "cuda:sm_80")
        for a, b in (("float32", "float64"), ("float64", "float32"))
    }
    import pydotcompute

    with pytest.raises(KernelNotBuiltError, match="is twice.T=float64. for cpu:x86-64-v2; run: pydotcompute build"):
        pydotcompute.load(project).twice(np.ones(3, "f4"))
    capsys.readouterr()
    assert build(project) == 0
    assert "[4/4] reused twice T=float64 cuda:sm_80" in capsys.readouterr().err, "they were there all the time"
    assert [finding for finding in verify(str(cache)) if finding.fault] == []


@pytest.mark.slow
def test_a_comment_changes_no_object_and_a_new_convention_refuses_all(project, monkeypatch, capsys):
    before = {str(a): a.digest for a in artifacts(project)}
    keys = {str(a): a.key for a in artifacts(project)}
    declared = (project / "kernels.yaml").read_text()
    body = 'body: |\n      # said twice\n      for i in grid(size): out[i] = 2 * x[i]\n'
    inline = 'types: {T: [float32, float64]}, body: "for i in grid(size): out[i] = 2 * x[i]"}'
    changed = declared.replace(
        f'twice: {{signature: "(x: T[...]) -> (out: T[...])", {inline}',
        f'twice:\n    signature: "(x: T[...]) -> (out: T[...])"\n    types: {{T: [float32, float64]}}\n    {body}',
    )
    assert changed != declared
    (project / "kernels.yaml").write_text(changed)
    assert build(project, "twice") == 0
    assert {str(a): a.digest for a in artifacts(project)} == before
    assert {name for name, key in keys.items() if key not in {a.key for a in artifacts(project)}} >= {
        "twice[T=float32] for cpu:x86-64-v2", "twice[T=float64] for cuda:sm_80"
    }  # fmt: skip
    monkeypatch.setattr(abi, "CONVENTION", abi.CONVENTION + 1)
    for one in artifacts(project):
        with pytest.raises(KernelNotBuiltError) as caught:
            objects.read(one)
        assert str(caught.value) == (
            f"{one}: {one.path} is called by convention {abi.CONVENTION - 1}, this program calls by convention "
            f"{abi.CONVENTION}; "
            f"run: pydotcompute build {one.kernel} -t {one.target} -C {project}"
        )
