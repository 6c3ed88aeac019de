"""What the run half decides without a device: which artifact a device runs, grids, views, limits, availability."""

import importlib.util
import itertools
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import ROOT

import pydotcompute
from pydotcompute.backends import launch as cuda_launch
from pydotcompute.backends.cuda import driver as cuda_driver
from pydotcompute.backends.cuda.backend import CUDABackend
from pydotcompute.backends.cuda.choice import judged
from pydotcompute.backends.cuda.limits import check_limits, minimum_capability
from pydotcompute.artifact.remedies import install

needs_no_device = pytest.mark.skipif(CUDABackend.check_available(), reason="there is a CUDA device")


def best(targets, capability, driver=(13, 0), ptx="7.0"):
    ranked = {t: judged(t, {"ptx_version": ptx}, capability, driver) for t in targets}
    usable = {t: v.rank for t, v in ranked.items() if not v.reason}
    return max(usable, key=usable.get, default=None)


def test_cubins_of_the_device_come_first_then_the_newest_ptx():
    targets = ["cuda:compute_75", "cuda:compute_80", "cuda:sm_80", "cuda:sm_86", "cuda:sm_90", "cuda:sm_90a"]
    assert best(targets, (8, 0)) == "cuda:sm_80"
    assert best(targets, (8, 6)) == best(targets, (8, 9)) == "cuda:sm_86"
    assert best(targets, (9, 0)) == "cuda:sm_90a"
    assert best(targets, (12, 0)) == "cuda:compute_80"
    assert best(targets, (7, 5)) == "cuda:compute_75"
    assert best(targets, (7, 0)) is None
    assert best(targets, (8, 7)) == "cuda:compute_80"
    assert best(["cuda:sm_87", "cuda:compute_80"], (8, 9)) == "cuda:compute_80"
    assert best(["cuda:sm_87", "cuda:sm_86"], (8, 7)) == "cuda:sm_87"
    assert best(["cuda:sm_100f", "cuda:sm_100a"], (10, 3)) == "cuda:sm_100f"


HAS = "this device has compute capability"


@pytest.mark.parametrize(
    "target, capability, driver, ptx, reason",
    [
        ("cuda:sm_80", (9, 0), (12, 0), "", f"{HAS} 9.0, and a cubin for 8.0 runs on 8.0 to 8.9"),
        ("cuda:sm_86", (8, 0), (12, 0), "", f"{HAS} 8.0, and a cubin for 8.6 runs on 8.6 to 8.9"),
        ("cuda:sm_86", (8, 7), (12, 0), "",
         f"{HAS} 8.7, and a cubin for 8.6 runs on 8.6 to 8.9, and not on Tegra's processors"),
        ("cuda:sm_87", (8, 9), (12, 0), "", f"{HAS} 8.9, and a cubin for 8.7 runs on 8.7 alone"),
        ("cuda:sm_90a", (8, 9), (12, 0), "", "this device has compute capability 8.9, and sm_90a is for 9.0 alone"),
        ("cuda:compute_80", (7, 5), (12, 0), "7.0", "this device has compute capability 7.5, and this PTX needs 8.0"),
        ("cuda:compute_80", (9, 0), (12, 2), "8.8",
         "PTX 8.8 needs a driver for CUDA 12.9, this one is for CUDA 12.2; update it, or build a cubin: -t cuda:sm_90"),
        ("cuda:compute_80", (9, 0), (12, 2), "", "PTX of version unknown: no CUDA release is known to read it"),
        ("cuda:fast", (9, 0), (12, 2), "", "the backend 'cuda' knows no target 'cuda:fast'"),
    ],
)  # fmt: skip
def test_reasons(target, capability, driver, ptx, reason):
    assert judged(target, {"ptx_version": ptx}, capability, driver).reason == reason


def test_the_oldest_driver_for_a_ptx_version():
    known = {
        "6.3": (10, 0),
        "7.0": (11, 0),
        "7.8": (11, 8),
        "8.6": (12, 7),
        "8.8": (12, 9),
        "9.0": (13, 0),
        "4.0": (9, 0),
    }
    assert {v: cuda_driver.cuda_for_ptx(v) for v in known} == known
    assert cuda_driver.cuda_for_ptx("99.1") is None


