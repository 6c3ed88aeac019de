"""Same inputs, same bytes: in another folder, another process, another order; and rendered sources as real files."""

import json
import os
import subprocess
import sys

from .project import build_project, copy_project, edit, manifest, objects, write_project


def test_the_same_bytes_in_another_folder_and_process(built, tmp_path):
    other = write_project(tmp_path / "somewhere else" / "deeper")
    environment = {**os.environ, "PYTHONHASHSEED": "1", "NUMBA_OPT": "0", "NUMBA_DEBUG_CACHE": "1"}
    command = [sys.executable, "-m", "pydotcompute", "build", "-j", "1"]
    done = subprocess.run(command, cwd=other, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert objects(other) == objects(built)
    assert manifest(other) == manifest(built)


def test_one_target_at_a_time_gives_the_same_bytes(built, tmp_path):
    other = write_project(tmp_path / "other")
    build_project(other, kernels=("scale",), targets=("cpu:x86-64-v3",))
    build_project(other, targets=("cpu:x86-64-v2",))
    build_project(other)
    assert objects(other) == objects(built)
    assert manifest(other) == manifest(built)


def test_nothing_in_an_object_names_the_folder_it_was_made_in(built, built_once):
    for name, data in objects(built).items():
        for place in (built, built_once, built_once.parent):
            assert str(place).encode() not in data, name


def test_the_manifest_has_no_time_and_no_place(built, built_once):
    text = json.dumps(manifest(built))
    assert str(built_once) not in text and str(built) not in text


def test_rendered_sources_are_files_written_only_when_they_change(built):
    folder = built / "build" / "rendered"
    assert sorted(path.name for path in (folder / "cube").iterdir()) == [
        "T=float32.cpu.py", "T=float32.py", "T=float64.cpu.py", "T=float64.py",
    ]  # fmt: skip
    assert "x * x * x" in (folder / "cube" / "T=float32.py").read_text()
    assert "return x * 3" in (folder / "scale" / "FACTOR=3.py").read_text()
    for path in folder.rglob("*.py"):
        os.utime(path, ns=(1, 1))
    edit(built, "templates/factor.py.j2", "{{ FACTOR }}", "{{ FACTOR if FACTOR == 2 else 7 }}")
    # Everything of cube is compiled again, from the very same source.
    edit(built, "kernels.yaml", "    template: cube.py.j2", "    template: cube.py.j2\n    fastmath: []")
    build_project(built)
    rewritten = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if path.stat().st_mtime_ns != 1}
    assert "scale/FACTOR=3.py" in rewritten and "cube/T=float32.py" not in rewritten
    assert not any(name.startswith(("scale/FACTOR=2", "saxpy")) for name in rewritten)


def test_a_copied_cache_is_current_in_its_new_place(built, tmp_path):
    from .project import plan_project, stale

    assert stale(plan_project(copy_project(built, tmp_path / "copy"))) == {}
