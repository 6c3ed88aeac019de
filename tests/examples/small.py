"""A sentence encoder of random weights, of a size that an interpreter can run, and what it gives in float64."""

import numpy as np

from pydotcompute.examples.minilm import Config
from tests.examples import bert

CONFIG = Config(layers=2, heads=2, hidden=16, eps=1e-12)
TOKENS = [[7], [1, 49, 3, 3], list(range(11))]
USED = ("add", "attention", "gather", "gelu", "layernorm", "matmul", "rmsnorm", "sum_axis", "swap_axes", "transpose")
_WIDE, _WORDS, _PLACES = 40, 50, 12


def weights():
    rng = np.random.default_rng(0)
    sizes = {
        "attention.self.query": (16, 16), "attention.self.key": (16, 16), "attention.self.value": (16, 16),
        "attention.output.dense": (16, 16), "intermediate.dense": (_WIDE, 16), "output.dense": (16, _WIDE),
        "attention.output.LayerNorm": (16,), "output.LayerNorm": (16,),
    }  # fmt: skip
    shapes = {
        "embeddings.word_embeddings.weight": (_WORDS, 16), "embeddings.position_embeddings.weight": (_PLACES, 16),
        "embeddings.token_type_embeddings.weight": (2, 16), "embeddings.LayerNorm.weight": (16,),
        "embeddings.LayerNorm.bias": (16,),
    }  # fmt: skip
    for layer in range(CONFIG.layers):
        for name, shape in sizes.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    return {name: rng.normal(size=shape).astype("f4") for name, shape in shapes.items()}


def agree(encoder):
    """Its vectors of TOKENS, and their cosines, are those of float64."""
    vectors = encoder.encode(TOKENS)
    wide = {name: value.astype(np.float64) for name, value in weights().items()}
    np.testing.assert_allclose(vectors, bert.encode(wide, CONFIG, TOKENS), atol=2e-5)
    np.testing.assert_allclose(encoder.nearest(vectors, vectors), vectors @ vectors.T, atol=1e-5)
