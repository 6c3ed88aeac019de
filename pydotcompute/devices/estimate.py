"""How much memory the inference of a transformer takes, from its sizes alone."""

from __future__ import annotations

from operator import index
from typing import NamedTuple

from ..backends.device_info import GIB


class MemoryEstimate(NamedTuple):
    """Bytes, by what they are for."""

    parameters: int
    kv_cache: int
    activations: int

    @property
    def total_bytes(self) -> int:
        return self.parameters + self.kv_cache + self.activations

    def total_gb(self) -> float:
        """In units of 2^30 bytes."""
        return self.total_bytes / GIB


def estimate_inference_memory(
    hidden: int, intermediate: int, layers: int, vocab: int, heads: int, kv_heads: int, sequence: int, bytes: int
) -> MemoryEstimate:
    """The memory of a decoder with gated feed-forward layers and grouped attention (the Llama and Mistral family).

    hidden, intermediate: the widths of a layer and of its feed-forward part. heads, kv_heads: of queries, and of keys
    and values. sequence: positions that the cache holds. bytes: of one number. With d = hidden // heads:

        parameters   layers (2 hidden² + 2 hidden kv_heads d + 3 hidden intermediate + 2 hidden)
                     + 2 vocab hidden + hidden
        KV cache     2 layers sequence kv_heads d
        activations  2 (hidden + 2 intermediate)

    all times `bytes`. Raises TypeError for what is no integer, ValueError for one below 1 (`sequence`: below 0), for
    more heads than hidden, and for more kv_heads than heads.
    """
    given = dict(
        hidden=hidden, intermediate=intermediate, layers=layers, vocab=vocab, heads=heads, kv_heads=kv_heads,
        sequence=sequence, bytes=bytes,
    )  # fmt: skip
    for name, value in given.items():
        try:
            given[name] = index(value)
        except TypeError:
            raise TypeError(f"{name} must be an integer, got {value!r}") from None
        least = 0 if name == "sequence" else 1
        if isinstance(value, bool) or given[name] < least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
    hidden, intermediate, layers, vocab, heads, kv_heads, sequence, width = given.values()
    if heads > hidden:
        raise ValueError(f"heads = {heads} is more than hidden = {hidden}")
    if kv_heads > heads:
        raise ValueError(f"kv_heads = {kv_heads} is more than heads = {heads}")
    d = hidden // heads
    layer = 2 * hidden**2 + 2 * hidden * kv_heads * d + 3 * hidden * intermediate + 2 * hidden
    return MemoryEstimate(
        parameters=width * (layers * layer + 2 * vocab * hidden + hidden),
        kv_cache=2 * width * layers * sequence * kv_heads * d,
        activations=2 * width * (hidden + 2 * intermediate),
    )
