"""Backends by name: built in, registered, brought by packages; and the one choice that falls back."""

import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pydotcompute.backends import Backend, get_backend, register_backend, unregister_backend
from pydotcompute.devices import registry
from pydotcompute.errors import BackendFallbackWarning, BackendNotAvailableError


class Minimal(Backend):
    """A backend with the seven members and nothing else."""

    @property
    def name(self) -> str:
        return "minimal"

    @property
    def is_available(self) -> bool:
        return True

    def compile_kernel(self, func, signature):
        return lambda *args: func(*args)

    def allocate(self, shape, dtype):
        return np.empty(shape, dtype)

    def to_device(self, data):
        return data.copy()

    def to_host(self, data):
        return data

    def synchronize(self):
        pass


class Absent(Minimal):
    @property
    def name(self) -> str:
        return "absent"

    @property
    def is_available(self) -> bool:
        try:
            import a_module_that_is_not_there  # noqa: F401
        except ImportError:
            return False
        return True


@pytest.fixture
def registered():
    names = []

    def register(name, factory, *priority):
        register_backend(name, factory, *priority)
        names.append(name)

    yield register
    for name in names:
        if name in registry._registered:
            unregister_backend(name)


def test_exactly_seven_members_are_abstract():
    assert Backend.__abstractmethods__ == {
        "name", "is_available", "compile_kernel", "allocate", "to_device", "to_host", "synchronize",
    }  # fmt: skip
    for member in Backend.__abstractmethods__:
        body = {**Minimal.__dict__}
        body.pop(member)
        with pytest.raises(TypeError, match=member):
            type("Lacking", (Backend,), body)()


def test_a_backend_with_just_the_seven_runs_a_kernel(registered):
    registered("minimal", Minimal)
    backend = get_backend("minimal")
    assert backend is get_backend("minimal") and backend.name == "minimal"

    def scale(factor, x, out):
        out[:] = factor * x

    x = backend.to_device(np.arange(4.0))
    out = backend.allocate((4,), np.float64)
    kernel = backend.compile_kernel(scale, (np.float64, "float64[:]", "float64[:]"))
    assert backend.launch_kernel(kernel, (1,), (4,), 3.0, x, out) is None
    backend.synchronize()
    np.testing.assert_array_equal(backend.to_host(out), 3 * np.arange(4.0))


def test_what_a_backend_does_unless_it_says_otherwise():
    backend = Minimal()
    with pytest.raises(NotImplementedError, match="'minimal' does not know its memory"):
        backend.get_memory_info()
    assert backend.supports_feature("async") is False
    with pytest.raises(NotImplementedError, match="'minimal' does not run built artifacts"):
        backend.load_kernel(None)
    assert backend.judge(None).reason == "the backend 'minimal' does not run built artifacts"

    def fail():
        raise ZeroDivisionError("of the kernel's own")

    with pytest.raises(ZeroDivisionError):
        backend.launch_kernel(fail, (1,), (1,))
    for grid, block in [((), (1,)), ((0,), (1,)), ((1, 1, 1, 1), (1,)), ((1,), (-1,)), ((1.5,), (1,)), ("1", (1,))]:
        with pytest.raises(ValueError, match="one to three sizes of at least 1"):
            backend.launch_kernel(print, grid, block)


def test_names(registered):
    with pytest.raises(ValueError) as caught:
        get_backend("gpu")
    assert str(caught.value) == "there is no backend 'gpu'; there are: auto, cuda, rocm, metal, opencl, webgpu, cpu"
    for wrong in (["cpu"], None, 3, get_backend("cpu")):
        with pytest.raises(TypeError, match="a backend is asked for by its name, such as 'cpu' or 'auto', got "):
            get_backend(wrong)
        with pytest.raises(ValueError, match="there is no backend "):
            unregister_backend(wrong)
    for wrong in (1.7, "high"):
        with pytest.raises(TypeError, match=f"priority must be an integer, got {wrong!r}"):
            register_backend("minimal", Minimal, priority=wrong)
    for name in ("CPU", "", "a-b", "1a", 3, "auto"):
        with pytest.raises(ValueError, match="lower-case letters"):
            register_backend(name, Minimal)
    registered("minimal", Minimal)
    with pytest.raises(ValueError) as caught:
        register_backend("minimal", Minimal)
    assert str(caught.value) == "a backend 'minimal' is registered already (registered)"
    with pytest.raises(ValueError, match="registered already \\(built in\\)"):
        register_backend("cpu", Minimal)
    with pytest.raises(TypeError, match="must be callable"):
        register_backend("other", Minimal())
    unregister_backend("minimal")
    with pytest.raises(ValueError, match="there is no backend 'minimal'"):
        get_backend("minimal")
    with pytest.raises(ValueError, match="there is no backend"):
        unregister_backend("minimal")
    with pytest.raises(ValueError, match="built in"):
        unregister_backend("cpu")
    registered("minimal", Minimal)


