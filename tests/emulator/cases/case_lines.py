"""PTX with tables of lines goes to the driver's compiler, which is told to keep them; other PTX is merely loaded."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from cupy.cuda import driver

import pydotcompute
from pydotcompute.errors import KernelNotBuiltError

KERNELS = """\
version: 1
targets: ["cuda:compute_80"]
kernels:
  twice:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = 2 * x[i]
"""
STORE = 8  # line of kernels.yaml


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("lines")
    (root / "kernels.yaml").write_text(KERNELS)
    build(root, "--debug-info")
    return root


def build(root, *options):
    """In a process without emulated devices."""
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-q", "-C", root, *options], check=True, env=plain,
                   cwd=pydotcompute.__path__[0] + "/..")  # fmt: skip


@pytest.fixture
def images(monkeypatch):
    """What is loaded."""
    found, load = [], driver.moduleLoadData
    monkeypatch.setattr(driver, "moduleLoadData", lambda image: (found.append(image), load(image))[1])
    return found


def test_lines_stay(root, images, backend):
    x = backend.to_device(np.arange(5, dtype="f4"))
    assert pydotcompute.load(root).twice(x).get().tolist() == [0, 2, 4, 6, 8]
    (image,) = [image for image in images if b"twice" in image]
    assert image.startswith(b"// with lines\n") and re.search(rb"\.loc\s+1 %d " % STORE, image)
    assert b'.file\t1 "kernels.yaml"' in image


def test_what_the_linker_refuses_is_said(root, monkeypatch, backend):
    from pydotcompute.backends.cuda import driver as cuda_driver

    monkeypatch.setattr("pydotcompute.runtime.library._open", {})  # whose kernels nobody has called
    compiled = cuda_driver.compiled
    monkeypatch.setattr(cuda_driver, "compiled", lambda ptx: compiled(ptx.replace(b".version", b"")))
    with pytest.raises(KernelNotBuiltError, match="INVALID_PTX"):
        pydotcompute.load(root).twice(backend.to_device(np.ones(3, "f4")))


def test_without_lines_nothing_is_linked(library, images, backend):
    library.silu(backend.to_device(np.ones(3, "f4")))
    assert images and not any(image.startswith(b"// with") for image in images)
