"""`pydotcompute bench`: what it is asked, what it refuses, and the shape of its figures. The figures are not judged."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import pydotcompute
from pydotcompute.artifact import size_classes
from pydotcompute.bench import SUBJECTS, own
from pydotcompute.bench.compare import Before
from pydotcompute.cli import main
from tests.targets.opencl import run as opencl

SAXPY = """\
version: 1
targets: [cpu:x86-64-v3]
kernels:
  build:
    signature: "(a: T, x: T[...]) -> (out: T[...])"
    types: {T: [float32]}
    body: |
      for i in grid(size):
          out[i] = a * x[i]
"""


def call(capsys, *arguments):
    code = main(["bench", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def figures(capsys, subject, *arguments):
    """The rows, of which each has no other columns than the subject says."""
    code, out, err = call(capsys, "--subject", subject, "--json", *arguments)
    assert code == 0, err
    data = json.loads(out)
    assert (data["version"], data["subject"]) == (1, subject)
    assert all(set(row) <= set(data["columns"]) for row in data["figures"])
    return data["figures"]


@pytest.mark.parametrize(
    "arguments, line",
    [
        ((), "pydotcompute bench: error: the following arguments are required: --subject"),
        (("--subject", "cals"), "pydotcompute: no subject 'cals' in pydotcompute bench; did you mean 'calls'?"),
        (("--subject", "calls", "--rounds", "0"),
         "pydotcompute bench: error: argument --rounds: '0' is not a whole number from 1 to 1,000,000,000,000,000"),
        (("--subject", "calls", "--rounds", "9" * 400),
         f"pydotcompute bench: error: argument --rounds: '{'9' * 30}' is not a whole number from 1 to "
         "1,000,000,000,000,000"),
        (("--subject", "calls", "--elements", "10"),
         "pydotcompute: --elements does not apply to --subject calls; it is for bandwidth, opencl"),
        (("--subject", "start", "-C", "."),
         "pydotcompute: -C does not apply to --subject start; it is for kernels, declared, threads, code, build"),
        (("--subject", "build", "-C", "nowhere"), "pydotcompute: -C nowhere: there is no such folder"),
        (("--subject", "calls", "--compare", "nowhere.json"),
         "pydotcompute: --compare nowhere.json: No such file or directory"),
        (("--subject", "calls", "--compare", "pyproject.toml"),
         "pydotcompute: --compare pyproject.toml: not JSON (Expecting value: line 1 column 2 (char 1)); "
         "write it by bench --json"),
        (("--subject", "calls", "--threshold", "0"),
         "pydotcompute bench: error: argument --threshold: '0' is no number of times"),
        (("--subject", "functions", "--function", "sine"),
         "pydotcompute: no function 'sine' in pydotcompute bench --subject functions; did you mean 'sin'?"),
    ],
)  # fmt: skip
def test_what_is_not_understood(capsys, arguments, line):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == line


def test_help_names_every_subject(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0
    for name, subject in SUBJECTS.items():
        assert f"  {name} " in out and subject.summary in out


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_subject_takes_what_it_says(name):
    """What a subject lists are the arguments of its `measure`, besides how often."""
    import importlib
    import inspect

    module = importlib.import_module(f"pydotcompute.bench.{SUBJECTS[name].module}")
    taken = inspect.signature(module.measure).parameters
    assert "rounds" in taken and set(SUBJECTS[name].options) <= set(taken)
    assert all(p.default is not p.empty for n, p in taken.items() if n not in ("directory", "targets", "functions", "kernels"))


def test_a_project_without_a_declaration(tmp_path, capsys):
    code, out, err = call(capsys, "--subject", "build", "-C", str(tmp_path))
    assert (code, out) == (1, "") and err == f"{tmp_path}/kernels.yaml: No such file or directory\n"


@pytest.mark.slow
def test_a_build(tmp_path, capsys):
    """Of a project whose only kernel has a subject's name. Its own cache is not touched."""
    (tmp_path / "kernels.yaml").write_text(SAXPY)
    rows = figures(capsys, "build", "-C", str(tmp_path), "--rounds", "1")
    assert [row.get("artifacts") for row in rows] == [1, 1, None, 0]
    assert all(row["s"] > 0 for row in rows) and not (tmp_path / "build").exists()


