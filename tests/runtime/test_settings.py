"""Settings, the processor's level, and threads."""

import ctypes
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support import edit_manifest, manifest_of, write_saxpy

import pydotcompute
from pydotcompute.backends.cpu import features, levels
from pydotcompute.artifact import machine
from pydotcompute.calls import settings
from pydotcompute.devices import pinned
from pydotcompute.cache.writer import read_manifest
from tests import emulated


def test_threads():
    assert settings.threads({"PYDOTCOMPUTE_THREADS": "3"}) == 3
    assert settings.threads({}) == settings.threads({"PYDOTCOMPUTE_THREADS": ""}) == machine.processors() >= 1
    for text in ("0", "-1", "two", "1.5", "4097", "9" * 30, " "):
        with pytest.raises(ValueError) as caught:
            settings.threads({"PYDOTCOMPUTE_THREADS": text})
        assert str(caught.value) == f"PYDOTCOMPUTE_THREADS={text!r} is not a number of threads; write one from 1 to 4096"


def test_threads_reach_the_artifact(tmp_path, monkeypatch):
    monkeypatch.setenv("PYDOTCOMPUTE_THREADS", "3")
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    saxpy(1.0, np.ones(3), np.ones(3))
    assert ctypes.c_int32.in_dll(next(iter(saxpy._dispatcher.loaded.values())).library, "threads").value == 3
    monkeypatch.setenv("PYDOTCOMPUTE_THREADS", "many")
    with pytest.raises(ValueError, match="PYDOTCOMPUTE_THREADS='many'"):
        pydotcompute.load(tmp_path)
    monkeypatch.delenv("PYDOTCOMPUTE_THREADS")
    with pytest.raises(TypeError, match="a path must be a str or a pathlib.Path, got b"):
        pydotcompute.load(os.fsencode(tmp_path))


def test_a_cgroup_s_quota_bounds_the_threads(tmp_path):
    (tmp_path / "membership").write_text("0::/a/b\n")
    (tmp_path / "a" / "b").mkdir(parents=True)

    def quota():
        return machine.cgroup_quota(str(tmp_path), str(tmp_path / "membership"))

    assert quota() is None
    (tmp_path / "a" / "b" / "cpu.max").write_text("max 100000\n")
    assert quota() is None
    (tmp_path / "a" / "b" / "cpu.max").write_text("250000 100000\n")
    assert quota() == 3
    (tmp_path / "a" / "cpu.max").write_text("800000 100000\n")
    assert quota() == 3
    (tmp_path / "a" / "cpu.max").write_text("50000 100000\n")
    assert quota() == 1


@pytest.mark.parametrize("allowed, quota, found", [(1, None, 1), (8, None, 8), (8, 3, 3), (2, 3, 2), (4, 1, 1)])
def test_processors_that_a_process_may_use(monkeypatch, allowed, quota, found):
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: set(range(allowed)))
    monkeypatch.setattr(machine, "cgroup_quota", lambda: quota)
    assert machine.processors() == found


def test_targets():
    assert pinned.target(None, {}) is None and pinned.target(None, {"PYDOTCOMPUTE_TARGET": ""}) is None
    assert pinned.target("cpu:x86-64-v3", {"PYDOTCOMPUTE_TARGET": "cpu:native"}) == "cpu:x86-64-v3"
    assert pinned.target(None, {"PYDOTCOMPUTE_TARGET": "cpu:x86-64-v2+bounds"}) == "cpu:x86-64-v2+bounds"
    assert pinned.target("webgpu", {}) == pinned.target(None, {"PYDOTCOMPUTE_TARGET": "webgpu"}) == "webgpu"
    for wrong in ("", "cpu", "CPU:x", "cpu:", "wgpu", "opencl", "webgpu:", 3):
        with pytest.raises(ValueError, match="is not a target; write one such as cpu:x86-64-v3"):
            pinned.target(wrong, {})
    for wrong, meant in (("cpu:x86-64-v9", "did you mean 'cpu:x86-64-v[2-4]'"), ("cpu:x86-64-v9+bounds", "did you mean"),
                         ("cpu:avx2", "did you mean 'cpu:x86-64-v3'"), ("cpu:Haswell+bounds", "did you mean 'cpu:x86-64-v3'"),
                         ("cpu:v4", "did you mean 'cpu:x86-64-v4'"), ("cpu:pentium", "there are cpu:x86-64, "), ("cuda:sm_", "cuda:compute_NN"),
                         ("cuda:80", "cuda:compute_NN"), ("opencl:3", "there is opencl:1.2$"), ("webgpu:2", "there is webgpu$"),
                         ("rust:1", "there is no backend 'rust'; there are: auto, cuda, ")):  # fmt: skip
        with pytest.raises(ValueError, match=meant):
            pinned.target(wrong, {})


V2 = dict.fromkeys(("SSE3", "SSSE3", "SSE41", "SSE42", "POPCNT"), True)
V3 = {**V2, **dict.fromkeys(("AVX", "AVX2", "FMA3", "F16C"), True)}
V4 = {**V3, **dict.fromkeys(("AVX512F", "AVX512CD", "AVX512BW", "AVX512DQ", "AVX512VL"), True)}


