"""Calls that are like earlier ones: all kernels of this repository, and calls drawn at random, against the rules."""

import random
import threading

import cupy
import numpy as np
import pytest
from cupy import _machine

import pydotcompute
from pydotcompute import declare
from pydotcompute.check import draw as drawn
from pydotcompute.check import judge, sizes
from pydotcompute.check.expected import Expected

TARGET = "cuda:compute_80"
MOST = 100  # elements of a call: the interpreter takes its time


@pytest.fixture(scope="module")
def pinned(project):
    return pydotcompute.load(project, target=TARGET)


def test_every_kernel(project, pinned, backend, served):
    """Three calls each: by the rules, by the rules that remember, and without them."""
    declaration = declare.load(project)
    for name in pinned:
        kernel = declaration.kernels[name]
        written = [p.name for p in kernel.signature.parameters if p.writable and p.role != "temp"]
        for specialisation in kernel.specialisations:
            case = small_case(kernel, specialisation, project)
            wanted = Expected(declaration, kernel, specialisation, case, None).reference
            for call in range(3):
                served.count = 0
                given = {n: moved(backend, v) for n, v in {**case.arguments, **case.outputs}.items()}
                pinned[name](**given, **dict(specialisation.params))
                assert served.count == (call == 2), (name, specialisation, call)
                for n, w in zip(written, wanted, strict=True):
                    wrong, _ = judge.compared(kernel, n, backend.to_host(given[n]), w, "the reference")
                    assert not wrong, (name, specialisation, case.dims, wrong)


def test_a_thread_that_has_done_nothing_on_the_device(pinned, backend, served):
    """The driver launches only where the thread has bound the device's context."""
    x, out = backend.to_device(np.arange(5, dtype="f4")), backend.allocate(5)
    counts = []

    def call():
        served.count = 0
        pinned.axpy(2.0, x, x, out=out)
        counts.append(served.count)

    for _ in range(3):
        call()
    for _ in range(2):
        thread = threading.Thread(target=lambda: (call(), call()))
        thread.start()
        thread.join()
    assert counts == [0, 0, 1, 0, 1, 0, 1]
    assert backend.to_host(out).tolist() == [0, 3, 6, 9, 12]


def small_case(kernel, specialisation, project):
    """Of three cases that a check draws and that take the interpreter no more than a moment, the largest."""
    found = []
    for number, dims in enumerate(sizes.cases(kernel, specialisation, 0)):
        case = drawn.draw(kernel, specialisation, dims, np.random.default_rng(number), project)
        elements = sum(np.size(v) for v in (*case.arguments.values(), *case.outputs.values()))
        if elements <= MOST:
            found.append((elements, number, case))
        if len(found) == 3:
            break
    return max(found)[2]


def moved(backend, value):
    return backend.to_device(value) if isinstance(value, np.ndarray) else value


# Calls at random: an array is (shape, dtype, layout, first element) of a buffer that all arrays of a call share.
LAYOUTS = ["C"] * 8 + ["misaligned", "reversed", "step", "broadcast", "F"]
SCALARS = [
    1, -1, 3.5, True, np.float32(2), np.float64(1e300), 1e300, 10**400, np.int8(7), np.uint64(2**63), float("nan"),
    float("inf"), "x", None, 1j, np.bool_(True), np.float16(3), np.complex64(1),
]  # fmt: skip
SHAPES = [(5,), (6,), (2, 3), (3, 2), (1, 4), (0, 3), (2, 3, 4)]


def view(buffer, shape, dtype, layout, first):
    item = np.dtype(dtype).itemsize
    strides = [item] * len(shape)
    if 0 not in shape:
        strides = list(np.empty(shape, dtype, "F" if layout == "F" else "C").strides)
    start = first * item + (layout == "misaligned")
    if layout == "reversed" and shape:
        start += max(shape[-1] - 1, 0) * strides[-1]
        strides[-1] = -strides[-1]
    if layout == "step":
        strides = [2 * s for s in strides]
    if layout == "broadcast" and shape:
        strides[0] = 0
    memory = cupy.cuda.MemoryPointer(buffer.data.mem, start)
    return cupy.ndarray(shape, np.dtype(dtype), memory, tuple(strides))


def call_at_random(choose):
    """(kernel, arguments by name, how many of them by position)."""
    kind, shape = choose.choice(["f4", "f4", "f8"]), choose.choice(SHAPES)

    def array(shape=shape, kind=kind):
        if choose.random() < 0.06:
            kind = choose.choice(["f4", "f8", "i8"])
        return shape, kind, choose.choice(LAYOUTS), choose.choice([0, 0, 1, 8, 64, 65, 128])

    out = choose.choice([{}, {"out": None}, {"out": array()}])
    scalar = choose.choice([1, 0.5, np.float32(2), np.float64(3)])
    calls = {
        "axpy": lambda: {"a": scalar, "x": array(), "y": array(), **out},
        "sub": lambda: {"x": array(), "y": array(shape[1:]), **out},
        "sum": lambda: {"x": array(), "total": choose.choice([None, array(())])},
        "sum_last": lambda: {"x": array(), "out": choose.choice([None, array(shape[:-1])])},
        "softmax": lambda: {"x": array(), **out},
        "softmax_inplace": lambda: {"x": array()},
        "rmsnorm": lambda: {"x": array(), "w": array(shape[-1:]), "eps": scalar, **out},
        "transpose": lambda: {"x": array(), "out": choose.choice([None, array((*shape[:-2], *shape[-2:][::-1]))])},
        "fill": lambda: {"n": choose.choice([6, 6, 5, np.int64(5), -1, 3.0]), "value": scalar},
        "histogram": lambda: {"x": array(), "low": scalar, "high": 4.0, "n": choose.choice([3, 3, 4, 0])},
    }
    name = choose.choice(list(calls))
    arguments = calls[name]()
    return name, arguments, choose.choice([len(arguments), choose.randrange(len(arguments) + 1)])


def changed(choose, call):
    """The same call with another address or number in one place."""
    name, arguments, count = call
    which = choose.choice(list(arguments))
    value = arguments[which]
    other = (*value[:3], choose.choice([0, 1, 4, 8, 65, 128])) if isinstance(value, tuple) else choose.choice(SCALARS)
    return (name, arguments, count) if value is None else (name, {**arguments, which: other}, count)


def outcome(library, backend, call, data):
    """What a call returned or raised, and all memory that it could have written."""
    name, arguments, count = call
    buffer = backend.to_device(data)
    values = {n: view(buffer, *v) if isinstance(v, tuple) else v for n, v in arguments.items()}
    positional = list(values.values())[:count]
    try:
        result = library[name](*positional, **dict(list(values.items())[count:]))
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)
    if result is not None:
        given = [n for n, v in values.items() if v is result]
        result = given or (result.dtype, result.shape, result.strides, backend.to_host(result).tobytes())
    return result, backend.to_host(buffer).tobytes()


def test_calls_at_random_do_as_the_rules_say(pinned, backend, served):
    choose, data = random.Random(5), np.random.default_rng(5).normal(size=512).view("u1")
    calls, refused = [], 0
    for _ in range(220):
        if calls and choose.random() < 0.75:
            calls.append(choose.choice([call := choose.choice(calls[-12:]), changed(choose, call)]))
        else:
            calls.append(call_at_random(choose))
        found = []
        for served.off in (False, True):
            found.append(outcome(pinned, backend, calls[-1], data))
        assert found[0] == found[1], calls[-1]
        assert not _machine.devices[0].fault
        refused += isinstance(found[0][0], type)
    assert served.count > 30 and 30 < refused < 190, (served.count, refused)
