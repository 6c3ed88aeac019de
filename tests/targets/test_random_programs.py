"""Random programs on GPUs agree with the language's interpreter: the PTX, its threads in random order, OpenCL C, what
code objects are made of, and WGSL, of programs that compute in what it has.

PYDOTCOMPUTE_RANDOM_PROGRAMS=N checks N programs instead of a few, PYDOTCOMPUTE_RANDOM_SEED=S begins at that seed.
"""

import os
from dataclasses import replace

import numpy as np
import pytest

from pydotcompute import declare
from pydotcompute.targets import registry
from tests.random_programs.arguments import as_called, draw_sizes
from tests.random_programs.differential import Trial, contracted, write
from tests.random_programs.program import Program, vouched
from tests.random_programs.values import DTYPES, Table
from tests.targets.built import compiled, lacking, marked

FIRST = int(os.environ.get("PYDOTCOMPUTE_RANDOM_SEED", 0)) or 20_000
SEEDS = range(FIRST, FIRST + int(os.environ.get("PYDOTCOMPUTE_RANDOM_PROGRAMS", 16)))
# Of which programs, and how many of them: the Nth part.
TARGETS = {"cuda:compute_80": 1, "opencl:1.2": 1, "hip:gfx942": 2, "webgpu": 2}


def program_for(target, seed):
    """One of the dtypes that the target has."""
    own = registry.get(target)
    dtypes = tuple(d for d in DTYPES if d == "bool" or d in own.dtypes - own.scalars)
    return vouched(Program(seed, "k", has=Table(dtypes, is_exact=not own.loses)))


class Project:
    """One program for a target, as `Trial` calls it."""

    def __init__(self, program, target, folder):
        self.program = program
        write([program], folder)
        kernel = declare.load(folder).kernels[program.kernel]
        if program.seed % 2:
            kernel = replace(kernel, launch={**kernel.launch, "block": 32})  # several of them at small sizes
        self.trees, self.built, self.seed = {}, {}, 0
        for specialisation in kernel.specialisations:
            rendered = declare.render(kernel, specialisation, target.partition(":")[0], folder)
            made = compiled(target, kernel, specialisation, rendered)
            self.trees[kernel.name, specialisation] = made.tree
            self.built[tuple(specialisation.params)] = made

    def call(self, name, target, threads, arguments, params):
        self.seed += 1
        given, named = as_called(self.program, arguments)
        return self.built[tuple(params.items())].call(*given, **named, **params, seed=self.seed)


@pytest.mark.parametrize("target, seed", [marked(target, seed) for target, part in TARGETS.items() for seed in SEEDS[::part]])
def test_random_programs_agree(tmp_path, target, seed):
    program = program_for(target, seed)
    project = Project(program, target, tmp_path)
    rng = np.random.default_rng(seed)
    for (_, specialisation), tree in project.trees.items():
        for number in range(3):
            sizes, drawn = draw_sizes(program, rng, long=number == 1), int(rng.integers(2**31))
            trial = Trial(project, program, specialisation, sizes, drawn, (0.15, 0.0, 0.4)[number])
            got, again = trial.compiled(target, 1), trial.compiled(target, 1)
            if not program.atomics:
                trial.agree(again, got, "the same call again")
            if not contracted(tree):
                wanted = trial.interpreted("forward")
                trial.agree(got, wanted, f"{target} against the interpreter\n{program.entry}", exact=False)


def test_most_programs_are_of_what_wgsl_has(tmp_path):
    fitting = 0
    for seed in range(20_000, 20_020):
        program = program_for("webgpu", seed)
        write([program], tmp_path)
        kernel = declare.load(tmp_path).kernels[program.kernel]
        chosen = kernel.specialisations[0]
        fitting += not lacking(kernel, chosen, declare.render(kernel, chosen, "webgpu", tmp_path))
    assert fitting > 12