@pytest.mark.parametrize(
    "features, level",
    [({}, "x86-64"), (V2, "x86-64-v2"), (V3, "x86-64-v3"), (V4, "x86-64-v4"), ({**V3, "BMI2": False}, "x86-64-v2"),
     ({**V4, "AVX512VL": False}, "x86-64-v3"), ({**V4, "SSE42": False}, "x86-64"), ({**V3, "BMI": True}, "x86-64-v3")],
)  # fmt: skip
def test_levels_of_features(features, level):
    assert levels.level_of(features) == level


# The levels of the processor supplement of the System V ABI, by NumPy's names and by Linux's; what NumPy knows from 2.4
# on comes last.
NEEDED = {
    "x86-64-v2": ("SSE3 SSSE3 SSE41 SSE42 POPCNT CX16 LAHF", "pni ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm"),
    "x86-64-v3": ("AVX AVX2 FMA3 F16C BMI BMI2 LZCNT MOVBE", "avx avx2 fma f16c bmi1 bmi2 abm movbe"),
    "x86-64-v4": ("AVX512F AVX512CD AVX512BW AVX512DQ AVX512VL", "avx512f avx512cd avx512bw avx512dq avx512vl"),
}
LOWER = {"x86-64-v2": "x86-64", "x86-64-v3": "x86-64-v2", "x86-64-v4": "x86-64-v3"}


@pytest.mark.parametrize("level, names, flags", [(level, *names) for level, names in NEEDED.items()], ids=NEEDED)
def test_a_processor_that_lacks_one_feature_of_a_level_has_the_one_below(level, names, flags):
    every = dict.fromkeys(" ".join(by_numpy for by_numpy, _ in NEEDED.values()).split(), True)
    listed = set(" ".join(by_linux for _, by_linux in NEEDED.values()).split())
    assert levels.level_of(every) == levels.linux_level_of(listed) == "x86-64-v4"
    assert {name: levels.level_of({**every, name: False}) for name in names.split()} == dict.fromkeys(
        names.split(), LOWER[level]
    )
    assert {flag: levels.linux_level_of(listed - {flag}) for flag in flags.split()} == dict.fromkeys(
        flags.split(), LOWER[level]
    )


def test_the_level_here_is_what_linux_says():
    assert levels.level() == levels.linux_level_of(features.linux_flags())


@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="needs qemu-user")
@pytest.mark.parametrize(
    "processor, level",
    [("Haswell", "x86-64-v3"), ("Haswell,-fma", "x86-64-v2"), ("Haswell,-avx2", "x86-64-v2"), ("Nehalem", "x86-64-v2")],
)
def test_the_level_of_an_emulated_processor(tmp_path, processor, level):
    """Code for all three lies there: a processor gets the highest that it runs, and no other can be pinned."""
    write_saxpy(tmp_path, target="cpu:x86-64-v2")

    def artifacts(data):
        return data["kernels"]["saxpy"]["specializations"]["T=float32"]["artifacts"]

    def add(data):
        for higher in ("cpu:x86-64-v3", "cpu:x86-64-v4"):
            other = tmp_path / higher.partition(":")[2]
            write_saxpy(other, target=higher)
            artifacts(data).update(artifacts(read_manifest(str(manifest_of(other).parent))[0]))
            here, there = (manifest_of(root).parent / "objects" for root in (other, tmp_path))
            shutil.copytree(here, there, dirs_exist_ok=True)

    edit_manifest(tmp_path, add)
    program = (
        "import sys, numpy as np, pydotcompute\n"
        "x = np.ones(3, 'f4')\n"
        "print(pydotcompute.load(sys.argv[1]).saxpy.which(2.0, x, x).target)\n"
        "try: print(pydotcompute.load(sys.argv[1], target='cpu:x86-64-v3').saxpy(2.0, x, x))\n"
        "except pydotcompute.KernelNotBuiltError as error: print(error)"
    )
    done = subprocess.run(
        emulated.on(processor, sys.executable, "-c", program, str(tmp_path)),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    target, pinned = done.stdout.splitlines()
    assert target == f"cpu:{level}"
    assert pinned == "[3. 3. 3.]" if level == "x86-64-v3" else f"this processor has the level {level}" in pinned


def test_levels_of_linux_flags(tmp_path):
    assert levels.linux_level_of(()) == "x86-64"
    v2 = "pni ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm".split()
    assert levels.linux_level_of(v2) == "x86-64-v2"
    assert levels.linux_level_of([*v2, *"avx avx2 fma f16c bmi1 bmi2 abm movbe".split()]) == "x86-64-v3"
    assert features.linux_flags(str(tmp_path / "none")) == frozenset()


def test_native_code_runs_where_every_feature_is_there():
    llvm = pytest.importorskip("llvmlite.binding")
    here = [name for name, on in llvm.get_host_cpu_features().items() if on]
    assert levels.missing_features(here) == []
    assert levels.missing_features(["+avx2", "-avx512f", "sse4.2", "lzcnt"], {"avx2", "sse4_2", "abm"}) == []
    assert levels.missing_features(["avx2", "gfni"], {"avx2"}) == ["gfni"]
