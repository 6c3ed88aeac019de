"""`report`: the command, what it says of artifacts, and the parts of the page that are reckoned."""

import base64
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zlib

import pytest

from pydotcompute.builder.build import BuildError
from pydotcompute.builder.remembered import timeline as checked_timeline
from pydotcompute.cli import main
from pydotcompute.builder.show import shown
from pydotcompute.report import code
from pydotcompute.report.benches import read
from pydotcompute.report.page import page
from pydotcompute.report.timeline import timeline
from tests.report.made import FIGURES, HOSTILE, call, write_project


def job(worker, start, end, name="k", **phases):
    return {"kernel": name, "specialization": "-", "targets": ["cpu:x86-64-v2"], "worker": worker, "start": start,
            "end": end, "phases": phases, "failed": False}  # fmt: skip


def test_the_critical_path_is_what_the_last_worker_did():
    jobs = [job(7, 0.5, 2.0, "a"), job(9, 0.5, 4.0, "b"), job(7, 2.1, 3.0, "c", LLVM=0.5), job(7, 3.0, 5.0, "d")]
    random.Random(1).shuffle(jobs)
    found = timeline({"at": 1.0, "seconds": 5.5, "jobs": jobs})
    assert [found["jobs"][k]["kernel"] for k in found["critical"]] == ["a", "c", "d"]
    assert found["lanes"] == 2 and {j["lane"] for j in found["jobs"] if j["kernel"] in "acd"} != {1, 0}
    (c,) = [j for j in found["jobs"] if j["kernel"] == "c"]
    assert c["phases"] == {"start of the worker": pytest.approx(0.4), "LLVM": 0.5}
    assert timeline({"at": 1.0, "seconds": 0.0, "jobs": []})["critical"] == []


def test_random_builds_have_a_chain_without_gaps_that_a_worker_could_have_used():
    """Against a simulation of the pool: each job of the chain begins when its worker became free."""
    draw = random.Random(3)
    for _ in range(50):
        free, jobs = [0.3] * draw.randint(1, 4), []
        for k in range(draw.randint(1, 20)):
            worker = min(range(len(free)), key=free.__getitem__)
            took = draw.uniform(0.1, 2)
            jobs.append(job(worker, free[worker], free[worker] + took, str(k)))
            free[worker] += took
        found = timeline({"at": 0.0, "seconds": max(free), "jobs": jobs})
        chain = [found["jobs"][k] for k in found["critical"]]
        assert chain[-1]["end"] == max(free) and chain[0]["start"] == 0.3
        assert all(a["end"] == b["start"] for a, b in zip(chain, chain[1:]))


class Store:
    """A store that remembers this."""

    def __init__(self, value):
        self.get = lambda name: value


@pytest.mark.parametrize("value", [None, 3, {}, {"jobs": 1}, {"jobs": [], "seconds": "1", "at": 1.0},
                                   {"jobs": [job("w", 0.0, 1.0)], "seconds": 1.0, "at": 1.0}])  # fmt: skip
def test_a_history_of_anything_has_no_timeline(value):
    assert checked_timeline(Store(value)) is None and checked_timeline(None) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1, "columns": ["a"], "figures": [1]}'])
