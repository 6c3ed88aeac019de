"""Random programs on OpenCL agree with the language's interpreter.

PYDOTCOMPUTE_RANDOM_PROGRAMS=N checks N programs instead of a few, PYDOTCOMPUTE_RANDOM_SEED=S begins at that seed.
"""

import os
from dataclasses import replace

import numpy as np
import pytest
from tests.targets.opencl.opencl_support import compiled

from pydotcompute import declare
from pydotcompute.frontend import build as frontend
from pydotcompute.analysis import races
from tests.random_programs.arguments import draw_sizes
from tests.random_programs.differential import Trial, contracted, write
from tests.random_programs.program import Program

FIRST = int(os.environ.get("PYDOTCOMPUTE_RANDOM_SEED", 0)) or 20_000
SEEDS = range(FIRST, FIRST + int(os.environ.get("PYDOTCOMPUTE_RANDOM_PROGRAMS", 16)))


class Project:
    """One program for OpenCL, as `Trial` calls it."""

    def __init__(self, program, folder):
        write([program], folder)
        kernel = declare.load(folder).kernels[program.kernel]
        if program.seed % 2:
            kernel = replace(kernel, launch={**kernel.launch, "block": 32})  # several of them at small sizes
        self.trees, self.built = {}, {}
        for specialisation in kernel.specialisations:
            rendered = declare.render(kernel, specialisation, "opencl", folder)
            self.trees[kernel.name, specialisation] = races.check(frontend.build_tree(kernel, specialisation, rendered))
            self.built[tuple(specialisation.params)] = compiled(kernel, specialisation, rendered)

    def call(self, name, target, threads, arguments, params):
        return self.built[tuple(params.items())].call(*arguments.values(), **params)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_agree(tmp_path, seed):
    program = Program(seed, "k")
    project = Project(program, tmp_path)
    rng = np.random.default_rng(seed)
    for (_, specialisation), tree in project.trees.items():
        for number in range(3):
            sizes, drawn = draw_sizes(program, rng, long=number == 1), int(rng.integers(2**31))
            trial = Trial(project, program, specialisation, sizes, drawn, (0.15, 0.0, 0.4)[number])
            got, again = trial.compiled("opencl", 1), trial.compiled("opencl", 1)
            if not program.atomics:
                trial.agree(again, got, "the same call again")
            if not contracted(tree):
                wanted = trial.interpreted("forward")
                trial.agree(got, wanted, f"OpenCL against the interpreter\n{program.entry}", exact=False)
