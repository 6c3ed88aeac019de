"""Every kernel of the repository with each of its arrays between pages that nobody may touch: beside the end of one page,
and beside the beginning of another. In a process of its own, which ends where a load or a store of a vector goes beyond
an array."""

import subprocess
import sys

import pytest

from pydotcompute.backends.cpu import levels

PROGRAM = r"""
import ctypes, mmap, sys
import numpy as np
import pydotcompute
from pydotcompute import declare
from pydotcompute.check.cases import cases_of
from pydotcompute.check.draw import draw
from pydotcompute.check.faults import Unmet

root, target = sys.argv[1:]
lib, libc = pydotcompute.load(root, target=target), ctypes.CDLL(None)
PAGE = mmap.PAGESIZE
kept, calls = [], 0

def fenced(array, at_end):
    # a copy that ends where a page does, or begins so, between pages without rights
    size = -(-array.nbytes // PAGE) * PAGE
    memory = mmap.mmap(-1, size + 2 * PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (address, address + PAGE + size):
        assert libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0) == 0
    start = PAGE + (size - array.nbytes if at_end else 0)
    copy = np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape)
    copy[...] = array
    kept.append(memory)
    return copy

def rising(array):
    # what is searched stands at the end
    return np.sort(array, None).reshape(array.shape)

def sizes(declared, specialisation):
    # as they are checked; and each dimension in turn a little less and more than some vectors
    plain = [dims for dims, kind in cases_of(declared, specialisation, 0) if not kind]
    yield from plain
    few = next(dims for dims in plain if 3 <= np.prod(list(dims.values())) < 5000)
    for symbol in few:
        for length in (14, 15, 17, 31, 33, 62, 65, 67, 79, 130, 513, 1025):
            yield {**few, symbol: length}

for name, declared in declare.load(root).kernels.items():
    for specialisation in declared.specialisations:
        done = set()
        for dims in sizes(declared, specialisation):
            if np.prod([float(n) for n in dims.values()]) > 20_000 or tuple(dims.values()) in done:
                continue
            done.add(tuple(dims.values()))
            try:
                case = draw(declared, specialisation, dims, np.random.default_rng(0), root)
                lib[name](**case.arguments, **dict(specialisation.params))
            except (Unmet, ValueError) as error:  # there are no such calls
                assert isinstance(error, Unmet) or ": requires " in str(error), error
                continue
            found = []
            for at_end, order in ((True, np.array), (False, np.array), (True, rising)):
                inputs = {
                    n: fenced(order(v), at_end) if isinstance(v, np.ndarray) else v for n, v in case.arguments.items()
                }
                outputs = {n: fenced(v, at_end) for n, v in case.outputs.items()}
                result = lib[name](**inputs, **outputs, **dict(specialisation.params))
                found.append([np.array(v) for v in (result if isinstance(result, tuple) else (result,)) if v is not None])
                calls += 1
            for one, other in zip(*found[:2], strict=True):
                assert one.tobytes() == other.tobytes(), (name, str(specialisation), dims)
            kept.clear()
print(calls)
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_no_kernel_touches_what_is_beside_its_arrays(built, level):
    if levels.unfit(level):
        pytest.skip(levels.unfit(level))
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(built), f"cpu:{level}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 5_000
