"""What the cases share. They run in a process with emulated devices; tests/backends/cuda/test_emulated_devices.py starts it."""


import cupy
import numpy as np
import pytest
from cupy import _machine

import pydotcompute
from pydotcompute.backends.cuda.backend import CUDABackend
from pydotcompute.backends.cuda.launch_cache import LaunchCache


@pytest.fixture(autouse=True)
def fresh():
    """No test finds what another has left, and none leaves work that failed."""
    _machine.reset()
    assert cupy.cuda.runtime.getDevice() == 0
    yield
    assert cupy.cuda.runtime.getDevice() == 0, "the current device is another one"


@pytest.fixture(scope="session")
def library(project):
    return pydotcompute.load(project)


@pytest.fixture
def backend():
    return CUDABackend()


@pytest.fixture
def draw():
    rng = np.random.default_rng(0)
    return lambda *shape, dtype="f4": rng.normal(size=shape).astype(dtype)


@pytest.fixture
def served(monkeypatch):
    """How many calls were served without the rules; `served.off` leaves all to the rules."""

    class Served:
        count, off = 0, False

    def serve(cache, args, kwargs, serve=LaunchCache.__call__):
        result = NotImplemented if Served.off else serve(cache, args, kwargs)
        Served.count += result is not NotImplemented
        return result

    monkeypatch.setattr(LaunchCache, "__call__", serve)
    return Served