def test_an_explicit_backend_that_is_missing_says_why(registered):
    registered("absent", Absent)
    with pytest.raises(BackendNotAvailableError, match="'absent' is not available here") as caught:
        get_backend("absent")
    assert isinstance(caught.value, RuntimeError)

    def broken():
        raise OSError("libthing.so is missing")

    registered("broken", broken)
    with pytest.raises(BackendNotAvailableError) as caught:
        get_backend("broken")
    assert str(caught.value) == "the backend 'broken' cannot be made: OSError: libthing.so is missing"

    class Raising(Minimal):
        is_available = property(lambda self: 1 / 0)

    registered("raising", Raising, 1000)
    with pytest.raises(BackendNotAvailableError, match="'raising' cannot be made: ZeroDivisionError"):
        get_backend("raising")
    with pytest.warns(BackendFallbackWarning, match="raising: the backend 'raising' cannot be made"):
        registry._told.clear()
        get_backend("auto")
    registered("wrong", dict)
    with pytest.raises(BackendNotAvailableError, match="is a dict, which is not a Backend"):
        get_backend("wrong")


def test_auto_takes_the_first_that_is_available_and_says_what_it_passed_over(registered, monkeypatch):
    monkeypatch.setattr(registry, "_told", set())
    for name in ("cuda", "rocm"):
        monkeypatch.delitem(registry._registered, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert get_backend("auto").name == "cpu" == get_backend().name
    registered("absent", Absent, 10)
    with pytest.warns(BackendFallbackWarning) as caught:
        assert get_backend("auto") is get_backend("cpu")
    assert [str(w.message) for w in caught] == [
        "the backend 'auto' is 'cpu', because others are not available "
        "(absent: the backend 'absent' is not available here)"
    ]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert get_backend("auto").name == "cpu"
        registered("minimal", Minimal, 200)
        assert get_backend("auto").name == "minimal"


def test_a_factory_is_called_once_by_many_threads_and_may_ask_for_other_backends(registered):
    made = []

    def slow():
        made.append(get_backend("inner"))
        time.sleep(0.05)
        return Minimal()

    def inner():
        made.append("inner")
        return Minimal()

    registered("inner", inner)
    registered("minimal", slow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the name
        with ThreadPoolExecutor(4) as threads:
            found = set(threads.map(get_backend, ["minimal"] * 4))
    assert found == {get_backend("minimal")} and made == ["inner", get_backend("inner")]


def test_a_child_does_not_wait_for_a_thread_that_was_making_a_backend():
    program = (
        "import os, threading\n"
        "import pydotcompute\n"
        "from pydotcompute.backends import cpu\n"
        "started, done = threading.Event(), threading.Event()\n"
        "def slow():\n    started.set()\n    done.wait()\n"
        "pydotcompute.register_backend('slow', slow)\n"
        "def ask():\n"
        "    try:\n        pydotcompute.get_backend('slow')\n"
        "    except RuntimeError as error:\n        print(error)\n"
        "thread = threading.Thread(target=ask)\n"
        "thread.start()\n"
        "started.wait()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    print(pydotcompute.get_backend('cpu').name, flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "done.set()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "cpu\nthe backend 'slow' is a NoneType, which is not a Backend\n"


def test_a_package_brings_a_backend_by_entry_point(tmp_path):
    (tmp_path / "brought.py").write_text(
        "from pydotcompute.backends import Backend\n"
        "class Brought(Backend):\n"
        "    name = 'brought'\n    is_available = True\n"
        "    def compile_kernel(self, func, signature): return func\n"
        "    def allocate(self, shape, dtype): ...\n    def to_device(self, data): ...\n"
        "    def to_host(self, data): ...\n    def synchronize(self): ...\n"
    )
    info = tmp_path / "brought-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pydotcompute.backends]\nbrought = brought:Brought\n")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import pydotcompute\n"
        "from pydotcompute.backends import get_backend\n"
        "get_backend('cpu')\n"
        "assert 'importlib.metadata' not in sys.modules and 'brought' not in sys.modules\n"
        "backend = get_backend('brought')\n"
        "assert type(backend).__name__ == 'Brought' and backend is get_backend('brought')\n"
        "assert get_backend('auto') is backend or get_backend('auto').name == 'cuda'\n"
        "try:\n    pydotcompute.register_backend('brought', object)\n"
        "except ValueError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a backend 'brought' is registered already (from brought)\n"
