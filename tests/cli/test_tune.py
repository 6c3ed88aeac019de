"""`pydotcompute bench --tune`: what it measures, what it writes, and what becomes of that in a build and its calls."""

import json
import re

import numpy as np
import pytest
import yaml

import pydotcompute
from pydotcompute.backends.device_info import processor_name
from pydotcompute.cli import main

# The same for every value but 3, and many times as slow with 100.
KERNELS = """\
version: 1
targets: [cpu:x86-64-v2]
kernels:
  slowed:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32]}
    params: {TIMES: [100, 3, 1]}
    tune: [TIMES]
    body: |
      for i in grid(n):
          s = x[i]
          for k in range(TIMES):
              s = max(s, x[i] - k)
          if TIMES == 3:
              s = s + 1
          out[i] = s
    reference: x
  plain:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i]
"""
SIZES = "    sizes: {bench: [{n: 4000}, {n: 8000}, {n: 200000}]}\n"
HERE, TARGET = processor_name(), "cpu:x86-64-v2"


def call(capsys, root, *words):
    code = main([*words, "-C", str(root)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.slow
def test_the_fastest_is_found_written_built_and_called(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "tuned.yaml").write_text(
        "version: 1\nkernels: {slowed: {T=float32: {cpu:x86-64-v2: {elsewhere: {small: {TIMES: 100}}}}}}\n"
    )
    code, out, err = call(capsys, tmp_path, "bench", "--subject", "declared", "--tune", "--rounds", "1", "--json")
    assert code == 0, err
    rows = json.loads(out)["figures"]
    assert [(r["kernel"], r["specialization"], r["target"], r["calls"]) for r in rows] == [
        ("slowed", "T=float32", TARGET, name) for name in ("small", "medium", "large")
    ]
    for row in rows:
        assert row["fastest"] == "TIMES=1" and row["times as fast"] == pytest.approx(row["default µs"] / row["µs"])
        assert row["times as fast"] > 3 and row["note"].startswith("TIMES=3 failed: ")
    text = (tmp_path / "templates" / "tuned.yaml").read_text()
    by_class = {name: {"TIMES": 1} for name in ("small", "medium", "large")}
    devices = {HERE: by_class, "elsewhere": {"small": {"TIMES": 100}}}
    assert yaml.safe_load(text) == {"version": 1, "kernels": {"slowed": {"T=float32": {TARGET: devices}}}}
    assert text.startswith("# The fastest values")

    code, _, err = call(capsys, tmp_path, "build", "--bundle", str(tmp_path / "bundle"))
    assert code == 0 and "nothing was measured" not in err
    x = np.arange(1000, dtype="f4")
    for place in (tmp_path, tmp_path / "bundle"):
        kernel = pydotcompute.load(place).slowed
        which = kernel.which(x)
        assert which.specialization == "T=float32,TIMES=1" and (kernel(x) == x).all()
        assert which.tuned == f"TIMES=1: the fastest in small calls as {TARGET} on {HERE}"
        assert (kernel(x, TIMES=3) == x + 1).all()
    record = json.loads(call(capsys, tmp_path, "cache", "show", "slowed", "--json")[1])
    assert record["tune"] == ["TIMES"] and record["tuned"] == {"T=float32": {TARGET: devices}}
    assert "tune" not in json.loads(call(capsys, tmp_path, "cache", "show", "plain", "--json")[1])
    fields = {artifact["kernel"]: artifact["fields"] for artifact in record["artifacts"]}
    assert json.loads(fields["slowed"]["tuned"])["T=float32"][TARGET][HERE] == by_class


@pytest.mark.slow
def test_a_device_is_waited_for_and_gets_values_of_its_own(tmp_path, capsys):
    from pydotcompute.devices.registry import get_backend

    text = KERNELS.replace(TARGET, "opencl:1.2").replace("1]}", "1], KEPT: [5, 6]}").replace("    tune", SIZES + "    tune")
    (tmp_path / "kernels.yaml").write_text(text)
    code, _, err = call(capsys, tmp_path, "build")
    assert code == 0 and "nothing was measured for what slowed may tune, so the first declared values serve" in err
    first = pydotcompute.load(tmp_path).slowed.which(np.ones(5, "f4"), backend="opencl")
    assert first.tuned == "TIMES=100: the first declared, as nothing was measured"
    code, out, err = call(capsys, tmp_path, "bench", "--subject", "declared", "--tune", "--rounds", "1")
    device = get_backend("opencl").device_name
    assert code == 0, err
    found = yaml.safe_load((tmp_path / "templates" / "tuned.yaml").read_text())
    by_class = {"small": {"TIMES": 1}, "medium": {"TIMES": 1}}
    assert found["kernels"]["slowed"] == {"T=float32": {"opencl:1.2": {device: by_class}}}
    assert re.search(r"slowed +T=float32 +opencl:1.2 +small +TIMES=1 ", out)
    assert "tuned changed" in call(capsys, tmp_path, "explain", "slowed")[1]
    assert call(capsys, tmp_path, "build", "--check")[0] == 1 and call(capsys, tmp_path, "build")[0] == 0
    kernel, x = pydotcompute.load(tmp_path).slowed, np.ones(9, "f4")
    assert kernel.which(x, backend="opencl").specialization == "T=float32,TIMES=1,KEPT=5"
    assert kernel.which(x, KEPT=6, backend="opencl").specialization == "T=float32,TIMES=1,KEPT=6"
    assert kernel.which(x, TIMES=3, backend="opencl").tuned == "TIMES=3: as the call says"
    assert (kernel(x, backend="opencl") == x).all() and (kernel(x, TIMES=3, backend="opencl") == x + 1).all()


@pytest.mark.slow
def test_where_no_choice_counts_nothing_is_written(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(re.sub(r"params: .*", "params: {TIMES: [3, 2]}", KERNELS).replace("== 3", "> 1"))
    words = ("bench", "--subject", "declared", "--tune", "--rounds", "1", "-t", TARGET)
    code, _, err = call(capsys, tmp_path, *words)
    assert code == 1 and err.startswith(f"slowed[T=float32] for {TARGET}: no choice counts: TIMES=3 failed: ")
    assert not (tmp_path / "templates").exists()


def test_what_is_not_understood(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    tune = ("bench", "--subject", "declared", "--tune")
    for words, line in {
        (*tune, "--plot", "a.svg"): "--tune gives no figures to compare or to draw: measure them without it",
        (*tune, "--kernel", "plain"): "no kernel 'plain' in pydotcompute bench --subject declared; expected one of slowed",
        ("bench", "--subject", "build", "--tune"): "--tune does not apply to --subject build; it is for declared",
    }.items():
        code, out, err = call(capsys, tmp_path, *words)
        assert (code, out, err) == (2, "", f"pydotcompute: {line}\n")
    (tmp_path / "kernels.yaml").write_text(KERNELS.replace("    tune: [TIMES]\n", ""))
    code, out, err = call(capsys, tmp_path, *tune)
    assert (code, out, err) == (1, "", "no kernel lists params to tune\n  add tune: [PARAM] to one\n")


def test_a_damaged_table_is_one_message(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "tuned.yaml").write_text("version: 1\nkernels:\n  slowed: {T=float32: 7}\n")
    code, out, err = call(capsys, tmp_path, "build")
    assert (code, out) == (1, "") and err == (
        f"{tmp_path}/templates/tuned.yaml:3:23: expected devices by target, found 7\n"
        "      slowed: {T=float32: 7}\n                          ^\n"
    )
