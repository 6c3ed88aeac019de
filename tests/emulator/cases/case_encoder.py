"""The sentence encoder of the examples on a device, of a size that an interpreter can run, against float64."""

from cupy import _machine

from pydotcompute import kernels
from pydotcompute.examples.minilm import Encoder
from tests.examples import small


def test_every_layer_runs_on_the_device(library, monkeypatch):
    monkeypatch.setattr(kernels, "_library", library)
    encoder = Encoder(small.CONFIG, small.weights(), "cuda")
    before = len(_machine.devices[0].launched)
    small.agree(encoder)
    assert len(_machine.devices[0].launched) > before + 10 * small.CONFIG.layers
