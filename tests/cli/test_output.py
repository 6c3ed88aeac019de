"""What the commands print about a project that is built: exact texts, JSON, a terminal's progress."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pydotcompute.builder.estimate import Estimate, expected
from pydotcompute.cache.writer import read_manifest

from .console import KERNELS, V2, V3, call, edit


def test_a_build_without_a_terminal_is_plain_lines_on_stderr(built_once):
    done = built_once[1]
    assert (done.returncode, done.stdout) == (0, "")
    lines = done.stderr.splitlines()
    assert lines[:2] == [f"[1/2] built {V2}", f"[2/2] built {V3}"]
    assert re.fullmatch(r"2 built in \d+\.\d\d s", lines[2]) and len(lines) == 3


def test_nothing_to_do(project, capsys):
    code, out, err = call(capsys, "build")
    assert (code, out) == (0, "") and re.fullmatch(r"2 reused in \d+\.\d\d s\n", err)
    assert call(capsys, "build", "--check") == (0, "", "0 of 2 artifacts are out of date\n")


def test_json_of_a_build(project, capsys):
    edit(project)
    code, out, err = call(capsys, "build", "--json", "-t", "cpu:x86-64-v3")
    data = json.loads(out)
    (row,) = data.pop("artifacts")
    assert code == 0 and data == {"version": 1, "built": 1, "reused": 0, "failed": 0}
    assert row.pop("seconds") > 0 and row.pop("bytes") > 1000 and len(row.pop("key")) == 64
    assert row == {
        "kernel": "scale", "specialization": "T=float32", "target": "cpu:x86-64-v3", "status": "built",
        "reason": "source changed (body)",
    }  # fmt: skip
    code, out, _ = call(capsys, "build", "--json", "-t", "cpu:x86-64-v3")
    (row,) = json.loads(out)["artifacts"]
    assert (row["status"], row["reason"], row["seconds"]) == ("reused", "", None) and row["bytes"] > 1000


def test_a_quiet_build_says_only_what_is_wrong(project, capsys):
    edit(project)
    assert call(capsys, "build", "-q") == (0, "", "")
    path = project / "kernels.yaml"
    path.write_text(path.read_text().replace("3 * x[i]", "3 * y[i]"))
    code, out, err = call(capsys, "build", "-q", "--keep-going")
    lines = err.splitlines()
    assert (code, out) == (1, "") and lines[0] == f"[1/2] failed {V2}" and lines[-1] == f"[2/2] failed {V3}"


def test_explain_says_why_and_then_builds(project, capsys):
    edit(project)
    code, out, err = call(capsys, "build", "--explain")
    assert (code, out) == (0, f"{V2}: source changed (body)\n{V3}: source changed (body)\n")
    assert re.search(r"^2 built in", err, re.MULTILINE)


def test_verbose_has_time_size_and_reason(project, capsys):
    edit(project)
    _, _, err = call(capsys, "build", "-v")
    assert re.match(
        re.escape(f"[1/2] built {V2}") + r"  \d\.\d{3} s  \d+\.\d KB  \(source changed \(body\)\)\n", err
    )


def test_timings_of_what_was_built_and_of_what_was_not(project, capsys):
    edit(project)
    _, out, _ = call(capsys, "build", "--timings", "-t", "cpu:x86-64-v2")
    assert re.match(r"scale  T=float32  cpu:x86-64-v2  \d\.\d{3} s  built\n\n", out)
    assert re.search(r"^front end +\d+\.\d{3} s$", out, re.MULTILINE)
    _, out, _ = call(capsys, "build", "--timings", "-t", "cpu:x86-64-v2")
    assert re.fullmatch(r"scale  T=float32  cpu:x86-64-v2  \d\.\d{3} s  reused\n", out)


def test_a_failure_shows_its_place_once(project, capsys):
    path = project / "kernels.yaml"
    path.write_text(path.read_text().replace("2 * x[i]", "2 * y[i]"))
    code, out, err = call(capsys, "build", "-k")
    lines = err.splitlines()
    assert (code, out) == (1, "")
    assert [line for line in lines if line.startswith("[")] == [f"[1/2] failed {V2}", f"[2/2] failed {V3}"]
    assert len([line for line in lines if line.startswith("kernels.yaml:10:")]) == 1
    assert "              out[i] = 2 * y[i]" in lines
    assert re.fullmatch(r"2 failed in \d+\.\d\d s", lines[-1])


def on_a_terminal(arguments, **environment):
    """stdout and stderr as a terminal gets them."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pydotcompute", *arguments],
        stdout=slave, stderr=slave, stdin=slave, env={**os.environ, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(slave)
    data = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        data += piece
    os.close(master)
    return process.wait(), data.decode()


def test_progress_on_a_terminal_rewrites_one_line(project):
    (project / "build" / "cache" / "manifest.json").unlink()
    code, text = on_a_terminal(["build"])
    assert code == 0 and "\r\x1b[K[2/2] \x1b[32mreused\x1b[0m " + V3 in text
    assert re.search(r"\r\x1b\[K2 reused in [\d.]+ s\r\n$", text)


def test_no_color_is_followed(project):
    (project / "build" / "cache" / "manifest.json").unlink()
    code, text = on_a_terminal(["build"], NO_COLOR="1")
    assert code == 0 and "\x1b[32m" not in text and "[2/2] reused" in text


def test_explain_a_kernel(project, capsys):
    code, out, err = call(capsys, "explain", "scale")
    assert (code, err) == (0, "")
    assert out.splitlines()[:4] == [
        "scale (x: T[...]) -> (out: T[...])",
        "  twice x",
        "  declared at kernels.yaml:4, code in body",
        "  rendered to ./build/rendered/scale",
    ]
    assert re.search(r"^T=float32  cpu:x86-64-v2  current  \d+\.\d KB$", out, re.MULTILINE)
    edit(project)
    code, out, _ = call(capsys, "explain", "scale", "-t", "cpu:x86-64-v2")
    assert out.splitlines()[-1] == "T=float32  cpu:x86-64-v2  stale  source changed (body)"
    code, out, _ = call(capsys, "explain", "scale", "--json", "-t", "cpu:x86-64-v2")
    (row,) = json.loads(out)["artifacts"]
    assert row["status"] == "stale" and row["fields"]["flag fastmath"] == "[contract]"
    (change,) = row["changes"]
    assert (change["kind"], change["what"]) == ("changed", "source") and change["old"] != change["new"]
    code, out, _ = call(capsys, "explain", "scale", "--fields", "-t", "cpu:x86-64-v2")
    assert re.search(r"^  tool numba +\d+\.\d+", out, re.MULTILINE)


def test_everything_works_from_another_folder(project, capsys, monkeypatch):
    monkeypatch.chdir("/")
    assert call(capsys, "build", "--check", "-C", str(project))[0] == 0
    code, out, _ = call(capsys, "cache", "dir", "-C", str(project), "--json")
    assert json.loads(out) == {"version": 1, "dir": f"{project}/build/cache", "exists": True}


def test_a_build_with_nothing_to_do_imports_no_compiler(project):
    program = (
        "import sys; from pydotcompute.cli import main; code = main(['build']);"
        "print(code, sorted({'numba', 'llvmlite', 'numpy', 'diskcache', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "0 []\n"


MISTAKES = """\
version: 1
targets: [cpu:x86-64-v3]
kernels:
  unknown_key:
    sig: "(x: T[...]) -> (out: T[...])"
    body: |
      for i in grid(size):
          out[i] = x[i]
  right:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i]
  wrong_dtype:
    signature: "(x: float33[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i]
  not_rendered:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = {{ nothing }}
  clip:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32, float64]}
    body: |
      for i in grid(n):
          out[i] = clip(x[i], 0)
          out[i] = unknown(x[i])
  racy:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = out[n - 1 - i]
"""
PLACES = ["kernels.yaml:5:5: ", "kernels.yaml:15:21: ", "kernels.yaml:23:23: ", "kernels.yaml:29:20: "]


def test_every_kernel_s_first_mistake_is_told_in_one_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.yaml").write_text(MISTAKES)
    for options in ((), ("-n",), ("-k",)):
        code, out, err = call(capsys, "build", *options)
        places = re.findall(r"^kernels\.yaml:\d+:\d+: ", err, re.MULTILINE)
        assert code == 1 and len(places) == 5 and set(PLACES) <= set(places), (options, err)
        assert "unknown function `clip`" in err and "`unknown`" not in err and "recursion" not in err
        assert len(list(tmp_path.rglob("*.so"))) == (options == ("-k",))
        if options == ("-n",):
            planned = json.loads(call(capsys, "build", "-n", "--json")[1])
    rows = json.loads(call(capsys, "build", "-k", "--json")[1])
    assert rows["failed"] == 6 and rows["reused"] == 1
    def reasons(data, status):
        return {row["kernel"]: row["reason"] for row in data["artifacts"] if row["status"] == status}

    assert planned["failed"] == 6 and reasons(planned, "stale") == {"right": "not built"}
    assert reasons(planned, "failed") == reasons(rows, "failed")
    code, out, err = call(capsys, "build", "right", "-n")
    assert code == 0, "what is not asked for is left alone"


def test_a_dry_run_refuses_what_cannot_be_launched(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = 'version: 1\ntargets: ["cuda:compute_80"]\nkernels:\n  k:\n    signature: "(x: float32[n]) -> ()"\n'
    for launch, body, told in (
        ("{block: 64}", "i = cuda.grid(1)", "raw kernel k does not say how many blocks it is launched with"),
        ("{block: 64, grid: 1}", "x[cuda.grid(1)] = nope", "kernels.yaml:8:25: unknown name 'nope'"),
        ("{block: [P, 2], grid: 1}\n    params: {P: [128, 1024]}", "x[cuda.grid(1)] = 1",
         "kernels.yaml:6:21: a block of 1024 x 2 threads with P = 1024\n"),
        ("{block: P}\n    params: {P: [128, 2048]}", "for i in grid(n):\n          v = x[i]",
         "kernels.yaml:6:21: a block of 2048 threads with P = 2048\n"),
    ):
        (tmp_path / "kernels.yaml").write_text(f"{start}    launch: {launch}\n    body: |\n      {body}\n")
        code, _, err = call(capsys, "build", "-n")
        assert code == 1 and told in err, err


def test_a_mistake_in_a_declaration_takes_nothing_away_that_works(project, capsys):
    import pydotcompute

    file = project / "kernels.yaml"
    text = file.read_text()
    file.write_text(text.replace("[float32]", "[float33]"))
    assert call(capsys, "build", "-k")[0] == 1
    with pytest.warns(pydotcompute.StaleArtifactWarning, match=r"is stale \(kernels.yaml:7:17: unknown dtype"):
        lib = pydotcompute.load(project)
    import numpy as np

    assert lib.scale(np.float32([1, 2])).tolist() == [2, 4]
    file.write_text(text)
    assert call(capsys, "build")[0] == 0 and pydotcompute.load(project, strict=True)


def test_a_call_after_a_failed_build_says_why(project, capsys):
    import pydotcompute
    import numpy as np

    text = (project / "kernels.yaml").read_text()
    shutil.rmtree(project / "build")
    (project / "kernels.yaml").write_text(text.replace("2 * x[i]", "twice(x[i])"))
    assert call(capsys, "build", "-k")[0] == 1
    with pytest.raises(pydotcompute.KernelNotBuiltError) as caught:
        pydotcompute.load(project).scale(np.float32([1]))
    told = str(caught.value)
    assert told.startswith("scale[T=float32] is not built, because its last build failed for cpu:x86-64-v2, and for "
                           "cpu:x86-64-v3: kernels.yaml:10:20: unknown function `twice`")  # fmt: skip
    assert "(declared targets: cpu:x86-64-v2, cpu:x86-64-v3; nothing is built)" in told
    assert told.endswith(f"mend that, then run: pydotcompute build scale -C {project}")
    (project / "kernels.yaml").write_text(text)
    assert call(capsys, "build")[0] == 0
    assert pydotcompute.load(project).scale(np.float32([1]))[0] == 2
    assert "failed" not in str(read_manifest(str(project / "build/cache")))


CUDA_TOO = KERNELS.replace("cpu:x86-64-v2, cpu:x86-64-v3", "cpu:x86-64-v3, 'cuda:compute_80'")


def test_declared_targets_without_their_tools_are_left_out(project, capsys, monkeypatch):
    (project / "kernels.yaml").write_text(CUDA_TOO)
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    for options in (("-n",), (), ()):
        code, out, err = call(capsys, "build", *options)
        lines = [line for line in err.splitlines() if "cuda" in line]
        assert code == 0 and len(lines) == 1, err
        assert lines[0].startswith("left out: cuda:compute_80. CUDA targets need numba-cuda, which is not installed")
        assert "pip install" in lines[0] and "cuda" not in out
    code, out, err = call(capsys, "build", "-t", "cuda:compute_80")
    assert code == 1 and "CUDA targets need numba-cuda" in err and "left out" not in err
    code, out, err = call(capsys, "build", "-n", "-t", "cuda:compute_80")
    assert code == 1 and "CUDA targets need numba-cuda" in err
    code, out, err = call(capsys, "build", "--bundle", str(project / "bundle"))
    assert code == 1 and "CUDA targets need numba-cuda" in err and not (project / "bundle").exists()


def test_declared_targets_with_their_tools_are_built(project, capsys):
    (project / "kernels.yaml").write_text(CUDA_TOO)
    code, out, err = call(capsys, "build", "--json")
    assert code == 0 and "left out" not in err
    assert {row["target"]: row["status"] for row in json.loads(out)["artifacts"]} == {
        "cpu:x86-64-v3": "reused", "cuda:compute_80": "built",
    }  # fmt: skip


def test_check_and_the_cache_say_what_becomes_of_indices(tmp_path, capsys, monkeypatch):
    body = "    signature: '(x: float32[n], y: int64[m]) -> (out: float32[m])'\n    inputs: {y: {low: 0, high: n}}\n" \
           "    requires: ['n > 0']\n    reference: x[y]\n    body: |\n      for i in grid(m):\n          out[i] = x[y[i]]\n"
    (tmp_path / "kernels.yaml").write_text(
        "version: 1\ntargets: [cpu:x86-64-v2, opencl:1.2]\nkernels:\n"
        f"  checked:\n{body}  trusted:\n    unchecked: true\n{body}"
    )  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "build")[0] == 0
    shown = {name: call(capsys, "cache", "show", name)[1] for name in ("checked", "trusted")}
    trusted = "those of 1 access neither proved to be inside nor checked"
    told = {name: re.findall("^  indices +(.*)$", text, re.MULTILINE) for name, text in shown.items()}
    checked = "1 checked in every call, the others proved to be inside"
    assert told == {"checked": [checked, checked], "trusted": [trusted, trusted]}
    out = call(capsys, "check", "--quick", "-t", "cpu:x86-64-v2")[1]
    assert re.search(r"^ok       trusted .* indices not checked \(unchecked: true\)$", out, re.MULTILINE)
    assert re.search(r"^ok       checked .* of what is allowed$", out, re.MULTILINE)


@pytest.mark.slow
def test_a_terminal_hears_how_long_the_rest_will_take(tmp_path):
    """Of four kernels, one after the other: once the first is done, each line says it; in the end there is nothing."""
    head, _, body = KERNELS.partition("  scale:")
    (tmp_path / "kernels.yaml").write_text(head + "".join(f"  scale{k}:{body}" for k in range(4)))
    code, text = on_a_terminal(["build", "-C", str(tmp_path), "-j", "1", "-t", "cpu:x86-64-v2"], NO_COLOR="1")
    lines = re.findall(r"\r\x1b\[K\[(\d)/4\] (.*?)(?:built )?scale\d", text)
    assert code == 0 and {done for done, left in lines if left} == {"1", "2", "3"}, text
    assert all(re.fullmatch(r"(\d+ min )?[1-9]\d* s left  ", left) for done, left in lines if done in "123")
    assert not any(left for done, left in lines if done in "04")


def test_the_time_left_goes_by_what_artifacts_took():
    """Two thirds of the work are done after ten seconds, whatever the number of artifacts."""
    names = [("a", "-", V2), ("a", "-", V3), ("b", "-", V2), ("new", "-", V2), ("adopted", "-", V2)]
    took = {names[0]: 6.0, names[1]: 2.0, names[2]: 1.0}
    items = [SimpleNamespace(name=name, found={} if name[0] == "adopted" else None) for name in names]
    plan = SimpleNamespace(stale=items, entry=lambda item: {"key": item.name})
    seconds = {name: {"seconds": took.get(name)} for name in names}
    assert expected(plan, seconds.get) == took | {names[3]: 3.0}
    now = iter([100.0, 110.0, 111.0, 112.0])
    estimate = Estimate(plan, seconds.get, lambda: next(now))
    assert estimate.left is None
    estimate.done(names[0])
    estimate.done(names[1])
    assert estimate.left == pytest.approx(10 * 4 / 8)
    estimate.done(names[4])
    estimate.done(names[3])
    assert estimate.left == pytest.approx(11 * 1 / 11)
    estimate.done(names[2])
    assert estimate.left is None
    assert set(expected(plan, lambda key: None).values()) == {1.0}
