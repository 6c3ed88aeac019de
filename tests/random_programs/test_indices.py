"""Random kernels that index wildly: what is proved to be inside is, and nothing else is touched.

PYDOTCOMPUTE_RANDOM_INDICES=N tries N programs, from PYDOTCOMPUTE_RANDOM_SEED on.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from pydotcompute.analysis import races
from pydotcompute.check import memory
from pydotcompute.check.memory import overrun
from pydotcompute.errors import DeclarationError
from pydotcompute.interpreter import execute as interpret
from pydotcompute.interpreter import runtime, source
from pydotcompute.ir import tree as t

from tests.targets.cpu.compiled import Kernel, built_tree

from .indexing import Indexing

COUNT = int(os.environ.get("PYDOTCOMPUTE_RANDOM_INDICES", 150))
START = int(os.environ.get("PYDOTCOMPUTE_RANDOM_SEED", 0))
MOST = 3000  # accesses of one run


class Enough(Exception):
    pass


def tree_of(program: Indexing) -> t.KernelTree | None:
    """None where the language refuses it: a literal that does not fit, for one."""
    try:
        tree = built_tree(signature=program.signature, template=program.template, extra=program.extra, types="")
        return races.check(tree)
    except DeclarationError:
        return None


class Watched:
    """The interpreter, but that an index outside is noted and skipped, as in compiled code, however often."""

    def __init__(self, monkeypatch):
        self.nodes: list[t.Access] = []
        self.outside: list[t.Access] = []
        self.inside, self.proved = 0, 0
        usual, site = runtime.accesses, source._Writer.site

        def noting(writer, node):
            number = site(writer, node)
            self.nodes[number:] = [node]
            return number

        def accesses(sites, met=None):
            def skipping(function, put):
                def run(*arguments):
                    array, node = arguments[put], self.nodes[arguments[-1]]
                    self.left -= 1
                    if self.left < 0:
                        raise Enough
                    indices = arguments[put + 1 : put + 1 + len(node.indices)]
                    if all(0 <= i < n for i, n in zip(indices, array.shape)):
                        self.inside += 1
                        self.proved += node.inside
                        return function(*arguments)
                    assert not node.inside, f"index {indices} of {array.shape} at {node.at}"
                    self.outside.append(node)
                    return 0

                return run

            found = usual(sites, met)
            return found | {n: skipping(f, n == "update") for n, f in found.items() if n != "check_step"}

        monkeypatch.setattr(source._Writer, "site", noting)
        monkeypatch.setattr(runtime, "accesses", accesses)

    def run(self, tree, arguments, dims, order="forward") -> bool:
        """Whether it came to its end."""
        self.left = MOST
        try:
            interpret.run(tree, arguments, dims, order)
        except Enough:
            return False
        return True


@pytest.mark.slow
def test_what_is_proved_to_be_inside_is(monkeypatch):
    watched = Watched(monkeypatch)
    tried = 0
    for seed in range(START, START + COUNT):
        program = Indexing(seed)
        tree = tree_of(program)
        if tree is None:
            continue
        rng = np.random.default_rng(seed)
        watched.nodes = []
        for order in ("forward", "forward", "reverse", "forward", "random", "forward"):
            call = program.arguments(rng)
            if call is not None:
                try:
                    watched.run(tree, *call, order)
                except AssertionError as error:
                    raise AssertionError(f"program {seed}: {error} with {call}\n{program.signature}\n"
                                         f"{program.extra}\n{program.template}") from None  # fmt: skip
        tried += 1
    assert tried > COUNT / 2 and watched.proved > watched.inside / 4 and len(watched.outside) > tried


@pytest.mark.slow
def test_compiled_code_says_so_and_touches_nothing_else(monkeypatch):
    """Between pages that kill whoever touches them. A call that has a fault ends, however long its loops are."""
    watched = Watched(monkeypatch)
    within = outside = 0
    for seed in range(START + 1000, START + 1000 + COUNT // 6):
        program = Indexing(seed)
        tree = tree_of(program)
        if tree is None:
            continue
        kernel = Kernel(tree)
        rng = np.random.default_rng(seed)
        watched.nodes = []
        for _ in range(40):
            call = program.arguments(rng)
            if call is None:
                continue
            arguments, dims = call
            given, buffers = guarded(arguments)
            watched.outside.clear()
            ended = watched.run(tree, arguments, dims)
            if not ended and not watched.outside:
                continue  # longer than a test may take
            fault = kernel.fault(dims, **given) if kernel.sites else kernel(dims, **given) or None
            told = f"program {seed}: {fault} with {call}\n{program.signature}\n{program.extra}\n{program.template}"
            assert (fault is not None) == bool(watched.outside), told
            for name, (array, buffer) in buffers.items():
                assert not overrun(array, buffer), f"`{name}` of {told}"
                wanted = arguments[name]
                assert fault is not None and name in "hb" or np.array_equal(array, wanted), f"`{name}` of {told}"
            within, outside = within + (fault is None), outside + (fault is not None)
    assert within > COUNT / 2 and outside > COUNT / 2


def guarded(arguments: dict) -> tuple[dict, dict]:
    """The same values, arrays between guards; and each array with the buffer around it."""
    given, buffers = {}, {}
    for name, value in arguments.items():
        given[name] = value
        if isinstance(value, np.ndarray):
            given[name], buffer = memory.guarded(value.shape, value.dtype)
            given[name][...] = value
            buffers[name] = given[name], buffer
    return given, buffers
