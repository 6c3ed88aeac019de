"""In which order things happen: streams that calls are given, tensors of torch, arrays of others, captured graphs."""

import cupy
import numpy as np
import pytest
import torch
from cupy import _machine
from cupy.cuda import runtime

from pydotcompute.backends.cuda import arrays as cuda_arrays, streams as cuda_streams
from pydotcompute.backends.cuda.backend import CUDABackend


def slowly(stream, array, value):
    """Work of somebody else on a stream: what reads the array before it sees what was there."""
    _machine.here().put(stream, lambda: array._elements().fill(value))


@pytest.fixture
def ones(backend):
    return backend.to_device(np.ones(40, "f4"))


@pytest.mark.parametrize("given", ["int", "cupy", "torch", "protocol"])
def test_a_call_runs_on_the_stream_that_it_is_given(library, backend, ones, given):
    side = cupy.cuda.Stream(non_blocking=True)

    class Protocol:
        def __cuda_stream__(self):
            return 0, side.ptr

    other = torch.cuda.Stream()
    stream = {"int": side.ptr, "cupy": side, "torch": other, "protocol": Protocol()}[given]
    handle = other.cuda_stream if given == "torch" else side.ptr
    slowly(handle, ones, 5)
    for _ in range(3):
        out = library.axpy(2.0, ones, ones, stream=stream)
        assert _machine.devices[0].launched[-1] == ("axpy", handle) and cupy.cuda.get_current_stream().ptr == 0
    runtime.streamSynchronize(handle)
    assert (out._elements() == 15).all()
    host = library.axpy(2.0, np.ones(4, "f4"), np.ones(4, "f4"), backend="cuda", stream=stream)
    assert host.tolist() == [3] * 4 and _machine.devices[0].launched[-1] == ("axpy", handle)


def test_no_stream_and_the_default_one(library, ones):
    for stream in (None, 0, 1, cupy.cuda.Stream.null):
        library.axpy(2.0, ones, ones, stream=stream)
        assert _machine.devices[0].launched[-1] == ("axpy", 0)


def test_a_stream_of_another_device(library, ones):
    with cupy.cuda.Device(1):
        there = cupy.cuda.Stream()
    with pytest.raises(ValueError, match="stream= is a stream of CUDA device 1, but the call is for device 0"):
        library.axpy(2.0, ones, ones, stream=there)
    away = CUDABackend(device_id=1).to_device(np.ones(40, "f4"))
    out = library.axpy(2.0, away, away, stream=there)
    assert _machine.devices[1].launched == [("axpy", there.ptr)] and out.device.id == 1


@pytest.mark.parametrize("wrong, kind", [("x", TypeError), (True, TypeError), (1.5, TypeError), (-2, ValueError)])
def test_what_is_no_stream(library, ones, wrong, kind):
    with pytest.raises(kind, match="stream="):
        library.axpy(2.0, ones, ones, stream=wrong)


def test_streams_are_for_devices(library):
    x = np.ones(4, "f4")
    with pytest.raises(ValueError, match="stream= is for calls on a device; this one is for the backend 'cpu'"):
        library.axpy(2.0, x, x, stream=0)
    with pytest.raises(ValueError, match="backend 'cpu'"):
        library.axpy(2.0, x, x, stream=0, backend="cpu")


def test_which_takes_a_stream(library, ones):
    assert library.axpy.which(2.0, ones, ones, stream=7).target == library.axpy.which(2.0, ones, ones).target


def test_functions_and_copies_take_streams(backend, ones):
    side = cupy.cuda.Stream(non_blocking=True)
    slowly(side.ptr, ones, 7)
    assert (backend.to_host(ones) == 1).all()  # another stream's work is not waited for
    assert (backend.to_host(ones, stream=side) == 7).all()
    slowly(cupy.cuda.Stream(non_blocking=True).ptr, ones, 8)
    backend.to_host(ones)
    assert _machine.devices[0].waiting
    backend.synchronize()
    assert (backend.to_host(ones) == 8).all() and not _machine.devices[0].waiting
    assert (backend.to_host(backend.to_device(np.ones(3), stream=side), stream=side) == 1).all()


