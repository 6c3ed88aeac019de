"""Params that are tuned: calls that name none get the values that were measured, by target, device and size."""

import numpy as np
import pytest
from support import array, edit_manifest, write_kernel

import pydotcompute
from pydotcompute.backends.device_info import processor_name

pytestmark = pytest.mark.slow

HERE = processor_name()
SMALL, MEDIUM, LARGE = (np.ones(n, "f4") for n in (2**12, 2**17, 2**18 + 1))  # 16 KiB, 512 KiB, 1 MiB and 4 bytes
EDGES = {2**13: "small", 2**13 + 1: "medium", 2**18: "medium", 2**18 + 1: "large"}  # elements of 4 bytes
MEASURED = {"small": {"TILE": 4, "DEEP": True}, "medium": {"TILE": 8, "DEEP": True}, "large": {"TILE": 2, "DEEP": False}}
PARAMS = {"TILE": [2, 4, 8], "DEEP": [False, True]}


def number(chosen):
    """LLVM IR of a `run` for (x: T[n]) -> (out: int64[1]) that says which specialisation it is."""
    return f"""
@threads = global i32 0
define i32 @run(ptr %w) {{
  %p = getelementptr i64, ptr %w, i64 1
  %o = load ptr, ptr %p
  store i64 {chosen["TILE"] * 10 + chosen["DEEP"]}, ptr %o
  ret i32 0
}}"""


def project(root, measured, tune=("TILE", "DEEP"), params=PARAMS):
    parameters = [array("x", "T", "n"), array("out", "int64", 1, role="out")]
    write_kernel(
        root, "k", parameters, types={"T": ["float32", "float64"]}, params=params, run=number, tune=list(tune),
        tuned=measured,
    )  # fmt: skip
    return pydotcompute.load(root).k


def on(device, found=MEASURED, types="T=float32", target="cpu:x86-64"):
    return {types: {target: {device: found}}}


def ran(kernel, *args, **kwargs):
    """The TILE and DEEP of what ran: at the first call, through the native entry, and by the Python path."""
    seen = {int(kernel(*args, **kwargs)[0]) for _ in range(3)}
    seen.add(int(kernel._dispatcher.call(*args, **kwargs)[0]))
    call, _ = kernel._dispatcher.checked(args, kwargs)
    tile, deep = divmod(seen.pop(), 10)
    assert not seen and call.specialisation.params == {"TILE": tile, "DEEP": bool(deep)}
    return tile, bool(deep)


def native(kernel, *args, **kwargs):
    """Whether the entry serves a call without asking the Python path."""
    asked, dispatcher = [], kernel._dispatcher
    checked = type(dispatcher).checked
    dispatcher.checked = lambda *a: asked.append(a) or checked(dispatcher, *a)
    try:
        kernel(*args, **kwargs)
    finally:
        del dispatcher.checked
    return not asked


