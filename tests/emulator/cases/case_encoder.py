"""The sentence encoder of the examples on a device, of a size that an interpreter can run, against float64."""

import numpy as np
import pytest
from cupy import _machine

from pydotcompute import kernels
from pydotcompute.examples.minilm import Config, Encoder
from tests.examples import bert

CONFIG = Config(layers=2, heads=2, hidden=16, eps=1e-12)
WIDE, WORDS, PLACES = 40, 50, 12


@pytest.fixture
def weights():
    rng = np.random.default_rng(0)
    sizes = {
        "attention.self.query": (16, 16), "attention.self.key": (16, 16), "attention.self.value": (16, 16),
        "attention.output.dense": (16, 16), "intermediate.dense": (WIDE, 16), "output.dense": (16, WIDE),
        "attention.output.LayerNorm": (16,), "output.LayerNorm": (16,),
    }  # fmt: skip
    shapes = {
        "embeddings.word_embeddings.weight": (WORDS, 16), "embeddings.position_embeddings.weight": (PLACES, 16),
        "embeddings.token_type_embeddings.weight": (2, 16), "embeddings.LayerNorm.weight": (16,),
        "embeddings.LayerNorm.bias": (16,),
    }  # fmt: skip
    for layer in range(CONFIG.layers):
        for name, shape in sizes.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    return {name: rng.normal(size=shape).astype("f4") for name, shape in shapes.items()}


def test_every_layer_runs_on_the_device(library, weights, monkeypatch):
    monkeypatch.setattr(kernels, "_library", library)
    encoder = Encoder(CONFIG, weights, "cuda")
    tokens = [[7], [1, 49, 3, 3], list(range(11))]
    before = len(_machine.devices[0].launched)
    vectors = encoder.encode(tokens)
    assert len(_machine.devices[0].launched) > before + 10 * CONFIG.layers
    wide = {name: value.astype(np.float64) for name, value in weights.items()}
    np.testing.assert_allclose(vectors, bert.encode(wide, CONFIG, tokens), atol=2e-5)
    np.testing.assert_allclose(encoder.nearest(vectors, vectors), vectors @ vectors.T, atol=1e-5)