def test_what_are_no_figures(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(BuildError, match="x.json: no figures of a bench; expected what 'pydotcompute bench --json'"):
        read(str(tmp_path / "x.json"))


def test_what_is_no_file_has_no_figures(tmp_path):
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(OSError, match="a FIFO, not a file"):
        read(str(tmp_path / "x.json"))


def test_figures_of_another_version(tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(FIGURES | {"version": 2}))
    with pytest.raises(BuildError, match="version 2 of figures, this program reads 1"):
        read(str(tmp_path / "x.json"))


@pytest.mark.parametrize(
    "arguments, code, line",
    [
        (["gud"], 2, "no kernel 'gud' in kernels.yaml; expected one of good"),
        (["-t", "cpu:x87"], 2, "unknown target 'cpu:x87'; did you mean 'cpu:x86-64'?"),
        (["--bench", "nowhere.json"], 1, "nowhere.json: No such file or directory"),
        (["-j", "0"], 2, "expected a whole number from 1"),
    ],
)
def test_mistakes(tmp_path, monkeypatch, capsys, arguments, code, line):
    monkeypatch.chdir(tmp_path)
    body = "\n      for i in grid(n): out[i] = x[i]"
    text = f'version: 1\nkernels:\n  good:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n    body: |{body}\n'
    (tmp_path / "kernels.yaml").write_text(text)
    assert main(["report", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == "" and line in captured.err.splitlines()[-1] and not (tmp_path / "report.html").exists()


THREE = 'version: 1\ntargets: ["opencl:1.2"]\nkernels:\n' + "".join(
    f'  {name}:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n    body: |\n      for i in grid(n): out[i] = x[i]\n'
    for name in ("first", "deadly", "last")
)


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_what_ends_a_process_is_named_and_the_others_are_shown(tmp_path, monkeypatch, jobs):
    (tmp_path / "kernels.yaml").write_text(THREE)

    def deadly(plan, item, *more):
        if item.name[0] == "deadly":
            os.abort()
        return shown(plan, item, *more)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(code, "shown", deadly)
    assert main(["report", "-q", "-j", jobs]) == 0
    _, parts = unpacked((tmp_path / "report.html").read_text())
    stages = {name: part["codes"][0]["stages"] for name, part in parts.items()}
    assert "`pydotcompute show deadly -t opencl:1.2` shows how" in stages["deadly"][0]["problem"]
    assert all(stage["text"] and not stage["problem"] for name in ("first", "last") for stage in stages[name])


def test_what_becomes_of_indices_is_said(tmp_path, monkeypatch):
    signature = 'signature: "(x: float32[n], k: int64[m]) -> (out: float32[m])"'
    body = "body: |\n      for i in grid(m): out[i] = x[k[i]]"
    text = 'version: 1\ntargets: ["opencl:1.2"]\nkernels:\n'
    for name, more in (("taken", ""), ("trusted", "    unchecked: true\n")):
        text += f"  {name}:\n    {signature}\n{more}    {body}\n"
    (tmp_path / "kernels.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["build", "-q"]) == 0 and main(["report", "-q"]) == 0
    _, parts = unpacked((tmp_path / "report.html").read_text())
    assert {name: part["artifacts"][0]["indices"] for name, part in parts.items()} == {
        "taken": "1 checked in every call, the others proved to be inside",
        "trusted": "those of 1 access neither proved to be inside nor checked",
    }


ORDINARY = str.maketrans(",.:[", "&<>`")  # digits of base 85, for those that stand in their place


def unpacked(page: str) -> tuple[dict, dict[str, dict]]:
    """What a page holds: the overview, and each kernel."""
    texts = re.findall(r'<script type="text/plain"[^>]*>([^<]*)</script>', page)
    whole, *parts = (json.loads(zlib.decompress(base64.b85decode(text.translate(ORDINARY)))) for text in texts)
    return whole, {kernel["name"]: part for kernel, part in zip(whole["kernels"], parts, strict=True)}


def test_figures_that_are_no_numbers_do_not_empty_the_page(tmp_path):
    """Browsers refuse NaN in JSON, which Python writes and reads."""
    (tmp_path / "x.json").write_text(json.dumps({"version": 1, "subject": "code", "columns": ["kernel", "cycles"],
        "figures": [{"kernel": "k", "cycles": float("nan")}, {"kernel": "l", "cycles": float("inf")}]}))  # fmt: skip
    whole = {"project": "p", "kernels": [{"name": "k"}], "benches": [read(str(tmp_path / "x.json"))]}
    found, _ = unpacked(page(whole, {}))
    assert found["benches"][0]["rows"] == [["k", "nan"], ["l", "inf"]]


@pytest.mark.slow
def test_an_interrupted_report_ends_soon_and_quietly(tmp_path):
    """Of a hundred kernels one or two are looked at when Ctrl-C comes: no others after them."""
    body = "\n      for i in grid(n):\n          out[i] = {} * x[i]\n"
    kernel = '  k{}:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n    body: |' + body
    text = "version: 1\ntargets: [cpu:x86-64-v2]\nkernels:\n" + "".join(kernel.format(k, k) for k in range(100))
    (tmp_path / "kernels.yaml").write_text(text)
    begun = tmp_path / "begun"
    program = (
        "import sys; from pydotcompute.cli import main; from pydotcompute.report import code; own = code.code\n"
        f"code.code = lambda found: (open({str(begun)!r}, 'a').write('k'), own(found))[1]\n"
        "sys.exit(main(['report', '-j', '1']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60)[1] == "interrupted\n" and process.returncode == 130
    assert len(begun.read_text()) < 20 and not (tmp_path / "report.html").exists()


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    root = tmp_path_factory.mktemp("report")
    write_project(root)
    done = call(root, "report", "-o", "out.html", "--bench", "figures.json", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout), unpacked((root / "out.html").read_text())


@pytest.mark.slow
def test_every_state_with_its_reason(reported):
    data, (whole, parts) = reported
    found = {
        (kernel["name"], label, target): cell[:2]
        for kernel in whole["kernels"]
        for target, row in zip(whole["targets"], kernel["cells"], strict=True)
        for label, cell in zip(kernel["specializations"], row, strict=True)
    }
    for target in ("cpu:x86-64-v2", "cpu:x86-64-v3"):
        for label in ("T=float32", "T=float64"):
            state, why = found.pop(("good", label, target))
            assert state == "checked" and re.fullmatch(r"current; \d+ cases held", why)
        assert found.pop(("changed", "T=float32", target)) == ["stale", "source changed (template changed.py.j2)"]
        state, why = found.pop(("wrong", "-", target))
        assert state == "failed" and why.startswith("the check failed: out[")
        assert found.pop(("later", "-", target)) == ["declared", "not built"]
        state, why = found.pop(("broken", "-", target))
        assert state == "failed" and "unknown name `nothing`" in why
    assert found == {} and data["states"] == {"checked": 4, "built": 0, "stale": 2, "failed": 4, "declared": 2}
    assert whole["timeline"]["jobs"] and whole["builds"]["builds"] == 2 and whole["benches"][0]["rows"][1][1] is None


@pytest.mark.slow
def test_every_line_of_machine_code_leads_to_the_declaration(reported):
    _, (_, parts) = reported
    (code,) = parts["good"]["codes"]
    assert [stage["stage"] for stage in code["stages"]] == ["source", "lowered", "llvm", "asm"]
    ((path, lines),) = code["files"]
    assert path == "kernels.yaml" and [text.strip() for _, text in lines][0] == "good:" and lines[-1][0] == 11
    for stage in code["stages"]:
        assert not stage["problem"] and len(stage["at"]) == len(stage["text"].split("\n"))
        from_store = {code["places"][at][1] for at in stage["at"] if at >= 0}
        assert 10 in from_store, stage["stage"]
    assembly = code["stages"][3]
    pairs = zip(assembly["text"].split("\n"), assembly["at"], strict=True)
    multiply = [at for text, at in pairs if re.search(r"\b(add|mul)ps\b", text)]
    assert multiply and {code["places"][at] == [0, 10] for at in multiply} == {True}
    loops = [loop for loop in code["loops"] if code["places"][loop["at"]] == [0, 9]]
    assert loops and loops[0]["elements"] > 1 and loops[0]["total"] == sum(loops[0]["classes"].values())
    (code,) = parts["changed"]["codes"]
    assert [path for path, _ in code["files"]] == ["kernels.yaml", "templates/changed.py.j2"]
    assert code["files"][1][1][3] == [4, "        out[i] = x[i] + 2"]


@pytest.mark.slow
def test_what_cannot_be_made_says_why(reported):
    _, (_, parts) = reported
    (code,) = parts["broken"]["codes"]
    problems = {stage["stage"]: stage["problem"] for stage in code["stages"]}
    assert problems["source"] == "" and "unknown name `nothing`" in problems["asm"]
    (one, _) = parts["good"]["artifacts"][:2]
    assert one["fields"]["target"] == one["target"] and one["object"] and one["seconds"] > 0 and one["checked"] > 1e9


@pytest.mark.slow
def test_other_targets_and_every_specialisation(tmp_path):
    write_project(tmp_path)
    words = ("report", "good", "-t", "cpu:x86-64-v3", "-t", "cpu:x86-64-v2", "--every-specialization", "-q", "-j", "2")
    done = call(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    whole, parts = unpacked((tmp_path / "report.html").read_text())
    assert [kernel["name"] for kernel in whole["kernels"]] == ["good"] and whole["kernels"][0]["doc"] == "twice x"
    shown = {(code["specialization"], code["target"]) for code in parts["good"]["codes"]}
    assert shown == {(f"T={t}", f"cpu:x86-64-{v}") for t in ("float32", "float64") for v in ("v2", "v3")}
    assert HOSTILE not in (tmp_path / "report.html").read_text()