def test_calls_that_name_no_value_get_the_fastest_for_their_size(tmp_path):
    k = project(tmp_path, on(HERE))
    for x, expected in (SMALL, (4, True)), (LARGE, (2, False)), (MEDIUM, (8, True)), (SMALL, (4, True)):
        assert ran(k, x) == expected and native(k, x)
    for n, name in EDGES.items():
        assert ran(k, np.ones(n, "f4")) == tuple(MEASURED[name].values())
    assert ran(k, np.ones(2**17, "f8")) == (2, False), "nothing was measured for float64: the first declared"
    both = project(tmp_path / "both", on(HERE) | on(HERE, types="T=float64"))
    for n, name in EDGES.items():  # half as many elements of 8 bytes
        assert ran(both, np.ones(n // 2 + n % 2, "f8")) == tuple(MEASURED[name].values())


def test_a_value_that_is_named_is_taken_and_the_others_are_the_first(tmp_path):
    k = project(tmp_path, on(HERE))
    for tile in PARAMS["TILE"]:
        assert ran(k, SMALL, TILE=tile) == (tile, False) and native(k, SMALL, TILE=tile)
        for deep in PARAMS["DEEP"]:
            assert ran(k, SMALL, TILE=tile, DEEP=deep) == (tile, deep) and native(k, SMALL, TILE=tile, DEEP=deep)
    assert ran(k, MEDIUM, DEEP=True) == (2, True) and native(k, MEDIUM, DEEP=True)
    assert ran(k, MEDIUM) == (8, True), "as before"
    with pytest.raises(ValueError, match="TILE=3 is not declared; TILE may be 2, 4, 8"):
        k(SMALL, TILE=3)


def test_a_param_that_is_not_tuned_keeps_its_default(tmp_path):
    measured = {name: {"TILE": values["TILE"]} for name, values in MEASURED.items()}
    k = project(tmp_path, on(HERE, measured), tune=["TILE"])
    assert ran(k, SMALL) == (4, False) and ran(k, MEDIUM, DEEP=True) == (8, True)
    assert native(k, SMALL) and native(k, MEDIUM, DEEP=True)
    assert ran(k, LARGE, TILE=8) == (8, False)


def test_what_counts_is_the_device_then_the_target(tmp_path):
    other = {name: {"TILE": 8, "DEEP": False} for name in MEASURED}
    elsewhere = project(tmp_path / "a", on("another processor", other))
    assert ran(elsewhere, SMALL) == (8, False)
    assert elsewhere.which(SMALL).tuned == (
        "TILE=8, DEEP=False: the fastest in small calls as cpu:x86-64 on another processor, "
        f"as nothing was on {HERE}"
    )
    both = on(HERE)
    both["T=float32"]["cpu:x86-64"]["A first one"] = other
    assert ran(project(tmp_path / "b", both), SMALL) == (4, True)
    level = project(tmp_path / "c", on(HERE, target="cpu:x86-64-v3"))
    assert ran(level, SMALL) == (2, False)


def test_which_says_the_value_and_why(tmp_path):
    k = project(tmp_path, on(HERE, {"small": MEASURED["small"]}))
    which = k.which(SMALL)
    assert which.specialization == "T=float32,TILE=4,DEEP=True"
    assert which.tuned == f"TILE=4, DEEP=True: the fastest in small calls as cpu:x86-64 on {HERE}"
    assert f"\n  {which.tuned}\n" in str(which)
    assert k.which(SMALL, TILE=8).tuned == "TILE=8, DEEP=False: as the call says"
    assert k.which(LARGE).tuned == (
        f"TILE=2, DEEP=False: the first declared, as nothing was measured for large calls as cpu:x86-64 on {HERE}"
    )
    untouched = project(tmp_path / "none", {})
    assert untouched.which(SMALL).tuned == "TILE=2, DEEP=False: the first declared, as nothing was measured"
    assert ran(untouched, MEDIUM) == (2, False) and ran(untouched, MEDIUM, TILE=8) == (8, False)


def test_what_help_and_inspect_say(tmp_path):
    import inspect

    k = project(tmp_path, on(HERE))
    assert "  TILE=2 or 4 or 8, where a call names none by its size and the device\n" in k.__doc__
    assert inspect.signature(k).parameters["TILE"].default is ...


def test_a_manifest_that_tunes_what_is_no_param(tmp_path):
    project(tmp_path, on(HERE))
    edit_manifest(tmp_path, lambda data: data["kernels"]["k"].update(tune=["TILE", "WIDE"], tuned={"T=float32": {}}))
    with pytest.raises(pydotcompute.KernelNotBuiltError, match="WIDE under tune is no param"):
        pydotcompute.load(tmp_path).k


@pytest.mark.parametrize("values", [{"TILE": 3, "DEEP": True}, {"TILE": 4}, {"TILE": 4, "DEEP": True, "WIDE": 1}, [4]])
def test_a_manifest_that_says_what_cannot_be(tmp_path, values):
    project(tmp_path, on(HERE))
    edit_manifest(tmp_path, lambda data: data["kernels"]["k"].update(tuned=on(HERE, {"small": values})))
    with pytest.raises(pydotcompute.KernelNotBuiltError, match=r"is damaged \(kernel 'k': "):
        pydotcompute.load(tmp_path).k
