"""Random programs: interpreter and compiled code agree, in every order, at every level, on every number of threads.

A run checks the same seeds each time, and a few that nobody has checked before. PYDOTCOMPUTE_RANDOM_PROGRAMS=N checks
N programs instead, from a seed of the day; PYDOTCOMPUTE_RANDOM_SEED=S begins at that seed. What fails is repeated by
its seed, and made small by `python -m tests.random_programs.minimise SEED`.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter

import pytest

from pydotcompute import declare
from pydotcompute.analysis import races
from pydotcompute.frontend import build as frontend
from pydotcompute.targets.cpu.lowering import lower

from .differential import Batch, Disagreement, check_faults, check_positions, check_program, write
from .freed import FLAGS
from .program import Program, drawn, freed

BATCH = 5  # programs in one declaration
FIXED, FRESH = range(0, 11), 4
REORDERED = 1, 14, 79, 88  # among them sums that LLVM orders, and sums that lanes of a grid add up together
CAMPAIGN = bool(os.environ.get("PYDOTCOMPUTE_RANDOM_PROGRAMS"))


def seeds() -> list[int]:
    chosen = os.environ.get("PYDOTCOMPUTE_RANDOM_PROGRAMS", "")
    start = int(os.environ.get("PYDOTCOMPUTE_RANDOM_SEED", 0)) or time.time_ns() // 10**9
    return [start + k for k in range(int(chosen))] if chosen else [*FIXED, *(start + k for k in range(FRESH))]


def batches() -> list[list[int]]:
    return [seeds()[k : k + BATCH] for k in range(0, len(seeds()), BATCH)]


def check_all(programs, folder, check, bounds: bool = False) -> list:
    """What `check(batch, program)` gives for each program, all built into one project; fails with every problem."""
    batch = Batch(programs, folder, bounds)
    problems = [
        f"program {p.seed} is refused: {batch.refused[p.kernel]}" for p in programs if p.kernel in batch.refused
    ]
    problems += [
        f"program {p.seed} is not built: {batch.failed[p.kernel]}" for p in programs if p.kernel in batch.failed
    ]
    found = []
    for program in programs:
        if program.kernel in batch.refused or program.kernel in batch.failed:
            continue
        try:
            found.append(check(batch, program))
        except (Disagreement, IndexError) as error:
            problems.append(f"program {program.seed}: {error}\n{program.entry}\n{program.template}")
    assert not problems, "\n\n".join(problems)
    return found


# xdist wants the same names in every process, and the fresh seeds are not the same: they are drawn in the test.
@pytest.mark.parametrize("number", range(len(batches())))
def test_random_programs_agree(tmp_path, number):
    programs = [drawn(seed, f"k{seed}") for seed in batches()[number]]
    assert sum(check_all(programs, tmp_path, check_program)) >= 4 * len(programs)


@pytest.mark.parametrize("number", range(len(batches()) if CAMPAIGN else 1))
def test_programs_whose_arithmetic_may_be_reordered_agree(tmp_path, number):
    """With every kind of `fastmath`: each float is the same in any order, so what it decides is too."""
    chosen = batches()[number] if CAMPAIGN else REORDERED
    programs = [freed(seed, f"k{seed}") for seed in chosen]
    assert sum(check_all(programs, tmp_path, check_program)) >= 4 * len(programs)


@pytest.mark.parametrize("form", ["until", "filled", "nested"])
def test_iterations_with_loops_agree(tmp_path, form):
    """Those that end themselves, those that fill a matrix, and several of one index."""
    programs = [Program(seed, f"k{seed}", form=form) for seed in range(2, 9)]
    assert sum(check_all(programs, tmp_path, check_program)) >= 4 * len(programs)


def test_code_with_bounds_raises_where_the_interpreter_does(tmp_path):
    programs = [Program(seed, f"k{seed}", style="wild") for seed in (6020, 6022, 6023, 6024, 6025, 6026)]
    within, outside = map(sum, zip(*check_all(programs, tmp_path, check_faults, bounds=True)))
    assert within >= 12 and outside >= 12


def test_elements_do_not_depend_on_their_place_or_the_length(tmp_path):
    """With fastmath as it is by default, which lets a compiler round a product and a sum once."""
    programs = [Program(seed, f"k{seed}", style="elementwise") for seed in range(5000, 5006)]
    assert len(check_all(programs, tmp_path, check_positions)) == 6


def test_the_generator_writes_nothing_that_is_refused(tmp_path):
    """Seeds of which each was, once: numbers of the text that do not fit, and stores in loops that go in steps."""
    seeds = 100111, 100351, 100395, 100904, 100924, 101639, 102273, 102448, 102524, 103848, *range(7, 40)
    write([drawn(seed, f"k{seed}") for seed in seeds], tmp_path)
    for kernel in declare.load(tmp_path).kernels.values():
        for specialisation in kernel.specialisations:
            rendered = declare.render(kernel, specialisation, "cpu", tmp_path)
            races.check(frontend.build_tree(kernel, specialisation, rendered))


def test_the_generator_reaches_the_whole_grammar():
    """What the programs of a run are made of; a word that no program has is a part of the language left untested."""
    words = Counter()
    for seed in range(1500):
        program = Program(seed)
        text = f"{program.entry}\n{program.template}"
        words.update(word for word in GRAMMAR if word in text)
    assert [word for word in GRAMMAR if words[word] < 2] == []


def test_the_generator_draws_what_fastmath_may_be():
    programs = [freed(seed) for seed in range(60)]
    assert {p.fastmath for p in programs} == set(FLAGS)
    assert sum(" in range(" in f"{p.entry}{p.template}" and "sum(" in p.entry for p in programs) > 30


def test_the_generator_gives_its_word():
    programs = [drawn(seed) for seed in range(200)]
    entries = [p.entry for p in programs]
    assert sum("unchecked: true" in entry for entry in entries) > 15
    assert sum("disjoint: [" in entry for entry in entries) > 15


def test_the_generator_makes_sequential_programs_and_phases():
    found = Counter()
    for seed in range(400):
        program = Program(seed)
        swaps = {line.strip()[0] for line in (*program.lines, *program.helper_lines) if SWAP.match(line)}
        found.update(f"a swap of {name}" for name in swaps)
        found["accumulators of blocks"] += program.form == "blocks" and any(re.match(r"o\d+\[\(\)\] = s\d", line) for line in program.lines)
        found["a scan in control"] += any(re.match(r" +s\d+ = ", line) for line in program.lines) and program.form in ("scans", "phases")
        found["a row for a helper"] += any(re.search(r"act\d\(.*o\d+\[i", line) for line in program.lines)
        lines = [line for line in program.lines if re.search(r"\b(grid|blocks)\(", line)]
        found["sequential"] += not lines
        found["several loops"] += len(lines) > 1
        found["a loop in control"] += any(line.startswith(" ") for line in lines)
        found["a store between"] += any(re.match(r"\w+\[\(\)\] = ", line) for line in program.lines[:-1])
    assert all(found[what] > 9 for what in ("sequential", "several loops", "a loop in control", "a store between"))
    rarer = "a swap of a", "a swap of q", "a swap of y", "accumulators of blocks", "a scan in control", "a row for a helper"
    assert [what for what in rarer if not found[what]] == []


@pytest.mark.slow
def test_the_generator_makes_loops_that_iterations_take_together(tmp_path):
    """What the CPU's code is then written as, by what its text holds."""
    forms = ["turns"] * 60 + ["until"] * 15 + ["filled"] * 25
    write([Program(seed, f"k{seed}", form=form) for seed, form in enumerate(forms)], tmp_path)
    found = Counter()
    for kernel in declare.load(tmp_path).kernels.values():
        rendered = declare.render(kernel, kernel.specialisations[0], "cpu", tmp_path)
        text = lower(races.check(frontend.build_tree(kernel, kernel.specialisations[0], rendered))).text
        found.update(word for word in WRITTEN if re.search(word, text))
    assert [word for word in WRITTEN if found[word] < 2] == []


