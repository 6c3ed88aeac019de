"""How exact products are to be: one setting for each size of floats, which holds from the next call on."""

import numpy as np

COMPUTE_TYPE_DEFAULT, COMPUTE_TYPE_PEDANTIC, COMPUTE_TYPE_TF32 = 1, 2, 7
_chosen: dict[str, int] = {}


def get_compute_type(dtype) -> int:
    return _chosen.get(np.dtype(dtype).char.lower(), COMPUTE_TYPE_DEFAULT)


def set_compute_type(dtype, compute_type) -> None:
    _chosen[np.dtype(dtype).char.lower()] = compute_type
