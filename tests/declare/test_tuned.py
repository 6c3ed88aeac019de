"""templates/tuned.yaml: read back as it was written, and refused word for word where it does not fit."""

import os

import pytest

from pydotcompute import declare
from pydotcompute.declare import tuned
from pydotcompute.errors import DeclarationError

KERNELS = """\
version: 1
kernels:
  k:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32, float64]}
    params: {TILE: [32, 16], FAST: [true, false], RATE: [0.5, 1e-6]}
    tune: [TILE, FAST, RATE]
    body: out[0] = x[0]
  plain:
    signature: "(x: float32[n]) -> (out: float32[n])"
    params: {TILE: [32, 16]}
    body: out[0] = x[0]
"""
BEST = {"TILE": 16, "FAST": False, "RATE": 1e-6}
TABLE = {
    "T=float64": {"cpu:x86-64-v3": {"b: of 2, or so": {"large": BEST}}},
    "T=float32": {"cuda:sm_90": {"A": {"medium": BEST, "small": {**BEST, "TILE": 32}}}, "cpu:x86-64-v3": {"A": {"small": BEST}}},
}
WRITTEN = """\
version: 1
kernels:
  k:
    T=float32:
      cpu:x86-64-v3:
        A:
          small: {FAST: false, RATE: 1.0e-06, TILE: 16}
      cuda:sm_90:
        A:
          small: {FAST: false, RATE: 1.0e-06, TILE: 32}
          medium: {FAST: false, RATE: 1.0e-06, TILE: 16}
    T=float64:
      cpu:x86-64-v3:
        'b: of 2, or so':
          large: {FAST: false, RATE: 1.0e-06, TILE: 16}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "templates").mkdir()
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_written_is_read(project):
    text = tuned.text({"k": TABLE})
    assert text.startswith("# The fastest values ") and text.endswith(f"again.\n{WRITTEN}")
    turned = {types: dict(reversed(targets.items())) for types, targets in reversed(TABLE.items())}
    assert tuned.text({"k": turned}) == text, "whatever was measured first"
    (project / "templates" / "tuned.yaml").write_text(text)
    kernels = declare.load(".").kernels
    assert kernels["k"].tuned == TABLE and kernels["k"].tune == ("TILE", "FAST", "RATE")
    assert kernels["plain"].tuned == {}


def test_no_table_at_all(project):
    assert declare.load(".").kernels["k"].tuned == {}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink(path, path)])
def test_what_is_no_file(project, make):
    """Neither is it taken for no table, or no template."""
    make(project / "templates" / "tuned.yaml")
    with pytest.raises(DeclarationError, match="cannot read .*tuned.yaml: "):
        declare.load(".")
    os.rename(project / "templates" / "tuned.yaml", project / "templates" / "k.py")
    text = (project / "kernels.yaml").read_text()
    lines = [line for line in text.splitlines() if "signature" in line]
    (project / "kernels.yaml").write_text(f"version: 1\nkernels:\n  k:\n{lines[-1]}\n    template: k.py\n")
    with pytest.raises(DeclarationError, match="template 'k.py' is no file: ") as caught:
        declare.load(".")
    assert caught.value.at.line == 5 and caught.value.hint


AGAIN = "delete it, then measure again: pydotcompute bench --subject declared --tune"


@pytest.mark.parametrize(
    "old, new, place, message, hint",
    [
        ("  k:", "  kk:", (3, 3), "the kernel 'kk' is not declared", AGAIN),
        ("  k:", "  plain:", (3, 3), "the kernel 'plain' lists nothing under tune", AGAIN),
        ("    T=float64:", "    T=float16:", (12, 5), "'k' has no types T=float16", "did you mean 'T=float64'?"),
        ("cuda:sm_90:", "'CUDA sm_90':", (8, 7), "unknown target 'CUDA sm_90'", "a target is written as cpu:x86-64-v3 or cuda:sm_90"),
        ("medium:", "mediun:", (11, 11), "unknown key 'mediun' in the size classes", "did you mean 'medium'?"),
        ("TILE: 32", "TILE: 64", (10, 53), "TILE of 'k' may be 32, 16, not 64", AGAIN),
        ("FAST: false, RATE: 1.0e-06, TILE: 32", "TILE: 16", (10, 18), "no value for FAST, RATE of 'k'", AGAIN),
        ("TILE: 32", "TILE: 32, SLOW: 1", (10, 57), "'k' does not list 'SLOW' under tune", "expected one of TILE, FAST, RATE"),
        ("version: 1", "version: 2", (1, 10), "expected version 1, found 2", None),
        (WRITTEN, "version: 1\nkernels: {k: [}\n", (2, 15), "not YAML: did not find expected node content", None),
        (WRITTEN, "", (1, 1), "the file is empty", "begin with: version: 1"),
    ],
)  # fmt: skip
def test_a_table_that_does_not_fit(project, old, new, place, message, hint):
    assert WRITTEN.count(old) >= 1
    (project / "templates" / "tuned.yaml").write_text(WRITTEN.replace(old, new, 1))
    with pytest.raises(DeclarationError) as caught:
        declare.load(".")
    error = caught.value
    assert error.at.path.endswith("templates/tuned.yaml") and error.at[1:3] == place
    assert message is None or error.message == message
    assert hint is None or error.hint == hint


def test_a_kernel_whose_declaration_is_wrong_says_so_alone(project):
    (project / "templates" / "tuned.yaml").write_text(WRITTEN)
    (project / "kernels.yaml").write_text(KERNELS.replace("body: out[0] = x[0]", "body: ''", 1))
    assert set(declare.load(".", keep_going=True).refused) == {"k"}


@pytest.mark.parametrize("function, refused", [("whole(x)", False), ("part(x, TILE)", True), ("word(x, *, TILE)", True)])
def test_a_reference_in_a_file_mentions_what_it_takes(project, function, refused):
    (project / "templates" / "r.py").write_text(f"def {function}:\n    return x\n")
    named = f"    reference: r.py:{function.partition('(')[0]}\n    tune"
    (project / "kernels.yaml").write_text(KERNELS.replace("    tune", named))
    if not refused:
        declare.load(".")
        return
    with pytest.raises(DeclarationError, match="'TILE' changes more than speed: the reference mentions it"):
        declare.load(".")