def test_to_host_raises_what_went_wrong_even_of_nothing(backend):
    _machine.devices[0].fault = 700, "before"
    with pytest.raises(runtime.CUDARuntimeError, match="illegal"):
        backend.to_host(cupy.empty((0, 3)))


# ------------------------------------------------------------------------------------------------ other packages


@pytest.mark.parametrize("kind", [torch.Tensor, torch.OldTensor])
def test_a_tensor_that_is_being_written_on_a_side_stream(library, served, kind):
    tensor, side = kind(np.zeros(40, "f4")), torch.cuda.Stream()
    for value in range(1, 6):
        with torch.cuda.stream(side):
            tensor.fill_(value)
            out = library.axpy(1.0, tensor, tensor)
        assert (CUDABackend().to_host(out) == 2 * value).all()
    assert served.count >= 3  # from the third call on from the launch cache, as arrays of CuPy


def test_tensors_of_the_calls_own_stream_cost_what_arrays_of_cupy_do(library, backend):
    a, b, out = (torch.Tensor(np.full(40, v, "f4")) for v in (1, 2, 0))
    asked = []
    for value in range(1, 7):
        before = torch.Tensor.asked
        assert library.axpy(float(value), a, b, out) is out and library.axpy(float(value), x=a, y=b, out=out) is out
        made = library.axpy(float(value), a, b)
        assert (out.numpy() == value + 2).all() and (backend.to_host(made) == value + 2).all()
        asked.append(torch.Tensor.asked - before)
    assert all(asked[:2]) and asked[3:] == [0, 0, 0]
    for wrong, error in (
        (torch.Tensor(np.ones(40, "f4"), requires_grad=True), TypeError), (torch.Tensor(np.ones(40, "f8")), TypeError),
        (torch.Tensor(np.ones(41, "f4")), ValueError), (torch.Tensor(np.ones(40, "f4"), negated=True), TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            library.axpy(2.0, a, wrong, out)
    strided = torch.Tensor(np.arange(80, dtype="f4"))
    strided.array = strided.array[::2]
    shifted = torch.Tensor(np.zeros(41, "f4"))
    whole, shifted.array = shifted.array, shifted.array[:40]
    late = torch.Tensor(np.zeros(1, "f4"))
    for begin in (0, 0, 0, 1):  # where the function that serves such calls sees that they meet now
        late.array = whole[begin : begin + 40]
        if begin:
            with pytest.raises(ValueError, match="share memory"):
                library.axpy(2.0, a, late, shifted)
            with pytest.raises(ValueError, match="contiguous"):
                library.axpy(2.0, a, strided, out)
        else:
            library.axpy(2.0, a, late, shifted)
    with torch.cuda.stream(side := torch.cuda.Stream()):
        slowly(side.cuda_stream, a.array, 5)
        library.axpy(1.0, a, a, out)
        assert (out.clone().numpy() == 10).all()
    assert (out.numpy() == 10).all()


def test_an_output_in_a_tensor_is_there_for_what_torch_does_next(library, ones):
    out, side = torch.Tensor(np.zeros(40, "f4")), torch.cuda.Stream()
    with torch.cuda.stream(side):
        for value in (2.0, 3.0, 4.0):
            assert library.axpy(value, ones, ones, out) is out
            assert library.axpy(value, ones, ones, out=out) is out
            assert (out.clone().numpy() == value + 1).all()
    assert _machine.devices[0].launched[0] == ("axpy", 0)


def test_torch_overwrites_an_input_after_the_call_has_read_it(library, backend, ones):
    tensor, side = torch.Tensor(np.ones(40, "f4")), torch.cuda.Stream()
    for given in (tensor, Interface(tensor.array, stream=side.cuda_stream)):
        with torch.cuda.stream(side):
            for value in (2, 3, 4, 5):
                tensor.fill_(value)
                out = library.axpy(1.0, given, ones)
                tensor.fill_(9)
                runtime.streamSynchronize(side.cuda_stream)
                assert (backend.to_host(out) == value + 1).all()


def test_tensors_on_another_device(library):
    with cupy.cuda.Device(1):
        tensor = torch.Tensor(np.ones(40, "f4"))
    for _ in range(3):
        out = library.axpy(1.0, tensor, tensor)
        assert out.device.id == 1 and (CUDABackend().to_host(out) == 2).all()


def test_functions_of_numba_take_tensors(backend):
    from numba import cuda

    @cuda.jit
    def double(a, b):
        i = cuda.grid(1)
        if i < a.shape[0]:
            b[i] = 2 * a[i]

    kernel = backend.compile_kernel(double, ("float32[::1]",) * 2)
    a, b, side = torch.Tensor(np.ones(40, "f4")), torch.Tensor(np.zeros(40, "f4")), torch.cuda.Stream()
    with torch.cuda.stream(side):
        for value in (3, 4):
            a.fill_(value)
            backend.launch_kernel(kernel, (2,), (32,), a, b)
            a.fill_(9)
            assert (b.clone().numpy() == 2 * value).all()
        backend.launch_kernel(kernel, (2,), (32,), a, b, stream=side)
        assert _machine.devices[0].launched[-1][1] == side.cuda_stream and (b.clone().numpy() == 18).all()


def test_the_host_waits_only_for_those_that_say_no_stream(library, ones, monkeypatch):
    waits = []
    for name in ("deviceSynchronize", "streamSynchronize"):
        function = getattr(runtime, name)
        monkeypatch.setattr(runtime, name, lambda *a, f=function, n=name: (waits.append(n), f(*a)))
    tensor = torch.Tensor(np.zeros(40, "f4"))
    waits.clear()
    with torch.cuda.stream(torch.cuda.Stream()):
        library.axpy(1.0, tensor, ones, tensor)
    assert not waits
    library.silu(Interface(ones, stream=cupy.cuda.Stream().ptr), Interface(cupy.empty(40, "f4"), stream=5))
    library.silu(Interface(ones, stream=None))
    assert waits == ["streamSynchronize"]
    library.silu(Interface(ones, version=2))
    assert waits[1:] == ["deviceSynchronize", "streamSynchronize"]


@pytest.mark.parametrize("kind", [torch.Tensor, torch.OldTensor])
def test_a_tensor_that_cannot_be_passed_on(library, ones, kind):
    with pytest.raises(TypeError, match="axpy: 'y' is not an array that can be passed on: .* use tensor.detach"):
        library.axpy(1.0, ones, kind(np.zeros(40, "f4"), requires_grad=True))
    with pytest.raises(TypeError, match="axpy: 'y' is not an array that can be passed on: .* use tensor.resolve_neg"):
        library.axpy(1.0, ones, kind(np.zeros(40, "f4"), negated=True))


def test_a_tensor_and_an_array_of_the_host(library, ones):
    with pytest.raises(ValueError, match="axpy: 'y' is an array of the backend 'cuda', but 'x' of 'cpu'"):
        library.axpy(1.0, np.ones(40, "f4"), torch.Tensor(np.ones(40, "f4")))


def test_what_a_tensor_says_of_itself_is_read_once(library, backend):
    tensor = torch.Tensor(np.arange(40, dtype="f4"))
    torch.Tensor.reads = 0
    library.silu(tensor)
    assert torch.Tensor.reads == 0

    class Counted(Interface):
        reads = 0

        @property
        def __cuda_array_interface__(self):
            Counted.reads += 1
            return self.interface

    library.silu(Counted(cupy.asarray(np.ones(9, "f4")), stream=None))
    assert Counted.reads == 1


class Base:
    def __init__(self, array, version=3, **more):
        self.owner = array
        self.interface = {**array.__cuda_array_interface__, "version": version, **more}
        if version < 3:
            del self.interface["stream"]


class Interface(Base):
    @property
    def __cuda_array_interface__(self):
        return self.interface


def test_an_array_with_a_stream_of_its_own(library, backend, ones):
    side = cupy.cuda.Stream(non_blocking=True)
    slowly(side.ptr, ones, 4)
    out = library.axpy(1.0, Interface(ones, stream=side.ptr), ones)
    assert (backend.to_host(out) == 8).all()
    given = cupy.empty(40, "f4")
    library.axpy(1.0, ones, ones, Interface(given, stream=side.ptr))
    runtime.streamSynchronize(side.ptr)
    assert (given._elements() == 8).all()


def test_an_array_of_an_unknown_stream(library, backend, ones):
    slowly(cupy.cuda.Stream(non_blocking=True).ptr, ones, 4)
    assert (backend.to_host(library.axpy(1.0, Interface(ones, version=2), ones)) == 8).all()


def test_strides_of_other_packages(backend, draw):
    whole = backend.to_device(draw(6, 8))
    for view in (whole[::-1, ::2], whole.T, whole[2:, 3:], whole[:0]):
        np.testing.assert_array_equal(backend.to_host(Interface(view, strides=view.strides)), view._elements())


def test_a_subclass_of_cupy_is_not_waited_for(library, ones):
    class Mine(cupy.ndarray):
        pass

    before = len(_machine.devices[0].waiting)
    assert type(cuda_arrays.plain(ones.view(Mine))) is cupy.ndarray and len(_machine.devices[0].waiting) == before


# --------------------------------------------------------------------------------------------------------- graphs


@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_graph_with_scratch_may_be_launched_again(library, backend, draw, before):
    """The memory that a captured reduction writes is nobody else's, by the rules and from the launch cache."""
    x, total, side = draw(3000), cupy.empty((), "f4"), cupy.cuda.Stream(non_blocking=True)
    moved = backend.to_device(x)
    with side:
        for _ in range(before):
            library.sum(moved, total)
        side.synchronize()
        side.begin_capture()
        library.sum(moved, total)
        graph = side.end_capture()
        held = [cupy.zeros(4096, "u1") for _ in range(8)]
        for _ in range(3):
            graph.launch(side)
            side.synchronize()
    np.testing.assert_allclose(total._elements(), x.sum(dtype="f8"), 1e-4)
    assert not any(h._elements().any() for h in held)
    assert not _machine.devices[0].fault


def test_scratch_is_kept_only_for_graphs_and_until_it_is_released(library, backend, draw):
    x, side = backend.to_device(draw(3000)), cupy.cuda.Stream(non_blocking=True)
    total = cupy.empty((), "f4")
    backend.release_captured()

    def used():
        backend.synchronize()
        return _machine.devices[0].used

    before = used()
    with side:
        for _ in range(5):
            library.sum(x, total)
        assert used() == before
        side.begin_capture()
        library.sum(x, total)
        graph = side.end_capture()
    kept = used()
    assert kept > before
    del graph
    CUDABackend(device_id=1).release_captured()
    assert used() == kept
    CUDABackend().release_captured()
    assert used() == before


def test_fills_are_part_of_a_graph(library, backend, draw):
    x, side, counts = draw(300), cupy.cuda.Stream(non_blocking=True), cupy.empty(6, "i8")
    moved = backend.to_device(x)
    with side:
        side.begin_capture()
        library.histogram(moved, -3.0, 3.0, 6, counts)
        graph = side.end_capture()
        for _ in range(2):
            graph.launch(side)
        side.synchronize()
    np.testing.assert_array_equal(counts._elements(), np.histogram(x, 6, (-3, 3))[0])


def test_tensors_in_a_graph_are_ordered_by_the_graph(library, backend):
    tensor, side = torch.Tensor(np.ones(40, "f4")), torch.cuda.Stream()
    handle = cuda_streams._Handle(side.cuda_stream)
    with torch.cuda.stream(side):
        _machine.devices[0].captured[side.cuda_stream] = []
        library.axpy(1.0, tensor, tensor, tensor, stream=side)
        work = _machine.devices[0].captured.pop(side.cuda_stream)
    with torch.cuda.stream(torch.cuda.Stream()):  # neither waits for the other: that would end the capture
        _machine.devices[0].captured[side.cuda_stream] = []
        library.axpy(1.0, tensor, tensor, tensor, stream=handle)
        work += _machine.devices[0].captured.pop(side.cuda_stream)
    for one in work:
        one()
    assert (tensor.array._elements() == 4).all() and len(work) == 2
