"""Kernels through both of their doors, the native entry and the Python path; and signatures to try them with."""

import numpy as np
from support import array, read_seen, scalar

import pydotcompute
from pydotcompute.backends.cpu.backend import CPUBackend
from pydotcompute.artifact.signature import DTYPES


class Refused(Exception):
    pass


def refuse(*args, **kwargs):
    raise Refused


class Native:
    """A kernel through both of its doors: the entry alone, and the Python path alone."""

    def __init__(self, path, name="k"):
        self.kernel = pydotcompute.load(path)[name]
        self.record = self.kernel._record
        self.bound = {}
        for label, specialisation in self.record.specialisations.items():
            loaded = CPUBackend().load_kernel(specialisation.artifacts[0])
            entry = loaded.bind(None, self.record, specialisation, refuse)
            self.bound[label] = (loaded, entry and entry.function)

    def entry(self, label=None):
        return self.bound[label or next(iter(self.bound))][1]

    def words(self, label, *args):
        """What `run` sees through the entry, and what it sees through the Python path."""
        loaded, function = self.bound[label]
        function(*args)
        native = read_seen(loaded.library, loaded.artifact)
        call, backend = self.kernel._dispatcher.checked(args, {})
        assert call.specialisation.name == label
        loaded(call)
        return native, read_seen(loaded.library, loaded.artifact)

    def serves(self, *args, label=None, **kwargs):
        try:
            self.entry(label)(*args, **kwargs)
        except Refused:
            return False
        return True


def f4(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


SIGNATURES = {
    "flat": ([array("x", "float32", ...), array("o", "float32", ..., role="out")],
             [(f4(5), f4(5)), (f4(2, 3), f4(2, 3)), (f4(), f4()), (f4(0), f4(0)), (f4(2, 0, 3), f4(2, 0, 3))]),
    "rows": ([array("x", "float32", ..., "n"), array("w", "float32", "n"), array("o", "float32", ..., role="out")],
             [(f4(4, 5), f4(5), f4(4)), (f4(2, 3, 5), f4(5), f4(2, 3)), (f4(5), f4(5), f4()),
               (f4(0, 5), f4(5), f4(0))]),
    "matrices": ([array("a", "float64", "m", "k"), array("b", "float64", "k", 3),
                  array("o", "float64", "m", role="out")],
                 [(np.ones((2, 4)), np.ones((4, 3)), np.ones(2)), (np.ones((0, 4)), np.ones((4, 3)), np.ones(0))]),
    "strided": ([array("x", "float32", "m", "n", layout="strided"), array("o", "float32", "n", role="out")],
                [(f4(4, 6)[::2, ::-1], f4(6)), (f4(6, 4).T, f4(6)), (np.broadcast_to(f4(3), (7, 3)), f4(3)),
                 (f4(0, 3)[:, ::2], f4(2))]),
    "strided rows": ([array("x", "float32", ..., "n", layout="strided"), array("o", "float32", ..., role="out")],
                     [(f4(4, 6)[::2, ::-1], f4(2)), (f4(2, 3, 4).transpose(2, 0, 1), f4(4, 2)), (f4(9)[::3], f4())]),
    "written strided": ([array("x", "float32", ..., role="inout", layout="strided"), scalar("a", "float32")],
                        [(f4(4, 6)[::2, ::3], 1.5), (f4(4), 2), (f4(3, 3).T, -1.0)]),
    "broadcast": ([array("x", "float32", ..., layout="broadcast"), array("y", "float32", ..., layout="broadcast"),
                   array("o", "float32", ..., role="out")],
                  [(f4(3), f4(3), f4(3)), (f4(2, 1), f4(3), f4(2, 3)), (f4(), f4(2, 2), f4(2, 2)),
                   (f4(4, 6)[::2, ::-2], f4(3), f4(2, 3)), (f4(1, 3), f4(0, 1), f4(0, 3)), (f4(), f4(), f4()),
                   (np.broadcast_to(f4(3), (2, 3)), f4(2, 1), f4(2, 3))]),
    "broadcast with a full one": ([array("x", "float32", ...), array("y", "float32", ..., layout="broadcast"),
                                   array("o", "float32", ..., role="out")],
                                  [(f4(2, 3), f4(3), f4(2, 3)), (f4(2, 3), f4(1, 1), f4(2, 3))]),
    "scalars": ([scalar("b", "bool"), scalar("i", "int8"), scalar("u", "uint64"), scalar("f", "float32"),
                 scalar("d", "float64"), scalar("c", "complex64"), scalar("z", "complex128"),
                 array("x", "float32", "n", role="inout")],
                [(True, -5, 2**63 - 1, 0.1, 0.1, 1 + 2j, 3 - 4j, f4(2)), (False, 127, 0, 3, -7, 2, 1.5, f4(0)),
                 (False, 0, 0, float("inf"), float("nan"), complex("inf"), complex("nan"), f4(0)),
                 (False, 0, 0, 2**60 + 1, 2**60 + 1, 2**60 + 1, 2**60 + 1, f4(0))]),
    "dimension": ([scalar("n", "int64"), scalar("v", "float32"), array("o", "float32", "n", role="out")],
                  [(3, 1.0, f4(3)), (0, 1.0, f4(0))]),
    "every dtype": ([array(d, d, "n") for d in DTYPES if d != "bfloat16"],
                    [[np.zeros(3, d) for d in "bool i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()]]),
    "long long": ([array("x", "int64", "n"), array("y", "uint64", "n")], [(np.zeros(3, "q"), np.zeros(3, "Q"))]),
    "output scalar": ([array("x", "float32", ...), scalar("t", "float64", "out")],
                      [(f4(3), np.zeros(())), (f4(0), np.zeros(()))]),
    "several outputs": ([array("x", "float32", ...), array("o", "float32", ..., role="out"),
                         scalar("t", "float64", "out")],
                        [(f4(3), f4(3), np.zeros(()))]),
}  # fmt: skip
