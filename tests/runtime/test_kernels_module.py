"""`from pydotcompute.kernels import …`."""

import shutil
import sys

import numpy as np
import pytest
from support import write_saxpy


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "pydotcompute.kernels", raising=False)
    import pydotcompute.kernels

    module = sys.modules["pydotcompute.kernels"]
    package = tmp_path / "pydotcompute"
    package.mkdir()
    monkeypatch.setattr(module, "_PACKAGE", str(package))
    yield module
    sys.modules.pop("pydotcompute.kernels", None)
    if hasattr(pydotcompute, "kernels"):
        del pydotcompute.kernels


X = np.arange(4, dtype="f4")


def test_from_the_checkout_s_build(kernels, tmp_path):
    write_saxpy(tmp_path)
    from pydotcompute.kernels import saxpy

    np.testing.assert_array_equal(saxpy(1.0, X, X), 2 * X)
    assert dir(kernels) == ["saxpy"] and kernels.saxpy is saxpy


def test_from_the_bundle_in_the_package_first(kernels, tmp_path):
    write_saxpy(tmp_path, name="other")
    write_saxpy(tmp_path / "bundled")
    shutil.copytree(tmp_path / "bundled" / "build" / "cache", tmp_path / "pydotcompute" / "_bundle")
    from pydotcompute.kernels import saxpy

    np.testing.assert_array_equal(saxpy(1.0, X, X), 2 * X)
    assert dir(kernels) == ["saxpy"]


def test_what_is_not_built(kernels, tmp_path):
    with pytest.raises(ImportError) as caught:
        from pydotcompute.kernels import saxpy  # noqa: F401
    assert str(caught.value).endswith(f"run: pydotcompute build -C {tmp_path}")
    write_saxpy(tmp_path)
    with pytest.raises(ImportError) as caught:
        from pydotcompute.kernels import saxpi  # noqa: F401
    assert str(caught.value) == f"{tmp_path} has no kernel 'saxpi'; did you mean 'saxpy'?"
    with pytest.raises(ImportError) as caught:
        from pydotcompute.kernels import gelu  # noqa: F401
    assert str(caught.value) == (
        f"{tmp_path} has no kernel 'gelu'; there are: saxpy; if it is declared, run: "
        f"pydotcompute build gelu -C {tmp_path}"
    )
    assert not hasattr(kernels, "__path__") and not hasattr(kernels, "_nothing")