WRITTEN = ("_of_lanes", "going_of_lanes", "_together", r"\bsame(_\d+)? = load", r"\bi_7 = ", r"if le\(_row")  # lanes, what all load, lanes apart, rows

SWAP = re.compile(r" *([aqty]\d+)(, [aqty]\d+)+ = [aqty]\d+(, [aqty]\d+)+$")


GRAMMAR = (
    "grid(size)", "grid(rows", "grid(n)", "in grid(m, n)", "grid(l, m, n)", "blocks(m)", "blocks(m, l)",
    "blocks(rows)", "threads(n)",
    "threads(TILE)", " for i in blocks(", " + 1]", "// 4)", "shared((", "private((", "local((", "sum(", "min(", "max(", "any(", "all(", "argmin(",
    "argmax(", " += ", " -= ", " *= ", " &= ", " |= ", " ^= ", "while ", "range(", "break", "continue", "elif ",
    "else:",
    " and ", " or ", "not ", "~", " ** ", " << ", " >> ", " // ", " % ", "atomic_add(", "atomic_min(", "atomic_max(",
    "scatter(",
    "inout ", "strided ", "broadcast ", "inout strided ", "[()] = ", "-inf", "types: ", "params: ", "fastmath: ",
    "return ",
    "def helper", "popcount(", "clz(", "where(", "fma(", "copysign(", "isnan(", "isinf(", "isfinite(", "sqrt(", "sign(",
    "floor(", "ceil(", "trunc(", "round(", "real(", "imag(", "conj(", "abs(", "exp(", "log", "atan2(", "erf", "nan",
    "complex64[", "complex128[", "bool[", "int8[", "uint64[", "float32[", "float64[", ": float16[", ": bfloat16[", " float16[", ": float16", "), bfloat16)", "2 * n", "m * n", "n + 3",
    "(2, m, 3, n)", "((0, n))", " - 1, -1, -1)", ", 0, -2)", "(1, ", " // 2, ", ", 2))",
    "sort(a", "median(a", "searchsorted(a", "sum(", " in range(", " for z", " ** 0.5)", " ** -1)", " ** 2.5)", "pow(", "complex64(", "complex128(",
    " temp (", "sweep0(y", "sweep0(q", "def act0(", " act0(a", " act0(t", "= act0(", "len(y", "len(x", "(k + 1)", "local((k", "shared((",
    "unordered: ", "= atomic_add(", "[atomic_add(", "= atomic_max(", " = 2)", "= -2.5e-3", " = (", "exp(complex", "log(complex",
    "sqrt(complex", "cosh(complex", ") ** complex64(0.5, -1)",
)  # fmt: skip
