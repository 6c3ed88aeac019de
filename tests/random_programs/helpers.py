"""Random helpers: functions of scalars and read-only arrays that return one scalar or a tuple of them."""

from __future__ import annotations

from dataclasses import dataclass

from .elements import bare
from .scope import Array, Scope
from .values import Expr


@dataclass
class Helper:
    name: str
    parameters: list[Array]  # the extents of an array follow it in the call
    results: tuple[str, ...]


def write_helpers(program) -> tuple[list[Helper], list[str]]:
    """One to three helpers, each of which may call those before it; their text."""
    outer = program.lines, program.scope, program.indent, program.helpers, program.extents, program.place
    program.extents, program.place, program.helpers, text = [], "helper", [], []
    atomics, program.atomics = program.atomics, []
    counts, program.counts = program.counts, []
    budget = program.budget
    for number in range(program.rng.randint(1, 3)):
        program.lines, program.indent, program.budget = [], 0, 8
        helper = _one(program, f"helper{number}", outer[1])
        text += [*program.lines, ""]
        program.helpers.append(helper)
    found = program.helpers
    program.lines, program.scope, program.indent, program.helpers, program.extents, program.place = outer
    program.atomics, program.counts, program.budget = atomics, counts, budget
    return found, text


def _one(program, name: str, kernel: Scope) -> Helper:
    rng = program.rng
    parameters, words, scope = [], [], Scope()
    for _ in range(rng.randint(1, 3)):
        parameter = Array(program.name("u"), rng.choice(program.has.dtypes), None)
        parameters.append(parameter)
        words.append(parameter.name)
        scope.add(Expr(parameter.name, parameter.dtype), mutable=program.chance(0.5))
    inputs = [a for a in kernel.arrays if a.role == "in"]
    if inputs and program.chance(0.6):
        like = rng.choice(inputs)
        extents = tuple(program.name("n") for _ in like.dims)
        parameter = Array(program.name("y"), like.dtype, extents)
        parameters.append(parameter)
        words += [parameter.name, *extents]
        scope.arrays.append(parameter)
        scope.positive |= set(extents)
    program.scope = scope
    results = tuple(rng.choice(program.has.dtypes) for _ in range(rng.choice((1, 1, 1, 2, 3))))
    with program.block(f"def {name}({', '.join(words)}):", scope):
        table = ["local_name", "local_name", "augment", "reassign", "branch", "for_loop", "while_loop", "swap", "pair"]
        program.statements(rng.randint(0, 3), table)
        while program.chance(0.4):
            with program.block(f"if {bare(program.condition(2))}:"):
                program.statements(rng.randint(0, 1), table)
                _return(program, results)
        if program.chance(0.2):
            with program.block(f"if {bare(program.condition(2))}:"):
                _return(program, results)
            with program.block("else:"):
                _return(program, results)
        else:
            _return(program, results)
    return Helper(name, parameters, results)


def _return(program, results: tuple[str, ...]) -> None:
    program.line(f"return {', '.join(bare(program.typed(dtype, 2).text) for dtype in results)}")
