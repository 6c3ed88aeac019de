"""The forward pass of BERT in NumPy and float64, written from the paper's formulas.

What concerns single tokens is done for those of all sentences at once, attention for one sentence after the other.
"""

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[float])


def _norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * weight + bias


def _attention(query, key, value, heads):
    """For the tokens of one sentence: [token, hidden] → [token, hidden]."""
    q, k, v = (x.reshape(len(x), heads, -1) for x in (query, key, value))
    scores = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hij,jhd->ihd", weights, v).reshape(query.shape)


def encode(weights, config, sentences):
    """Vectors of length 1, float64[sentence, hidden], for lists of token numbers: the mean over a sentence's tokens."""
    w = weights
    ends = np.cumsum([len(tokens) for tokens in sentences])
    parts = [slice(end - len(tokens), end) for end, tokens in zip(ends, sentences)]
    places = np.concatenate([np.arange(len(tokens)) for tokens in sentences])
    x = w["embeddings.word_embeddings.weight"][np.concatenate(sentences)]
    x = x + w["embeddings.position_embeddings.weight"][places] + w["embeddings.token_type_embeddings.weight"][0]
    x = _norm(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], config.eps)
    for layer in range(config.layers):

        def dense(name, x):
            at = f"encoder.layer.{layer}.{name}"
            return x @ w[f"{at}.weight"].T + w[f"{at}.bias"]

        def norm(name, x):
            at = f"encoder.layer.{layer}.{name}.LayerNorm"
            return _norm(x, w[f"{at}.weight"], w[f"{at}.bias"], config.eps)

        q, k, v = (dense(f"attention.self.{name}", x) for name in ("query", "key", "value"))
        mixed = np.concatenate([_attention(q[part], k[part], v[part], config.heads) for part in parts])
        x = norm("attention.output", dense("attention.output.dense", mixed) + x)
        wide = dense("intermediate.dense", x)
        wide = wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))
        x = norm("output", dense("output.dense", wide) + x)
    mean = np.stack([x[part].mean(0) for part in parts])
    return mean / np.sqrt((mean**2).sum(1, keepdims=True))
