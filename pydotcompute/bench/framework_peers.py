"""The operations of `kernel_cases` in PyTorch, JAX and numexpr, each as its documentation would have it, for calls with
the arguments of our kernels. Imported by the benchmark alone; what is not installed is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

Words = dict[str, Callable[..., Any]]  # what a kernel's arguments, outputs too, become


def framework_peers(kernel: str, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name and call of each that is installed and has words for the kernel."""
    for package, name, made in (("torch", "PyTorch", _torch), ("jax", "JAX", _jax), ("numexpr", "numexpr", _numexpr)):
        if find_spec(package) and (call := made(kernel, arguments)):
            yield name, call


# ------------------------------------------------------------------------------------------------------- PyTorch


def _torch(kernel: str, arguments: tuple[Any, ...]) -> Callable[[], Any] | None:
    import torch

    torch.set_num_threads(1)
    if not (words := torch_words().get(kernel)):
        return None
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return torch.no_grad()(partial(words, *tensors))


def torch_words() -> Words:
    import torch
    from torch.nn import functional

    def rope(x: Any, cosine: Any, sine: Any) -> None:
        a, b = x.chunk(2, -1)
        x.copy_(torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1))

    def inner(x: Any, out: Any) -> None:
        out[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]

    def shade(z: Any, dx: float, dy: float, azimuth: float, altitude: float, out: Any) -> Any:
        window = functional.pad(z[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
        return hillshade(torch, window, dx, dy, azimuth, altitude)

    flat = {name: getattr(torch, name) for name in ("add", "div", "exp", "log", "sin", "tanh", "sqrt", "pow")}
    return {name: partial(_to_last, function) for name, function in flat.items()} | {
        "axpy": lambda a, x, y, out: torch.add(y, x, alpha=a, out=out),
        "relu": lambda x, out: torch.clamp_min(x, 0, out=out),
        "fill": lambda n, value, out: out.fill_(value),
        "gelu": lambda x, out: functional.gelu(x),
        "silu": lambda x, out: functional.silu(x),
        "sum": lambda x, out: torch.sum(x),
        "mean": lambda x, out: torch.mean(x),
        "max": lambda x, out: torch.max(x),
        "argmax": lambda x, out: torch.argmax(x),
        "sum_last": lambda x, out: torch.sum(x, 1, out=out),
        "max_last": lambda x, out: torch.amax(x, 1, out=out),
        "argmax_last": lambda x, out: torch.argmax(x, 1, out=out),
        "sum_axis": lambda x, inner, chunks, divisor, out: torch.sum(x.view(-1, inner), 0),
        "softmax": lambda x, out: torch.softmax(x, 1),
        "rmsnorm": lambda x, w, eps, out: functional.rms_norm(x, x.shape[1:], w, eps),
        "layernorm": lambda x, w, b, eps, out: functional.layer_norm(x, x.shape[1:], w, b, eps),
        "matmul": lambda a, b, out: torch.mm(a, b, out=out),
        "matmul_batched": lambda a, b, out: torch.bmm(a, b, out=out),
        "matmul_vec": lambda w, x, out: torch.mv(w, x, out=out),
        "weighted_sum_rows": lambda w, values, out: torch.mv(values.t(), w, out=out),
        "attention": lambda q, k, v, scale, out: functional.scaled_dot_product_attention(
            q[None], k[None], v[None], scale=scale
        ),
        "transpose": lambda x, out: out.copy_(x.t()),
        "swap_axes": lambda x, out: out.copy_(x.transpose(0, 1)),
        "gather": lambda table, index, out: torch.index_select(table, 0, index, out=out),
        "laplacian": inner,
        "hillshade": shade,
        "apply_rope": rope,
        "histogram": lambda x, low, high, n, out: torch.histc(x, n, low, high),
    }


def _to_last(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments[:-1], out=arguments[-1])


# ----------------------------------------------------------------------------------------------------------- JAX


def _jax(kernel: str, arguments: tuple[Any, ...]) -> Callable[[], Any] | None:
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)
    if not (words := jax_words().get(kernel)):
        return None
    fixed = tuple(k for k, a in enumerate(arguments) if isinstance(a, int))  # shapes follow from them
    compiled = jax.jit(words, static_argnums=fixed)
    given = [np.float32(a) if isinstance(a, float) else a for a in arguments]
    given = [a if k in fixed else jnp.asarray(a) for k, a in enumerate(given)]
    return lambda: jax.block_until_ready(compiled(*given))


def jax_words() -> Words:
    from jax import nn, numpy as jnp

    def normalised(x: Any, eps: Any) -> Any:
        return x / jnp.sqrt(jnp.mean(x * x, 1, keepdims=True) + eps)

    def rope(x: Any, cosine: Any, sine: Any) -> Any:
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate((a * cosine - b * sine, a * sine + b * cosine), -1)

    def inner(x: Any, out: Any) -> Any:
        sums = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]
        return jnp.pad(sums, 1)

    def attention(q: Any, k: Any, v: Any, scale: Any, out: Any) -> Any:
        return jnp.matmul(nn.softmax(scale * jnp.matmul(q, k.swapaxes(1, 2)), -1), v)

    flat = {name: getattr(jnp, name) for name in ("add", "exp", "log", "sin", "tanh", "sqrt", "pow")}
    return {name: partial(_without_last, function) for name, function in flat.items()} | {
        "div": lambda x, y, out: x / y,
        "axpy": lambda a, x, y, out: a * x + y,
        "relu": lambda x, out: nn.relu(x),
        "fill": lambda n, value, out: jnp.full(n, value),
        "gelu": lambda x, out: nn.gelu(x, approximate=False),
        "silu": lambda x, out: nn.silu(x),
        "sum": lambda x, out: jnp.sum(x),
        "mean": lambda x, out: jnp.mean(x),
        "max": lambda x, out: jnp.max(x),
        "argmax": lambda x, out: jnp.argmax(x),
        "sum_last": lambda x, out: jnp.sum(x, 1),
        "max_last": lambda x, out: jnp.max(x, 1),
        "argmax_last": lambda x, out: jnp.argmax(x, 1),
        "sum_axis": lambda x, inner, chunks, divisor, out: jnp.sum(x.reshape(-1, inner), 0),
        "softmax": lambda x, out: nn.softmax(x, 1),
        "rmsnorm": lambda x, w, eps, out: normalised(x, eps) * w,
        "layernorm": lambda x, w, b, eps, out: normalised(x - jnp.mean(x, 1, keepdims=True), eps) * w + b,
        "matmul": lambda a, b, out: jnp.matmul(a, b),
        "matmul_batched": lambda a, b, out: jnp.matmul(a, b),
        "matmul_vec": lambda w, x, out: jnp.matmul(w, x),
        "weighted_sum_rows": lambda w, values, out: jnp.matmul(w, values),
        "attention": attention,
        "transpose": lambda x, out: x.T.copy(),
        "swap_axes": lambda x, out: x.swapaxes(0, 1).copy(),
        "gather": lambda table, index, out: jnp.take(table, index, 0, mode="clip"),
        "laplacian": inner,
        "hillshade": lambda z, *light: hillshade(jnp, jnp.pad(z, 1, mode="edge"), *light[:-1]),
        "apply_rope": rope,
        "histogram": lambda x, low, high, n, out: jnp.histogram(x, n, (low, high))[0],
    }