def planned(kind, counts, block=256, **names):
    meta = {"launches": [{"entry": "k", "block": block, "grid": {"kind": kind, "counts": counts}}]}
    found = cuda_launch.launches(meta, names)
    return (found[0].grid, found[0].block) if found else None


def test_grids():
    assert planned("grid", ["n"], n=0) is None
    assert planned("grid", ["n"], n=1) == ((1, 1, 1), (256, 1, 1))
    assert planned("grid", [["+", "n", 1]], n=256) == ((2, 1, 1), (256, 1, 1))
    assert planned("grid", ["n"], n=2**40) == ((2**31 - 1, 1, 1), (256, 1, 1))
    assert planned("grid", ["m", "n"], m=10, n=1000) == ((4, 10, 1), (256, 1, 1))
    assert planned("grid", ["m", "n"], m=10, n=40) == ((1, 3, 1), (64, 4, 1))
    assert planned("grid", ["m", "n"], m=10**6, n=3) == ((1, 65535, 1), (32, 8, 1))
    assert planned("grid", ["a", "b", "c"], a=2, b=3, c=500) == ((2, 3, 2), (256, 1, 1))
    assert planned("tiles", ["m", "n"], m=10, n=40) == ((40, 10, 1), (256, 1, 1))
    assert planned("tiles", ["m", "n"], m=10**5, n=3) == ((3, 65535, 1), (256, 1, 1))
    assert planned("tiles", ["a", "b", "c"], a=2, b=3, c=4) == ((4, 3, 2), (256, 1, 1))
    assert planned("tiles", ["m", "n"], m=0, n=3) is None
    assert planned("grid", [None]) == ((1024, 1, 1), (256, 1, 1))
    assert planned("blocks", ["m", "n"], 100, m=7, n=9) == ((63, 1, 1), (100, 1, 1))
    assert planned("blocks", ["m"], m=-3) is None
    assert planned("chunks", ["n"], n=0) == planned("chunks", ["n"], n=2048) == ((1, 1, 1), (256, 1, 1))
    assert planned("chunks", ["n"], n=2049) == ((2, 1, 1), (256, 1, 1))
    assert planned("chunks", ["n"], n=2048 * 4096)[0][0] == 4096  # beyond, chunks are twice as long
    assert planned("chunks", ["n"], n=2048 * 4096 + 1)[0][0] == 2049
    assert planned("chunks", ["n"], n=10**9)[0][0] == 3815  # of 2048 · 128 terms
    assert planned("one", []) == ((1, 1, 1), (256, 1, 1))
    assert planned("given", ["n", 2], n=5) == ((5, 2, 1), (256, 1, 1)) and planned("given", ["n"], n=0) is None
    with pytest.raises(ValueError, match=r"the declared grid \(1, 70000\) is larger than a GPU runs"):
        planned("given", [1, "n"], n=70000)


def flat_offset(words, i):
    """What the compiled code computes from the words of a view."""
    offset = 0
    for level in range(words[0]):
        size, stride = words[2 + 2 * level : 4 + 2 * level]
        i, rest = divmod(i, size)
        offset += rest * stride
    return offset + i * words[1]


def test_views_find_every_element():
    rng = np.random.default_rng(0)
    for _ in range(200):
        leading = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 6)))
        own = int(rng.integers(0, len(leading) + 1))
        shape = tuple(n if rng.random() < 0.7 else 1 for n in leading[len(leading) - own :])
        base = np.zeros(tuple(2 * n for n in shape), "i2")
        array = base[
            tuple(slice(None, None, rng.choice([1, 2, -1, -2])) if rng.random() < 0.5 else slice(n) for n in shape)
        ]
        array = array[tuple(slice(n) for n in shape)]
        words = cuda_launch.view(array.shape, array.strides, own, leading)
        assert len(words) == 2 + 2 * cuda_launch.VIEW_LEVELS
        seen = np.broadcast_to(array, leading)
        for i, index in enumerate(itertools.product(*map(range, leading))):
            assert flat_offset(words, i) == sum(k * s for k, s in zip(index, seen.strides))


