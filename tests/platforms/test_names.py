"""Names of targets with a platform: what there is, what is meant, which artifact a machine of each platform takes."""

import json
import os
from itertools import product

import pytest

from pydotcompute.artifact import cpu_levels
from pydotcompute.backends.cpu import features, levels
from pydotcompute.backends.cpu.backend import CPUBackend
from pydotcompute.targets.registry import get, problem

TARGET = get("cpu")
MACHINES = list(product(("x86-64", "aarch64"), ("linux", "macos", "windows")))


@pytest.fixture
def on(monkeypatch):
    """As a machine of another kind: its architecture, platform and highest level."""

    def become(machine, system, level):
        for module in (levels, cpu_levels):
            monkeypatch.setattr(module, "machine", lambda: machine)
            monkeypatch.setattr(module, "system", lambda: system)
        monkeypatch.setattr(levels, "level", lambda: level)
        return CPUBackend()

    return become


def test_every_name_is_a_target_and_nothing_else():
    for level, platform in product(cpu_levels.LEVELS, ("", "@linux", "@macos", "@windows", "@musl", "@", "@Windows")):
        there = platform == "" or platform == "@macos" or platform == "@windows" and level.startswith("x86-64")
        assert (problem(f"cpu:{level}{platform}") is None) == there == (f"cpu:{level}{platform}" in cpu_levels.NAMES)
    assert problem("cpu:native@macos") and not problem("cpu:native")
    assert cpu_levels.parts("cpu:x86-64-v3@windows+bounds") == ("x86-64-v3", "windows")
    assert cpu_levels.parts("cpu:aarch64") == ("aarch64", "linux")


@pytest.mark.parametrize(
    "word, meant",
    [("cpu:x86-64-v3@win32", "cpu:x86-64-v3@windows"), ("cpu:arm64@darwin", "cpu:aarch64@macos"),
     ("cpu:x86-64-v2@musl", "cpu:x86-64-v2"), ("cpu:x86-64-v3@linux", "cpu:x86-64-v3"),
     ("cpu:avx512@osx", "cpu:x86-64-v4@macos"), ("cpu:haswell", "cpu:x86-64-v3")],
)  # fmt: skip
def test_other_words_for_platforms(word, meant):
    assert problem(word)[1] == CPUBackend.unknown(word) == f"did you mean '{meant}'?"


@pytest.mark.parametrize("machine, system", MACHINES)
def test_a_machine_takes_its_own_platform_and_architecture(on, machine, system):
    own = cpu_levels.ARCHITECTURES[machine]
    backend = on(machine, system, own[-1])
    fit = [name for name in cpu_levels.NAMES if name != "cpu:native" and not backend.unfit(name)]
    there = machine in cpu_levels.PLATFORMS[system]
    assert fit == [cpu_levels.name(level, system) for level in own] * there
    assert backend.usual_target() == (fit[-1] if there else "cpu:native")
    for name in cpu_levels.NAMES:
        if reason := backend.unfit(name):
            assert "x86" not in reason or machine == "x86-64"


def test_what_is_said_of_another_platform(on):
    backend = on("aarch64", "macos", "aarch64-v8.2")
    assert backend.unfit("cpu:x86-64-v3") == "this machine runs macOS"
    assert backend.unfit("cpu:x86-64-v3@macos") == "this processor is aarch64"
    backend = on("x86-64", "windows", "x86-64-v2")
    assert backend.unfit("cpu:x86-64-v3@windows+bounds") == "this processor has the level x86-64-v2"
    assert on("x86-64", "freebsd14", "x86-64-v3").unfit("cpu:x86-64-v3") == "this machine runs freebsd14"


@pytest.mark.parametrize("told, machine", [("win-amd64", "x86-64"), ("win-arm64", "aarch64"), ("win32", "win32")])
def test_the_architecture_of_a_process_on_windows(monkeypatch, told, machine):
    monkeypatch.delattr(os, "uname")
    monkeypatch.setattr("sysconfig.get_platform", lambda: told)
    monkeypatch.setattr("sys.platform", "win32")
    assert cpu_levels.machine() == machine and cpu_levels.system() == "windows"