@pytest.mark.slow
def test_functions_in_columns_and_as_json(capsys):
    chosen = ("--function", "exp", "-t", "cpu:x86-64-v2", "--rounds", "1")
    rows = figures(capsys, "functions", *chosen)
    assert [(row["function"], row["dtype"], row["target"]) for row in rows] == [
        ("exp", "float32", "cpu:x86-64-v2"), ("exp", "float64", "cpu:x86-64-v2"),
    ]  # fmt: skip
    for row in rows:
        assert row["times as fast"] == pytest.approx(row["NumPy"] / row["ns an element"])
    code, out, _ = call(capsys, "--subject", "functions", *chosen)
    head, *lines = out.splitlines()
    assert code == 0 and head.split()[:3] == ["function", "dtype", "target"] and len(lines) == 2


@pytest.mark.slow
def test_calls_starts_kernels_and_threads(built, capsys):
    run = [sys.executable, "-m", "pydotcompute", "bench", "--json", "--rounds", "1"]
    kernels = ("-C", str(built), "--kernel", "axpy")
    for subject, rows, more in (("calls", 90, ()), ("start", 2, ()), ("kernels", 4, kernels), ("threads", 7, kernels)):
        done = subprocess.run([*run, "--subject", subject, *more], capture_output=True, text=True, cwd=built)
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["figures"]) == rows
    limit = ["--subject", "start", "--limit", "0.5", "0"]
    done = subprocess.run([*run, *limit], capture_output=True, text=True, cwd=built)
    assert done.returncode == 1 and done.stderr == "above the limit of 0.5 times and 0 MiB\n"


