"""How an array is seen in the shape of all `...`: the descriptor that `run` gets is NumPy's own broadcast."""

import numpy as np
import pytest

from pydotcompute.calls import words

X = np.arange(120.0).reshape(2, 3, 4, 5)


@pytest.mark.parametrize(
    "array, own, leading",
    [(X, 4, (2, 3, 4, 5)), (X, 2, (2, 3)), (X[::-1, :, ::2], 3, (2, 3, 2)), (X[0], 3, (7, 3, 4, 5)),
     (X[:, :1], 4, (2, 6, 4, 5)), (X[:1, :, :1], 3, (9, 3, 8)), (X[0, 0, 0], 1, (2, 2, 5)),
     (np.float64(1)[None], 1, (3, 4)), (np.zeros(()), 0, (2, 3)), (X.transpose(3, 1, 0, 2), 4, (5, 3, 2, 4))],
)  # fmt: skip
def test_a_descriptor_is_what_numpy_broadcasts_to(array, own, leading):
    own_dims = array[(slice(None),) * own + (0,) * (array.ndim - own)]
    wanted = np.broadcast_to(own_dims, leading)
    rank, *pairs = words.view(array, own, leading)
    assert rank == len(leading) and tuple(pairs[::2]) == leading
    assert tuple(pairs[1::2]) == wanted.strides
