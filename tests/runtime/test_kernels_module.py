"""`from pydotcompute.kernels import …`."""

import pydoc
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


def test_asking_for_what_is_not_there(kernels, tmp_path):
    assert not hasattr(kernels, "nope") and getattr(kernels, "nope", 3) == 3 and dir(kernels) == []
    assert "from pydotcompute.kernels import softmax" in pydoc.render_doc(kernels)
    write_saxpy(tmp_path)
    assert not hasattr(kernels, "nope") and hasattr(kernels, "saxpy")
    with pytest.raises(AttributeError, match="has no kernel 'saxpi'; did you mean 'saxpy'"):
        kernels.saxpi
    shown = pydoc.render_doc(kernels, renderer=pydoc.plaintext)
    assert "saxpy(a, x, y, out=None)" in shown and "a * x + y" in shown


def test_an_installation_without_kernels(kernels, tmp_path):
    (tmp_path / ".git").mkdir()  # nothing is looked for above, where other people's projects lie
    with pytest.raises(ImportError) as caught:
        from pydotcompute.kernels import saxpy  # noqa: F401
    assert str(caught.value) == (
        f"this installation has no kernels of its own: there is no {tmp_path}/pydotcompute/_bundle; "
        f"no installed distribution owns {tmp_path}/pydotcompute: get it again from where it came"
    )


def test_what_is_not_built(kernels, tmp_path):
    (tmp_path / "kernels.yaml").touch()
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
