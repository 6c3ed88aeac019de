"""What `bench --subject kernels` measures: every peer that is installed computes what our kernel does."""

from functools import partial

import numpy as np
import pytest

from pydotcompute.bench import framework_peers, kernel_cases
from pydotcompute.bench.numba_peers import PEERS

pytestmark = pytest.mark.slow
PACKAGES = {"torch": "PyTorch", "jax": "JAX", "numexpr": "numexpr"}
CLOSE = {"histogram": 2}  # elements beside the edge of a bin, which float32 puts into the next


@pytest.fixture
def cases():
    """The first, and smallest, case of each kernel."""
    found = {}
    for case in kernel_cases.cases():
        found.setdefault(case.kernel, case)
    return found


def fresh(case):
    """The arguments of a call, arrays of their own."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments]


def peer_of(package, case, given):
    if package == "numpy":
        return case.numpy  # of the case's own arrays
    if package == "numba":
        peer = PEERS.get(case.peer or case.kernel)
        return peer and partial(peer, *given)
    return dict(framework_peers.framework_peers(case.kernel, tuple(given))).get(PACKAGES[package])


@pytest.mark.parametrize("package", ["numpy", "numba", *PACKAGES])
def test_peers_compute_the_same(cases, standard_kernels, package):
    pytest.importorskip(package)
    asked = 0
    for name, case in cases.items():
        given = fresh(case)
        if peer := peer_of(package, case, given):
            written = fresh(case)
            getattr(standard_kernels, name)(*written)
            place = next(k for k, a in enumerate(case.arguments) if not np.array_equal(a, written[k]))
            result = peer()
            if result is None:
                result = (case.arguments if package == "numpy" else given)[place]
            result = np.asarray(result[0] if isinstance(result, tuple) else result).reshape(written[place].shape)
            np.testing.assert_allclose(result, written[place], rtol=2e-3, atol=CLOSE.get(name, 2e-3), err_msg=name)
            asked += 1
    assert asked >= (10 if package == "numexpr" else 26)
