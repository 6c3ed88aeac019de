"""Levels of AArch64: which one a processor has, and how they are named."""

import pytest

from pydotcompute.artifact import cpu_levels
from pydotcompute.backends.cpu import features, levels
from pydotcompute.backends.cpu.backend import CPUBackend
from pydotcompute.targets.registry import get, problem

BY_NUMPY = ("FPHP", "ASIMDHP", "ASIMDDP")
BY_LINUX = ("fphp", "asimdhp", "asimddp", "atomics", "asimdrdm")


def test_a_processor_that_lacks_one_feature_has_the_lower_level():
    assert levels.level_of(dict.fromkeys(BY_NUMPY, True), "aarch64") == "aarch64-v8.2"
    assert levels.linux_level_of(BY_LINUX, "aarch64") == "aarch64-v8.2"
    for name in BY_NUMPY:
        assert levels.level_of({n: n != name for n in BY_NUMPY}, "aarch64") == "aarch64"
    for name in BY_LINUX:
        assert levels.linux_level_of(set(BY_LINUX) - {name}, "aarch64") == "aarch64"
    assert levels.level_of({}, "riscv64") == levels.linux_level_of((), "riscv64") == ""


def test_flags_stand_in_a_line_of_another_name(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nFeatures\t: fp asimd fphp asimdhp\nCPU part\t: 0xd0c\n")
    assert features.linux_flags(str(path)) == {"fp", "asimd", "fphp", "asimdhp"}
    assert levels.missing_features(["neon", "fp-armv8", "lse"], features.linux_flags(str(path))) == ["lse"]


@pytest.mark.parametrize(
    "machine, level, name",
    [("aarch64", "aarch64", "cpu:aarch64"), ("x86-64", "x86-64-v2", "cpu:x86-64-v2"), ("riscv64", "", "cpu:native")],
)
def test_what_a_message_tells_to_build(monkeypatch, machine, level, name):
    monkeypatch.setattr(levels, "machine", lambda: machine)
    monkeypatch.setattr(levels, "level", lambda: level)
    assert CPUBackend().usual_target() == name
    other = "aarch64" if machine == "x86-64" else "x86-64"
    assert CPUBackend().unfit(f"cpu:{other}") == f"this processor is {machine}"


def test_names():
    target = get("cpu:aarch64")
    assert not problem("cpu:aarch64-v8.2") and target is get("cpu:x86-64-v3")
    assert problem("cpu:aarch64-v9")[1] == "did you mean 'cpu:aarch64'?"
    assert problem("cpu:arm64")[1] == "did you mean 'cpu:aarch64'?"
    assert target.platforms("cpu:aarch64-v8.2+bounds") == ("manylinux_2_17_aarch64", "musllinux_1_2_aarch64")
    assert {cpu_levels.architecture(level) for level in cpu_levels.LEVELS} == {"x86-64", "aarch64"}