def test_a_machine_without_a_device():
    """Said, and a failure: no figures are not good figures. Where CuPy finds a device, one that cannot be seen."""
    run = [sys.executable, "-m", "pydotcompute", "bench", "--subject", "launches"]
    done = subprocess.run(run, capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("nothing was measured: ") and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_an_opencl_device(capsys):
    if reason := opencl.missing():
        pytest.skip(reason)
    axpy, softmax, *first = figures(capsys, "opencl", "--elements", "10000", "--rounds", "1")
    assert (axpy["what"], axpy["elements"]) == ("axpy", 10_000) and softmax["elements"] == 10_000
    assert all(axpy[by] > 0 for by in ("GB/s", "CPU target", "pyopencl")) and softmax["GB/s"] > 0
    assert len(first) == 3 and all(row["s"] > 0 for row in first)


DECLARED = SAXPY.replace("build:", "saxpy:") + """\
    reference: a * x
    sizes: {bench: [{size: 1000}, {size: 2000}]}
    work: {bytes: 8 * size, operations: size}
  other:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i]
"""


@pytest.mark.slow
def test_declared_sizes_and_what_they_took_before(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(DECLARED)
    where = ("-C", str(tmp_path), "--rounds", "5")
    picture = tmp_path / "roof.svg"
    rows = figures(capsys, "declared", *where, "--plot", str(picture))
    assert rows == sorted(rows, key=lambda row: row["times as fast"])
    rows = sorted(rows, key=lambda row: row["sizes"])
    assert [(r["kernel"], r["sizes"]) for r in rows] == [("saxpy", "size=1000"), ("saxpy", "size=2000")]
    for row, n in zip(rows, (1000, 2000), strict=True):
        assert row["GB/s"] == pytest.approx(8 * n / row["µs"] / 1e3) and row["Gop/s"] == pytest.approx(row["GB/s"] / 8)
        peers = row["reference µs"], row["Numba µs"]
        assert row["times as fast"] == pytest.approx(min(peers) / row["µs"]) and row["of a copy"] > 0
        assert row["spread"] >= 1 and ("bound by" in row) == (row["times as fast"] < 1)
        assert row["of matmul"] > 0
    said = re.findall(r"<text [^>]*>([^<]+)</text>", picture.read_text())
    roofs = [max(r["GB/s"] / r["of a copy"] for r in rows), max(r["Gop/s"] / r["of matmul"] for r in rows)]
    assert {"roofline", f"a copy: {roofs[0]:.3g} GB/s", f"matmul: {roofs[1]:.3g} Gop/s", "ours", "reference"} <= {*said}
    for row in rows:
        share = max(row["of a copy"], row["of matmul"])
        assert {f"saxpy {share:.0%}", f"saxpy T=float32 {row['sizes']} cpu:x86-64-v3"} <= {*said}
    then = tmp_path / "then.json"

    def compared(change, *more):
        before = [{**row, "µs": row["µs"] * change, "bound by": "it was another thing then"} for row in rows[:1]]
        then.write_text(json.dumps({"version": 1, "subject": "declared", "figures": before}))
        return call(capsys, "--subject", "declared", *where, "--compare", str(then), *more)

    code, out, err = compared(1000)
    assert code == 0 and "to before" in out.splitlines()[0], err
    code, _, err = compared(1 / 1000)
    assert code == 1 and f" times as slow as in {then}, of µs: " in err and "size=1000" in err and "size=2000" not in err
    assert compared(1 / 1000, "--threshold", "1e9")[0] == 0
    then.write_text(json.dumps({"version": 1, "subject": "calls", "figures": []}))
    code, _, err = call(capsys, "--subject", "declared", *where, "--compare", str(then))
    assert code == 2 and err == f"pydotcompute: --compare {then}: figures of --subject calls, not declared\n"


# What has another form in Numba: helpers, reductions of every kind, scratch, scans, blocks, conversions, complex numbers.
BODIES = """\
version: 1
targets: [cpu:x86-64-v3]
kernels:
  rows:
    signature: "(x: float32[m, n], k: int64) -> (out: float64[m, 3], at: int64[m], s: float32)"
    template: rows.py
  scan:
    signature: "(x: int32[n]) -> (out: int64[n], bins: int32[4] = 0)"
    body: |
      s = 0
      for i in grid(n):
          s += x[i]
          out[i] = s
      for i in grid(n):
          atomic_add(bins, x[i] % 4, 1)
"""


TEMPLATE = """\
def part(row, k):
    if k > 1:
        return row[0] * float32(k)
    return rsqrt(row[1] + 3)

def rows(x, k, out, at, s):
    for r in blocks(m):
        t = shared((64,), float32)
        for c in threads((1, 64)):
            t[c] = x[r, c % n] if x[r, c % n] > 0 else float32(int64(x[r, c % n]))
        out[r, 0] = max(x[r, c] for c in threads(n))
        out[r, 1] = part(x[r], k) + sum(t[c] * c for c in range(1, 5))
        out[r, 2] = abs(complex64(x[r, 0], x[r, 1])) + any(x[r, c] > 2 for c in range(n))
        at[r] = argmax(-x[r, c] for c in threads(n))
    total = float32(2)
    for i, j in grid(m, n):
        total += x[i, j]
    s[()] = total
"""


@pytest.mark.slow
def test_numba_computes_the_same_of_the_same_body(tmp_path):
    from pydotcompute.bench.same_body import call_of

    (tmp_path / "kernels.yaml").write_text(BODIES)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "rows.py").write_text(TEMPLATE)
    pydotcompute.build(tmp_path)
    library, rng = pydotcompute.load(tmp_path), np.random.default_rng(0)
    m, n = 5, 40
    for name, inputs, shapes in (
        ("rows", {"x": rng.normal(size=(m, n)).astype("f4"), "k": 2}, {"out": ("f8", (m, 3)), "at": ("i8", (m,)), "s": ("f4", ())}),
        ("scan", {"x": rng.integers(-9, 9, n).astype("i4")}, {"out": ("i8", (n,)), "bins": ("i4", (4,))}),
    ):
        ours, numba = ({k: np.full(shape, 7, dtype) for k, (dtype, shape) in shapes.items()} for _ in range(2))
        library[name](**inputs, **ours)
        call_of(library[name], {**inputs, **numba})()
        for k in shapes:
            np.testing.assert_allclose(numba[k], ours[k], rtol=1e-5, err_msg=f"{name}: {k}")


@pytest.mark.slow
@pytest.mark.parametrize("row, told", [
    ({"µs": 0.5, "of a copy": 0.9}, "calls"), ({"µs": 50, "of a copy": 0.9}, "memory"),
    ({"µs": 50, "of a copy": 0.1, "kernel": "carried"}, "line 7 scalar: a value is carried from one iteration to the next; unrolled by 8"),
    ({"µs": 50, "of a copy": 0.1, "kernel": "plain"}, "instructions"),
])  # fmt: skip
def test_why_a_case_is_lost(tmp_path, row, told):
    from pydotcompute.bench.losses import reason

    body = "\n      v = x[0]\n      for i in range(1, n):\n          v = v * v + x[i]\n          out[i] = v\n"
    plain = "\n      for i in grid(n):\n          out[i] = x[i] + 1\n"
    text = "version: 1\nkernels:\n"
    for name, lines in (("carried", body), ("plain", plain)):
        text += f'  {name}:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n    body: |{lines}'
    (tmp_path / "kernels.yaml").write_text(text)
    assert reason({**row, "target": "cpu:x86-64-v3", "specialization": "-"}, str(tmp_path)) == told


@pytest.mark.slow
def test_a_project_that_declares_no_sizes(tmp_path, capsys):
    """Its kernels are measured at sizes of each class, on each target that runs here."""
    targets = ["cpu:x86-64-v2", "cpu:native", "opencl:1.2", "hip:gfx942"]
    (tmp_path / "kernels.yaml").write_text(SAXPY.replace("[cpu:x86-64-v3]", json.dumps(targets)))
    rows = figures(capsys, "declared", "-C", str(tmp_path), "--rounds", "1")
    assert {row["target"] for row in rows} == {*targets[:2], *([] if opencl.missing() else ["opencl:1.2"])}
    sizes = {int(row["sizes"].removeprefix("size=")) for row in rows}
    assert [size_classes.number(4 * n) for n in sorted(sizes)] == [0, 1, 2] and len(rows) % 3 == 0
    assert all(("Numba µs" in row) == row["target"].startswith("cpu:") and row["µs"] > 0 for row in rows)


@pytest.mark.slow
def test_a_reference_that_raises(tmp_path, capsys):
    """Is a mistake of the declaration, told with its place."""
    (tmp_path / "kernels.yaml").write_text(SAXPY + "    reference: np.linalg.inv(x)\n")
    code, out, err = call(capsys, "--subject", "declared", "-C", str(tmp_path), "--rounds", "1")
    line = SAXPY.count("\n") + 1
    assert (code, out) == (1, "") and "Traceback" not in err
    assert f"kernels.yaml:{line}:" in err and "its reference (np.linalg.inv(x)) raised LinAlgError" in err


def test_a_project_none_of_whose_targets_runs_here(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(SAXPY.replace("[cpu:x86-64-v3]", '["hip:gfx942"]'))
    code, out, err = call(capsys, "--subject", "declared", "-C", str(tmp_path))
    assert (code, out) == (1, "") and err.startswith("nothing was measured: hip:gfx942: ")


PLOT = ("--subject", "declared", "--plot")


def test_a_picture_is_refused_before_anything_is_measured(tmp_path, capsys, monkeypatch):
    (tmp_path / "kernels.yaml").write_text(DECLARED)
    for name in ("roof.pdf", "png", "."):
        code, out, err = call(capsys, *PLOT, name, "-C", str(tmp_path))
        expected = f"pydotcompute: --plot {name}: expected a file that ends with .png or .svg\n"
        assert (code, out, err) == (2, "", expected)
    code, _, err = call(capsys, *PLOT, "nowhere/roof.svg", "-C", str(tmp_path))
    assert code == 2 and err == "pydotcompute: --plot nowhere/roof.svg: there is no folder nowhere\n"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, out, err = call(capsys, *PLOT, "roof.svg", "-C", str(tmp_path))
    assert (code, out) == (1, "") and re.fullmatch(
        r"--plot needs matplotlib, which is not installed: .*pip install .*(\[bench\]|matplotlib)'?\n", err
    )


@pytest.mark.slow
def test_rows_without_operations_and_without_peers_are_drawn(tmp_path):
    from pydotcompute.bench.plot import draw

    row = {"kernel": "copied", "specialization": "-", "sizes": "n=3", "target": "cpu", "µs": 2.0, "GB/s": 9.0, "of a copy": 0.5}
    for name in ("one.svg", "two.svg", "one.png"):
        draw([row], str(tmp_path / name))
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text() and (tmp_path / "one.png").read_bytes()[1:4] == b"PNG"
    assert "no kernel declares its operations" in text and ">copied n=3 cpu<" in text and ">reference<" not in text


@pytest.mark.parametrize("then", ["5", True, [1], {}, None, -1, 0, float("nan"), float("inf")])
def test_a_file_may_say_anything_in_the_place_of_a_figure(tmp_path, then):
    row = {"kernel": "k", "specialization": "-", "target": "cuda:sm_90", "instructions": then}
    (tmp_path / "then.json").write_text(json.dumps({"version": 1, "subject": "code", "figures": [row]}))
    now = {**row, "instructions": 5.0}
    Before(str(tmp_path / "then.json"), "code").judge(now, 1.2)
    assert now == {**row, "instructions": 5.0}
    (tmp_path / "then.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="then.json: not JSON"):
        Before(str(tmp_path / "then.json"), "code")


def test_a_project_is_copied_without_what_is_no_source(tmp_path):
    templates = tmp_path / "from" / "templates"
    (templates / "deep").mkdir(parents=True)
    (templates.parent / "kernels.yaml").write_text("version: 1")
    (templates / "deep" / "a.py.j2").write_text("a")
    (templates / ".#a.py.j2").symlink_to("user@host.1234:5")  # an editor's lock
    os.mkfifo(templates / "pipe")
    (templates / "deep" / "up").symlink_to(templates)
    (templates / "other").symlink_to(templates / "deep")
    own.copy(str(templates.parent), str(tmp_path / "to"))
    found = sorted(str(path.relative_to(tmp_path / "to")) for path in (tmp_path / "to").rglob("*") if path.is_file())
    assert found == ["kernels.yaml", "templates/deep/a.py.j2", "templates/other/a.py.j2"]


def test_work_that_has_no_value(tmp_path, capsys):
    text = SAXPY.replace("    body:", "    work: {bytes: 8 * size * 4611686018427387904}\n    body:").replace("v3", "v2")
    (tmp_path / "kernels.yaml").write_text(text)
    code, out, err = call(capsys, "--subject", "declared", "-C", str(tmp_path), "--rounds", "1")
    assert (code, out) == (1, "")
    assert "kernels.yaml:7:11: the work of 'build': '8 * size * 4611686018427387904' has no value" in err


def test_a_kernel_is_compared_whatever_became_of_its_occupancy(tmp_path):
    row = {"kernel": "k", "specialization": "-", "target": "cuda:sm_90", "instructions": 2.0, "occupancy": "100%"}
    (tmp_path / "then.json").write_text(json.dumps({"version": 1, "subject": "code", "figures": [row]}))
    now = {**row, "instructions": 5.0, "occupancy": "50%"}
    Before(str(tmp_path / "then.json"), "code").judge(now, 1.2)
    assert now["to before"] == 2.5 and "2.50 times as slow" in now["failed"]


@pytest.mark.skipif(os.cpu_count() == 1, reason="one thread is all there is")
def test_products_of_numpy_have_one_thread():
    """Its library reads its settings when it is loaded, which the names of kernels already do."""
    program = (
        "import os, sys; from pydotcompute.cli import main; main(['bench', '--subject', 'kernels', '--kernel', 'none'])\n"
        "assert 'numpy' in sys.modules; import numpy as np; np.ones((500, 500)) @ np.ones((500, 500))\n"
        "print(len(os.listdir('/proc/self/task')))"
    )
    ours = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ours)
    assert done.stdout == "1\n", done.stderr
