"""What else computes a declared kernel: its reference in NumPy, JAX and PyTorch, and Numba of the same body."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..runtime.kernel import Kernel

Peer = Callable[[], Any]
Reference = Callable[..., Peer | None]  # (arguments, root, package in NumPy's place)


def all_peers(
    reference: Reference, arguments: dict[str, Any], root: str, built: Kernel, given: dict[str, Any]
) -> Iterator[tuple[str, Peer]]:
    """Name and call of each that is installed and can say it. given: what our own call takes."""
    if (call := reference(arguments, root)) is not None:
        yield "reference", call
        known = partial(reference, root=root)
        for name, package, made in (("JAX", "jax", _jax), ("PyTorch", "torch", _torch)):
            if find_spec(package) and (peer := tried(partial(made, known, arguments))):
                yield name, peer
    if find_spec("numba") and (peer := tried(partial(_numba, built, given))):
        yield "Numba", peer


def _numba(built: Kernel, given: dict[str, Any]) -> Peer:
    from .same_body import call_of

    return call_of(built, given)


def _jax(reference: Reference, arguments: dict[str, Any]) -> Peer:
    import jax
    import jax.numpy

    jax.config.update("jax_enable_x64", True)
    arrays = {name: jax.numpy.asarray(value) for name, value in arguments.items() if isinstance(value, np.ndarray)}
    names = SimpleNamespace(**{**vars(np), **vars(jax.numpy)})  # it has no errstate, for one
    compiled = jax.jit(lambda arrays: _called(reference({**arguments, **arrays}, numpy=names)))
    return lambda: jax.block_until_ready(compiled(arrays))


def _torch(reference: Reference, arguments: dict[str, Any]) -> Peer:
    import torch

    torch.set_num_threads(1)
    torch.compiler.reset()  # of many functions of one line of ours it would give up after some
    return torch.compile(partial(_called, reference(arguments)))


def _called(evaluate: Peer | None) -> Any:
    assert evaluate is not None
    return evaluate()


def tried(made: Callable[[], Peer | None]) -> Peer | None:
    """None where a peer has no words for it: there is a gap in the table then, and no fault of anybody's."""
    try:
        if call := made():
            call()
    except Exception:  # they raise of everything
        return None
    return call
