"""A machine with the built-in backends, the CPU alone available, and whatever a test registers."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from pool import PoolBackend  # noqa: E402

from pydotcompute import BackendNotAvailableError  # noqa: E402
from pydotcompute.backends import register_backend, unregister_backend
from pydotcompute.devices import registry  # noqa: E402


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch):
    def missing():
        raise BackendNotAvailableError("there is no driver")

    monkeypatch.setitem(registry._registered, "cuda", registry._registered["cuda"]._replace(factory=missing))
    monkeypatch.setattr(registry, "_instances", {k: v for k, v in registry._instances.items() if k != "cuda"})
    monkeypatch.setattr(registry, "_told", set())


@pytest.fixture
def pool():
    backend = PoolBackend()
    register_backend("pool", lambda: backend)
    yield backend
    if "pool" in registry._registered:
        unregister_backend("pool")
