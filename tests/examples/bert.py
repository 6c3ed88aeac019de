"""The forward pass of BERT in NumPy and float64, one sentence at a time, written from the paper's formulas."""

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[float])


def _norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * weight + bias


def encode(weights, config, tokens):
    """The vector of length 1 of one sentence: the mean over its tokens."""
    w = weights
    n, depth = len(tokens), config.hidden // config.heads
    x = w["embeddings.word_embeddings.weight"][tokens] + w["embeddings.position_embeddings.weight"][:n]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    x = _norm(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], config.eps)
    for layer in range(config.layers):

        def dense(name, x):
            at = f"encoder.layer.{layer}.{name}"
            return x @ w[f"{at}.weight"].T + w[f"{at}.bias"]

        def norm(name, x):
            at = f"encoder.layer.{layer}.{name}.LayerNorm"
            return _norm(x, w[f"{at}.weight"], w[f"{at}.bias"], config.eps)

        q, k, v = (
            dense(f"attention.self.{name}", x).reshape(n, config.heads, depth).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / math.sqrt(depth)
        attention = np.exp(scores - scores.max(-1, keepdims=True))
        attention /= attention.sum(-1, keepdims=True)
        mixed = (attention @ v).swapaxes(0, 1).reshape(n, config.hidden)
        x = norm("attention.output", dense("attention.output.dense", mixed) + x)
        wide = dense("intermediate.dense", x)
        wide = wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))
        x = norm("output", dense("output.dense", wide) + x)
    mean = x.mean(0)
    return mean / np.sqrt((mean**2).sum())
