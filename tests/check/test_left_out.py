"""Which sizes `check` draws, which cases it leaves out, and that it says so."""

import itertools
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from pydotcompute import declare
from pydotcompute.artifact.dimensions import Operation
from pydotcompute.bench.declared_cases import cases_of
from pydotcompute.check import draw, pace, ranges, run, sizes
from pydotcompute.check.expected import Expected
from pydotcompute.check.faults import FaultyDeclaration, Unmet
from pydotcompute.check.pace import Pace
from pydotcompute.errors import DeclarationError

DOUBLE = """
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = 2 * x[i]
    sizes: {check: [{n: 1025}]}
"""
KERNELS = {
    "attention": """
    signature: "(q: float32[b, h, s, d], k: float32[b, h, s, d]) -> (out: float32[b, h, s, s])"
    body: |
      for x, y, i in grid(b, h, s):
          for j in range(s):
              out[x, y, i, j] = sum(q[x, y, i, c] * k[x, y, j, c] for c in range(d))
""",
    "square": """
    signature: "(x: float32[4, n, n]) -> (out: float32[4, n, n])"
    body: |
      for i, j, k in grid(4, n, n):
          out[i, j, k] = x[i, j, k]
""",
    "rows": """
    signature: "(x: float32[..., n, n]) -> (out: float32[..., n, n])"
    body: |
      for r, j, k in grid(rows, n, n):
          out[r, j, k] = x[r, j, k]
""",
    "parts": """
    signature: "(n: int64, s: int64) -> (out: float32[n // s])"
    body: |
      for i in grid(n // s):
          out[i] = i
""",
    "double": DOUBLE,
    "ends": """
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [uint64, uint8, int8]}
    inputs: {x: {low: 0, high: 9}}
    body: |
      for i in grid(n):
          out[i] = x[i]
""",
    "into": """
    signature: "(place: int64[k], x: float64[k], m: int64) -> (out: float64[m] = 0)"
    inputs: {place: {low: 0, high: m}}
    sizes: {check: [{k: 4, m: 0}, {k: 0, m: 0}]}
    body: |
      for i in range(k):
          out[place[i]] += x[i]
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("left_out")
    kernels = "".join(f"  {name}:{text}" for name, text in KERNELS.items())
    (folder / "kernels.yaml").write_text(f"version: 1\ntargets: [cpu:x86-64-v2]\nkernels:\n{kernels}")
    build = [sys.executable, "-m", "pydotcompute", "build", "double", "into", "-C", str(folder)]
    subprocess.run(build, check=True, capture_output=True)
    return folder


def verdict(project, kernel, **more):
    return next(iter(run.check(str(project), [kernel], ["cpu:x86-64-v2"], **more)))


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "parts"])
def test_every_drawn_array_fits_and_one_axis_is_long(project, name):
    kernel = declare.load(str(project)).kernels[name]
    found = list(sizes.cases(kernel, kernel.specialisations[0], 0))
    each = [sizes.elements(kernel, kernel.specialisations[0], dims) for dims in found]
    assert max(itertools.chain(*each)) <= sizes.LARGEST
    assert any(max(dims.values()) > 250 and max(dims.values()) % 2 for dims in found)
    assert len({*map(str, found)}) == len(found) > 15


def test_a_long_axis_stays_long_beside_short_ones(project):
    kernel = declare.load(str(project)).kernels["attention"]
    long = list(sizes.cases(kernel, kernel.specialisations[0], 0))[-1]
    assert sorted(long.values())[:3] == [3, 3, 3] and 4000 < max(long.values()) < 65_537


def test_a_leading_ellipsis_counts_as_elements(project):
    kernel = declare.load(str(project)).kernels["rows"]
    assert sizes.elements(kernel, kernel.specialisations[0], {"rows": 100, "n": 7}) == [4900, 4900]


def test_the_work_of_a_size_is_the_larger_of_its_elements_and_the_product_of_its_dimensions(project):
    kernels = declare.load(str(project)).kernels
    for name, dims, work in [
        ("square", {"n": 9}, 4 * 81), ("into", {"k": 20, "m": 30}, 600), ("into", {"k": 20, "m": 0}, 20),
        ("parts", {"n": 20, "s": 0}, 20), ("parts", {"n": 20, "s": 2}, 40),
    ]:  # fmt: skip
        assert sizes.work(kernels[name], kernels[name].specialisations[0], dims) == work


@pytest.mark.parametrize(
    "took, size, allowed",
    [
        ([], 1e9, True),
        ([(1000, 0.01), (4000, 0.04)], 64_000, True),  # 0.6 s
        ([(100, 0.001), (1000, 0.01), (4000, 0.16)], 64_000, False),  # 41 s: it grows with the square
        ([(100, 0.001), (1000, 0.01), (4000, 0.16)], 16_000, True),  # 2.6 s
        ([(1, 0.05), (4, 0.05), (16, 0.052), (256, 0.051)], 300_000, True),  # what any case takes says nothing of size
        ([(1, 0.001), (1000, 9.0)], 1000, False),  # more than all
        ([(10, 0.001), (20, 0.05), (1000, 0.002)], 300_000, True),  # 0.3 s: the second one was interrupted
        ([(10, 0.001), (900, 0.009), (1000, 0.05)], 300_000, True),  # 2.7 s: so was the third
        ([(1, 0.001), (66_000, 0.023), (127_000, 0.031), (280_000, 0.1), (590_000, 1.2)], 2_100_000, True),  # so was the last
        ([(0, 3.0), (1, 0.01)], 1000, True),  # one that is empty tells nothing of others,
        ([(0, 9.0), (1, 0.01)], 1, False),  # but takes its time
    ],
)  # fmt: skip
def test_what_is_worth_trying_within_eight_seconds(took, size, allowed):
    told = Pace(8.0)
    for case in took:
        told.note(*case)
    assert told.allows(size) is allowed


def test_other_programs_do_not_count_as_time_of_a_case_where_the_processor_computes_it():
    began = [now() for now in (pace.clock(("cpu:x86-64-v2", "cpu:vendor")), pace.clock(("cpu:x86-64-v2", "cuda:sm_90")))]
    time.sleep(0.2)  # as if another had the processor
    took = [pace.clock(targets)() - since for targets, since in zip([("cpu:x86-64-v2",), ("cuda:sm_90",)], began)]
    assert took[0] < 0.1 and took[1] >= 0.2


def test_without_time_only_what_is_declared_and_the_first_cases_run(project, monkeypatch):
    assert not verdict(project, "double").left_out
    monkeypatch.setattr(run, "BUDGET", 0.0)
    found = verdict(project, "double")
    out = dict(found.left_out)
    assert not found.failures and {*out.values()} == {"would take too long"}
    assert {"n=2", "n=300007", "n=15 extreme"} <= out.keys() and not {"n=1025", "n=0"} & out.keys()
    assert out.keys().isdisjoint({"n=1025 misaligned"})
    assert verdict(project, "double", only="n=300007").cases == 1  # asked for by name


def test_strewn_cases_are_left_out_where_only_the_interpreter_could_tell_and_would_take_too_long(project, monkeypatch):
    monkeypatch.setattr(Expected, "is_interpreted", False)
    found = verdict(project, "double")
    assert {case.split()[1] for case, why in found.left_out if why == run.LONG} == {"special", "extreme"}
    assert found.unheld == found.cases > 20


def test_what_is_left_out_is_printed(project, monkeypatch, capsys):
    from pydotcompute.cli import main

    monkeypatch.setattr(run, "BUDGET", 0.0)
    monkeypatch.setattr("pydotcompute.check.run.LONG", "would take till tomorrow")
    assert main(["check", "double", "-C", str(project), "-t", "cpu:x86-64-v2"]) == 0
    told = capsys.readouterr()
    assert "  left out (would take till tomorrow): n=" in told.out and " more\n" in told.out
    assert told.err.endswith(" cases left out\n")


def test_what_has_no_memory_is_left_out_unless_it_is_declared(project, monkeypatch):
    def guarded(shape, *more):
        if shape in ((1025,), (1021,)):
            raise MemoryError("none")
        return given(shape, *more)

    given = draw.guarded
    monkeypatch.setattr(draw, "guarded", guarded)
    found = verdict(project, "double")
    assert [case for case, why in found.left_out if why == "there is no memory for it"] == ["n=1021"]
    assert {failure.case.split()[0] for failure in found.failures} == {"n=1025"}
    assert all("MemoryError" in failure.what for failure in found.failures)
    assert verdict(project, "double", only="n=1021").not_run == "there is no memory for it"


def test_a_call_without_memory_is_no_failure(project, monkeypatch):
    def none(*case):
        raise MemoryError("none")

    monkeypatch.setattr("pydotcompute.check.judge._run", none)
    found = verdict(project, "double", only="n=17")
    assert (found.failures, found.cases, found.not_run) == ((), 0, "there is no memory for it")


def test_sizes_whose_range_holds_no_integer_are_not_drawn(project):
    found = verdict(project, "into")
    wider = "give it a wider range, or say in `requires` which sizes there are"
    said = f"no int64 for 'place' is from 0 on and below 0; {wider}"
    assert not found.failures and found.left_out == (("k=4,m=0", said),)
    assert verdict(project, "into", only="k=0,m=0").cases == 1  # there is nothing to draw


def test_a_range_of_one_integer_is_one(project):
    kernel = declare.load(str(project)).kernels["into"]
    case = draw.draw(kernel, kernel.specialisations[0], {"k": 9, "m": 1}, np.random.default_rng(0), str(project))
    assert case.arguments["place"].tolist() == [0] * 9


@pytest.mark.parametrize(
    "dtype, low, high, least, most",
    [
        ("uint64", 2**63, 2**64, 2**63, 2**64 - 1),
        ("uint64", -5, 2**65, 0, 2**64 - 1),
        ("uint8", 250, 300, 250, 255),
        ("int8", -200, -126, -128, -127),
    ],
)
def test_ranges_end_where_their_type_does(project, dtype, low, high, least, most):
    """No value is drawn beyond it, which would be another one within the type."""
    drawn = _drawn(project, dtype, low, high)
    assert drawn.dtype == dtype and least <= drawn.min() and drawn.max() <= most and len(set(drawn.tolist())) > 1


@pytest.mark.parametrize("dtype, low, high", [("int8", 200, 300), ("uint8", -9, 0), ("uint64", 5, 5)])
def test_ranges_without_a_value_are_mistakes(project, dtype, low, high):
    with pytest.raises(FaultyDeclaration, match=rf"its inputs \(x\) hold no {dtype} from {low} on and below {high}"):
        _drawn(project, dtype, low, high)


@pytest.mark.parametrize("low, high", [(0, 1), (0.1, 0.7), (-1.7e308, 1.7e308), (5, None), (None, -5), (200, None)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int16"])
def test_what_is_drawn_is_from_low_on_and_below_high(dtype, low, high):
    """In the type of the argument: of float16 one number in 4,000 below 1 rounds to 1. NumPy draws from no range that
    is wider than the largest number."""
    drawn = ranges.within(np.dtype(dtype), low, high, (50_000,), np.random.default_rng(0))
    if drawn is None:  # no integer is in this one
        assert (dtype, low) == ("int16", 0.1)
        return
    assert drawn.dtype == dtype
    for part in (drawn.real, drawn.imag) if drawn.dtype.kind == "c" else (drawn,):
        assert low is None or low <= float(part.min())
        assert high is None or float(part.max()) < high
        assert np.isfinite(part).all() and (dtype == "int16" and (low, high) == (0, 1) or len(set(part.tolist())) > 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex128"])
def test_ranges_without_a_number_have_none(dtype):
    rng = np.random.default_rng(0)
    assert ranges.within(np.dtype(dtype), 3, 1, (4,), rng) is None
    assert ranges.within(np.dtype(dtype), 3, 1, (0,), rng).shape == (0,)
    assert ranges.within(np.dtype(dtype), 2, 2, (4,), rng).tolist() == [2 + 2j if dtype[0] == "c" else 2] * 4


def test_sizes_whose_range_holds_no_number_are_not_drawn(project):
    kernel = replace(declare.load(str(project)).kernels["double"], inputs={"x": {"low": 3, "high": "n"}})
    (one,) = kernel.specialisations
    with pytest.raises(Unmet, match="no float32 for 'x' is from 3 on and below 2; give it a wider range"):
        draw.draw(kernel, one, {"n": 2}, np.random.default_rng(0), str(project))


def test_sizes_at_which_a_range_has_no_value_are_not_drawn(project):
    """`1 / n` has none where n is 0; there the array has no elements, and the case runs."""
    kernel = declare.load(str(project)).kernels["double"]
    (one,) = kernel.specialisations
    rng, root = np.random.default_rng(0), str(project)
    inverse = replace(kernel, inputs={"x": {"low": 0, "high": Operation("/", (1, "n"))}})
    assert draw.draw(inverse, one, {"n": 0}, rng, root).arguments["x"].shape == (0,)
    huge = replace(kernel, inputs={"x": {"low": 0, "high": Operation("*", ("n", 2**62))}})
    with pytest.raises(Unmet, match=r"of 'x', 'n \* 4611686018427387904' has no value \(an integer beyond 64 bits\)"):
        draw.draw(huge, one, {"n": 9}, rng, root)


def _drawn(project, dtype: str, low: int, high: int) -> np.ndarray:
    kernel = declare.load(str(project)).kernels["ends"]
    kernel = replace(kernel, inputs={"x": {"low": low, "high": high}})
    (one,) = (s for s in kernel.specialisations if dict(s.types)["T"] == dtype)
    return draw.draw(kernel, one, {"n": 90}, np.random.default_rng(0), str(project)).arguments["x"]


def test_bench_says_where_a_range_holds_no_integer(project):
    kernel = declare.load(str(project)).kernels["into"]
    sized = replace(kernel, sizes={"bench": ({"k": 4, "m": 0},)})
    with pytest.raises(DeclarationError, match=r"^\S+/kernels.yaml:\d+:\d+: no int64 for 'place' is from 0 on and below 0"):
        list(cases_of(sized, kernel.specialisations[0], str(project)))
    faulty = replace(kernel, inputs="nowhere.py:none")
    with pytest.raises(DeclarationError, match=r"kernels.yaml:\d+:\d+: its inputs \(nowhere.py:none\) raised FileNotFound"):
        list(cases_of(faulty, kernel.specialisations[0], str(project)))