def test_tags_of_wheels():
    assert TARGET.platforms("cpu:x86-64-v3@windows") == ("win_amd64",)
    assert TARGET.platforms("cpu:aarch64@macos") == ("macosx_11_0_arm64",)
    assert TARGET.platforms("cpu:x86-64-v4@macos+bounds") == ("macosx_10_13_x86_64",)
    assert TARGET.platforms("cpu:x86-64-v2") == ("manylinux_2_17_x86_64", "musllinux_1_2_x86_64")


def test_features_of_macos(monkeypatch):
    told = {
        "machdep.cpu.features": b"FPU SSE3 SSSE3 FMA CX16 SSE4.1 SSE4.2 MOVBE POPCNT AVX1.0 F16C\0",
        "machdep.cpu.leaf7_features": b"BMI1 AVX2 BMI2\0", "machdep.cpu.extfeatures": b"LAHF LZCNT\0",
    }  # fmt: skip
    assert levels.linux_level_of(features.macos_flags(lambda name: told.get(name, b""))) == "x86-64-v3"
    names = [f"hw.optional.arm.FEAT_{name}" for name in ("FP16", "DotProd", "LSE", "RDM")]
    apple = dict.fromkeys(names, b"\1\0\0\0")
    assert levels.linux_level_of(features.macos_flags(lambda name: apple.get(name, b"")), "aarch64") == "aarch64-v8.2"
    for name in names:
        without = {**apple, name: b"\0\0\0\0"}
        assert levels.linux_level_of(features.macos_flags(lambda name: without.get(name, b"")), "aarch64") == "aarch64"
    # NumPy says what it was compiled for there, so the system is asked
    monkeypatch.setattr(levels, "machine", lambda: "aarch64")
    monkeypatch.setattr(levels, "system", lambda: "macos")
    monkeypatch.setattr(levels, "_numpy_features", dict)
    monkeypatch.setattr(features, "flags", lambda: features.macos_flags(lambda name: apple.get(name, b"")))
    assert levels.level.__wrapped__() == "aarch64-v8.2"


@pytest.mark.parametrize("present, level", [((), "x86-64"), ((38,), "x86-64-v2"), ((38, 40), "x86-64-v3"), ((38, 40, 41), "x86-64-v4")])
def test_features_of_windows(present, level):
    assert levels.linux_level_of(features.windows_flags(lambda number: int(number in present))) == level


def test_holes_are_looked_for_by_platform(tmp_path, capsys):
    from pydotcompute.cli import main

    declaration = """
version: 1
targets: [cpu:x86-64-v2, cpu:x86-64-v3@windows]
kernels:
  twice:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i] * 2
"""
    (tmp_path / "kernels.yaml").write_text(declaration)
    assert main(["build", "-C", str(tmp_path), "--bundle", str(tmp_path / "bundle")]) == 0
    capsys.readouterr()
    require = ["check", "--bundle", str(tmp_path / "bundle"), "--json", "--require"]
    assert main([*require, "cpu:x86-64-v3@windows"]) == 0
    capsys.readouterr()
    assert main([*require, "cpu:x86-64-v3@macos"]) == 1
    (hole,) = json.loads(capsys.readouterr().out)["holes"]
    assert hole["target"] == "cpu:x86-64-v3@macos" and "cpu:x86-64-v3@windows" in hole["why"]
    assert main(["explain", "twice", "-C", str(tmp_path), "--json"]) == 0
    rows = {row["target"]: row for row in json.loads(capsys.readouterr().out)["artifacts"]}
    assert "linker of the platform" in rows["cpu:x86-64-v3@windows"]["fields"]
    assert "linker of the platform" not in rows["cpu:x86-64-v2"]["fields"]