def _without_last(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments[:-1])


# ------------------------------------------------------------------------------------------------------- numexpr

EXPRESSIONS = {
    "axpy": "a * x + y", "add": "x + y", "div": "x / y", "sqrt": "sqrt(x)", "exp": "exp(x)", "log": "log(x)",
    "sin": "sin(x)", "tanh": "tanh(x)", "pow": "x ** y", "silu": "x / (1 + exp(-x))",
}  # fmt: skip


def _numexpr(kernel: str, arguments: tuple[Any, ...]) -> Callable[[], Any] | None:
    import numexpr

    numexpr.set_num_threads(1)
    if not (expression := EXPRESSIONS.get(kernel)):
        return None
    *inputs, out = arguments
    names = ("a", "x", "y") if len(inputs) == 3 else ("x", "y")
    known = {n: np.float32(a) if isinstance(a, float) else a for n, a in zip(names, inputs, strict=False)}
    return partial(numexpr.evaluate, expression, local_dict=known, global_dict={}, out=out)


# --------------------------------------------------------------------------------------------- for any of them


def hillshade(xp: Any, window: Any, dx: float, dy: float, azimuth: float, altitude: float) -> Any:
    """Shaded relief (Horn, 1981) as arrays; window: the elevations with each border written twice."""
    north, middle, south = window[:-2], window[1:-1], window[2:]
    west, centre, east = np.s_[:, :-2], np.s_[:, 1:-1], np.s_[:, 2:]
    eastward = (north[east] + 2 * middle[east] + south[east] - north[west] - 2 * middle[west] - south[west]) / (8 * dx)
    northward = (
        north[west] + 2 * north[centre] + north[east] - south[west] - 2 * south[centre] - south[east]
    ) / (8 * dy)
    light, height = azimuth * (np.pi / 180), altitude * (np.pi / 180)
    m = np if isinstance(azimuth, float) else xp
    towards = m.sin(height) - m.sin(light) * m.cos(height) * eastward - m.cos(light) * m.cos(height) * northward
    return (towards / xp.sqrt(1 + eastward**2 + northward**2)).clip(0)
