"""Random loops that may race: those that the rules accept give the same in every order, and on threads."""

from __future__ import annotations

import os

import numpy as np
import pytest

from pydotcompute import declare
from pydotcompute.errors import DeclarationError
from pydotcompute.frontend import build as frontend
from pydotcompute.interpreter import execute as interpret
from pydotcompute.analysis import races

from tests.targets.cpu.compiled import Kernel

from .racy import Racy

COUNT = int(os.environ.get("PYDOTCOMPUTE_RANDOM_RACES", 240))
START = int(os.environ.get("PYDOTCOMPUTE_RANDOM_SEED", 0))


@pytest.mark.parametrize("part", range(4))
def test_accepted_loops_do_not_depend_on_the_order(tmp_path, part):
    accepted = refused = compared = 0
    for seed in range(START + part, START + COUNT, 4):
        program = Racy(seed)
        tree = tree_of(program, tmp_path)
        if tree is None:
            refused += 1
            continue
        accepted += 1
        compared += agree(program, tree)
    assert accepted > COUNT / 80 and refused > COUNT / 16 and compared > accepted


@pytest.mark.slow
def test_accepted_loops_give_the_same_on_threads(tmp_path):
    done = 0
    for seed in range(START, START + COUNT):
        program = Racy(seed)
        tree = tree_of(program, tmp_path)
        if tree is None or "a[" not in program.body and "h," not in program.body:
            continue
        kernel = Kernel(tree)
        for n, m, c in ((300, 40, 2), (40, 300, 1)):
            arguments, dims = program.arguments(n, m, c, side=100_000 if program.flat else 1500)
            wanted = {name: np.copy(value) for name, value in arguments.items()}
            try:
                interpret.run(tree, wanted, dims)
            except IndexError:
                continue
            for threads in (1, 2, 3):
                got = {name: np.copy(value) for name, value in arguments.items()}
                assert kernel(dims, threads, **got) == 0
                assert all(np.array_equal(got[name], wanted[name]) for name in "abh"), (seed, threads, program.body)
                done += 1
        if done >= 36:
            return
    assert done >= 12


def tree_of(program: Racy, folder):
    """The tree, or None where the race rules refuse it; any other refusal is a failure of the generator."""
    body = "\n".join("      " + line for line in program.body.splitlines())
    (folder / "kernels.yaml").write_text(
        f'version: 1\nkernels:\n  k:\n    signature: "{program.signature}"\n    body: |\n{body}\n'
    )
    kernel = declare.load(folder).kernels["k"]
    specialisation = kernel.specialisations[0]
    tree = frontend.build_tree(kernel, specialisation, declare.render(kernel, specialisation, "cpu", folder))
    try:
        return races.check(tree)
    except DeclarationError:
        return None


def agree(program: Racy, tree) -> int:
    """How many sizes were in range; what is written is the same in every order."""
    compared = 0
    for n, m, c in ((5, 3, 2), (8, 2, 1), (3, 4, 0), (1, 1, 3)):
        found = []
        for order, seed in (("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)):
            arguments, dims = program.arguments(n, m, c)
            try:
                interpret.run(tree, arguments, dims, order, seed)
            except IndexError:
                break
            found.append([arguments[name] for name in "abh"])
        for other in found[1:]:
            same = all(map(np.array_equal, found[0], other))
            assert same, f"program {program.seed}, n={n} m={m} c={c}\n{program.body}"
        compared += len(found) == 4
    return compared
