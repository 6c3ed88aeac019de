"""Templates that ask whether processors have AVX-512: what each target gets, and what is made together."""

from pydotcompute.targets.registry import get

from .project import build_project, edit, plan_project, stale, write_project

TARGETS = ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4")


def rendered(plan):
    return {item.target: plan.rendered[item.place] for item in plan.items if item.kernel.name == "cube"}


def test_each_target_gets_its_own(tmp_path):
    root = write_project(tmp_path / "project")
    edit(root, "templates/cube.py.j2", "x * x * x", "{% if avx512 %}(x * x) * x{% else %}x * (x * x){% endif %}")
    found = rendered(plan_project(root, targets=TARGETS))
    assert ["(x * x) * x" in found[target].text for target in TARGETS] == [False, False, True]
    assert found[TARGETS[0]] is found[TARGETS[1]]
    build_project(root, targets=TARGETS)
    names = {path.name for path in root.glob("build/rendered/cube/*.py")}
    assert {"T=float32.py", "T=float32.cpu.py", "T=float32.avx512.py", "T=float32.avx512.cpu.py"} <= names
    assert not stale(plan_project(root, targets=TARGETS))


def test_who_does_not_ask_is_rendered_once(tmp_path):
    found = rendered(plan_project(write_project(tmp_path / "project"), targets=TARGETS))
    assert found[TARGETS[0]] is found[TARGETS[2]]


def test_a_mistake_counts_for_its_own_targets(tmp_path):
    root = write_project(tmp_path / "project")
    edit(root, "templates/cube.py.j2", "x * x * x", "{% if avx512 %}{{ nowhere }}{% else %}x * x * x{% endif %}")
    failed = {target for kernel, _, target in plan_project(root, targets=TARGETS).failures}
    assert failed == {"cpu:x86-64-v4"}


def test_the_processor_of_native(monkeypatch):
    from pydotcompute.targets.cpu import target

    for flags, has in (("avx avx2 avx512f", False), ("avx512f avx512cd avx512bw avx512dq avx512vl avx2", True)):
        monkeypatch.setattr(target, "processor", lambda flags=flags: f"GenuineIntel 6 85 7 {flags}")
        assert get("cpu").has_avx512("cpu:native") is has
    assert get("cpu").has_avx512("cpu:x86-64-v4@windows+bounds")
    assert not get("cpu").has_avx512("cpu:aarch64")