@pytest.mark.parametrize("size", [2, 3, 5, 7, 64, 255, 641, 6700417, 2**20 + 1, 2**30, 2**30 + 1, 2**31 - 1])
def test_an_index_is_divided_without_a_division(size):
    (one, other), where = cuda_launch.reciprocals([1, 8, size, 4, *[1, 0] * 6], ((2**31 - 1) // size, size)), 2**32 - 1
    rng = np.random.default_rng(size)
    ends = [k * size + d for k in {1, 2, (2**31 - 1) // size} for d in (-1, 0, 1)]
    for i in [0, 1, 2**31 - 1, *ends, *rng.integers(0, 2**31, 200).tolist()]:
        if i < 2**31:
            assert i * (one & where) >> (one >> 32) == i // size
            assert i * (other & where) >> (other >> 32) == i  # a level of size 1
            assert one & where and one >> 32 < 64


def test_what_does_not_fit_32_bits_is_divided():
    def divides(array, leading):
        return not any(cuda_launch.reciprocals(cuda_launch.view(array.shape, array.strides, array.ndim, leading), leading))

    plane = np.zeros((4, 6), "f4")[:, ::2]
    assert not divides(plane, (4, 3)) and not divides(plane[::-1], (4, 3))
    assert divides(np.broadcast_to(plane[:, None], (4, 2**29, 3)), (4, 2**29, 3))  # an index
    assert divides(np.lib.stride_tricks.as_strided(plane, (1, 4, 3), (0, 2**31, 4)), (1, 4, 3))  # a stride
    assert not divides(np.lib.stride_tricks.as_strided(plane, (4, 3), (-(2**31), 8)), (4, 3))
    assert divides(np.zeros((2, 3, 4, 5, 6), "f4")[:, ::2, ::2, ::2, ::2], (2, 2, 2, 3, 3))  # levels


@pytest.mark.parametrize("leading", [(0,), (3, 0), (0, 3), (2, 0, 3), (2,) * 8 + (0,)])
def test_views_of_nothing_divide_by_no_size(leading):
    """Whatever the strides, such as those of a part without elements."""
    inside = np.lib.stride_tricks.as_strided(np.zeros(1, "f4"), leading, [8 * (k + 1) for k in range(len(leading))])
    for array in (inside, np.zeros(leading, "f4"), np.zeros((), "f4")):
        assert cuda_launch.fits(array.shape, array.strides, array.ndim, leading)
        words = cuda_launch.view(array.shape, array.strides, array.ndim, leading)
        assert words == [0, 0] + [1, 0] * cuda_launch.VIEW_LEVELS
        assert all(cuda_launch.reciprocals(words, leading))


def test_views_are_merged_where_they_can_be():
    x = np.zeros((2, 3, 4, 5), "f4")
    assert cuda_launch.merged(x.shape, x.strides, 4, x.shape) == [(120, 4)]
    assert cuda_launch.merged((1,), (4,), 1, (7, 3, 1)) == [(21, 0)]
    assert cuda_launch.merged((3, 1), (4, 4), 2, (7, 3, 1)) == [(7, 0), (3, 4)]
    many = np.zeros((2,) * 9, "f4").T
    assert not cuda_launch.fits(many.shape, many.strides, 9, many.shape)
    with pytest.raises(ValueError, match="9 dimensions that cannot be merged; there may be 8"):
        cuda_launch.view(many.shape, many.strides, 9, many.shape)


def test_the_kinds_of_the_drivers_errors_are_those_of_its_header():
    """Those after which a context is of no more use, and those that speak of the code that is loaded."""
    pytest.importorskip("cupy", reason="CuPy is not installed")
    from pydotcompute.backends.cuda import context

    text = cuda_header()
    text = text[text.index("CUDA_SUCCESS") : text.index("CUDA_ERROR_UNKNOWN")]
    errors = re.findall(r"/\*\*(.*?)\*/\s*CUDA_ERROR_(\w+)\s*=\s*(\d+)", text, re.S)
    said = {int(code): (name, re.sub(r"[\s*]+", " ", doc)) for doc, name, code in errors}
    gone = re.compile("inconsistent state|cannot be used anymore|uncorrectable .* error was detected")
    assert {code for code, (_, doc) in said.items() if gone.search(doc)} == context.LOST
    assert {said[code][0] for code in context.LOADING} == {
        "INVALID_IMAGE", "NO_BINARY_FOR_GPU", "INVALID_PTX", "JIT_COMPILER_NOT_FOUND", "UNSUPPORTED_PTX_VERSION",
        "JIT_COMPILATION_DISABLED", "UNSUPPORTED_DEVSIDE_SYNC", "INVALID_SOURCE", "SHARED_OBJECT_SYMBOL_NOT_FOUND",
        "SHARED_OBJECT_INIT_FAILED", "NOT_FOUND",
    }  # fmt: skip


def cuda_header() -> str:
    for package in ("nvidia.cuda_runtime", "nvidia.cu13"):
        spec = importlib.util.find_spec(package) if importlib.util.find_spec("nvidia") else None
        for folder in (spec and spec.submodule_search_locations) or ():
            if os.path.exists(header := os.path.join(folder, "include", "cuda.h")):
                return open(header).read()
    pytest.skip("nvidia-cuda-runtime, which has cuda.h, is not installed")


def test_limits_and_features():
    assert check_limits((3,), (32, 8)) == ((3, 1, 1), (32, 8, 1))
    for grid, block, message in (
        ((1,), (1025,), "at most 1024 along x"), ((1,), (64, 32), "2048 threads"),
        ((1,), (1, 1, 65), "at most 64 along z"),
        ((1, 65536), (1,), "at most 65535 along y"), ((2**31,), (1,), "at most 2147483647 along x"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            check_limits(grid, block)
    assert minimum_capability("tensor_cores") == (7, 0) and minimum_capability("shared_atomics") == (6, 0)
    assert minimum_capability("streams") == (0, 0) and minimum_capability("telepathy") is None


# ------------------------------------------------------------------------------------------- without a device


@needs_no_device
def test_a_missing_driver_is_the_reason():
    with pytest.raises(pydotcompute.BackendNotAvailableError, match="the backend 'cuda' is not available: ") as caught:
        CUDABackend()
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(pydotcompute.BackendNotAvailableError):
        pydotcompute.get_backend("cuda")


def test_a_library_that_is_no_driver_is_said(tmp_path):
    assert cuda_driver.problem(str(tmp_path / "libcuda.so.1")).startswith("there is no NVIDIA driver (")
    assert "is not a CUDA driver" in cuda_driver.problem("libm.so.6")


def run(program):
    environment = os.environ | {"PYTHONPATH": ROOT}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_importing_and_asking_touch_neither_driver_nor_cupy():
    lines = run("""
        import ctypes, sys
        loaded = []
        plain = ctypes.CDLL.__init__
        def spied(self, name, *args, **kwargs):
            loaded.append(str(name))
            return plain(self, name, *args, **kwargs)
        ctypes.CDLL.__init__ = spied
        import pydotcompute, pydotcompute.backends
        print("libcuda" in " ".join(loaded), "pydotcompute.backends.cuda.backend" in sys.modules)
        from pydotcompute.backends.cuda import CUDABackend
        print("libcuda" in " ".join(loaded))
        CUDABackend.check_available()
        print("cupy" in sys.modules, "numba" in sys.modules)
    """)
    assert lines == ["False False", "False", "False False"]


@needs_no_device
def test_auto_takes_the_cpu_and_says_so_once():
    lines = run("""
        import warnings
        import pydotcompute
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            print([pydotcompute.get_backend().name, pydotcompute.get_backend("auto").name])
        print(len(said), said[0].category.__name__, "cuda: the backend 'cuda' is not available" in str(said[0].message))
    """)
    assert lines == ["['cpu', 'cpu']", "1 BackendFallbackWarning True"]


def test_without_cupy_the_extra_is_named():
    lines = run("""
        import importlib.util, sys
        plain = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: None if name == "cupy" else plain(name, *rest)
        import pydotcompute
        from pydotcompute.backends.cuda import CUDABackend
        print(CUDABackend.check_available())
        try:
            CUDABackend()
        except pydotcompute.BackendNotAvailableError as error:
            print(error)
    """)
    assert lines == [
        "False",
        f"the backend 'cuda' is not available: CuPy is not installed; {install('cuda')}",
    ]
