"""Builds random programs as a user would and runs each in every way that must agree."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

import pydotcompute
from .arguments import as_called, as_seen, draw_arguments, draw_scratch, draw_sizes, extent_of
from pydotcompute import declare
from pydotcompute.builder.build import Project, Request, build
from pydotcompute.errors import DeclarationError
from pydotcompute.frontend import build as frontend
from pydotcompute.interpreter import execute as interpret
from pydotcompute.analysis import races
from pydotcompute.ir import tree as t
from pydotcompute.artifact.dtypes import STORED
from pydotcompute.artifact.signature import fill_value

LEVELS = ("cpu:x86-64-v2", "cpu:x86-64-v3")
BOUNDS = "cpu:x86-64-v3+bounds"
ULPS = 4  # of a listed function that rounds, against the interpreter's, which is within one


class Disagreement(AssertionError):
    pass


class Batch:
    """Programs in one declaration, built for every level; `trees` by kernel and specialisation."""

    def __init__(self, programs, folder: Path, bounds: bool = False, jobs: int = 1, report=lambda event: None):
        self.programs, self.folder = programs, folder
        self.of = {program.kernel: program for program in programs}
        self.trees, self.refused, self.failed = {}, {}, {}
        write(programs, folder)
        self.declaration = declare.load(folder)
        for kernel in self.declaration.kernels.values():
            for specialisation in kernel.specialisations:
                try:
                    rendered = declare.render(kernel, specialisation, "cpu", folder)
                    tree = races.check(frontend.build_tree(kernel, specialisation, rendered))
                    self.trees[kernel.name, specialisation] = tree
                except DeclarationError as error:
                    self.refused[kernel.name] = error
        kernels = tuple(dict.fromkeys(name for name, _ in self.trees if name not in self.refused))
        wanted = [Request(kernels, LEVELS, False, jobs, True)]
        if bounds:
            wanted.append(Request(kernels, ("cpu:x86-64-v3",), True, jobs, True))
        for request in wanted if kernels else []:
            project = Project(str(folder), lambda line: None)
            plan, outcome = build(project, request, report)
            for name, result in outcome.failed.items():
                self.failed[name[0]] = str(result)
        self.bounds = bounds
        self.libraries = {}

    def call(self, name: str, target: str, threads: int, arguments: dict, params: dict):
        """One call through the public path, with the outputs given; they are changed in place."""
        key = target, threads
        os.environ["PYDOTCOMPUTE_THREADS"] = str(threads)
        if key not in self.libraries:
            self.libraries[key] = pydotcompute.load(str(self.folder), target=target)
        given, named = as_called(self.of[name], arguments)
        return self.libraries[key][name](*given, **named, **params)


def write(programs, folder: Path) -> None:
    (folder / "templates").mkdir(exist_ok=True)
    text = ["version: 1", f"targets: [{', '.join(LEVELS)}]", "kernels:"]
    for program in programs:
        text.append(program.entry)
        if program.template:
            (folder / "templates" / f"{program.kernel}.py.j2").write_text(program.template)
    (folder / "kernels.yaml").write_text("\n".join(text) + "\n")


# ---------------------------------------------------------------------------------------------------- one program


class Trial:
    """One specialisation of one program and the arguments of one call, made anew for each run."""

    def __init__(self, project: Batch, program, specialisation, dims: dict, seed: int, special: float = 0.15):
        self.project, self.program, self.dims = project, program, dims
        self.tree = project.trees[program.kernel, specialisation]
        self.params = dict(specialisation.params)
        self.seed, self.special = seed, special

    def arguments(self) -> dict:
        return draw_arguments(self.program, self.dims, self.params, np.random.default_rng(self.seed), self.special)

    def interpreted(self, order: str) -> dict:
        arguments = self.arguments()
        leading = next((arguments[p.name].shape[: arguments[p.name].ndim - len(p.dims) + 1]
                        for p in self.program.parameters if p.ellipsis), ())  # fmt: skip
        dims = dict(self.dims)
        seen = {p.name: as_seen(p, arguments[p.name], leading) for p in self.program.parameters}
        for p in self.program.parameters:
            if p.ellipsis:
                dims["size" if len(p.dims) == 1 else "rows"] = int(np.prod(leading))
        seen |= draw_scratch(self.program, dims, self.params, sum(order.encode()))
        for p in (*self.program.parameters, *self.program.temps):
            if p.fill:
                seen[p.name][...] = fill_value(p.fill, p.stored)
        interpret.run(self.tree, seen, {s: dims[s] for s in self.tree.symbols}, order, seed=self.seed)
        for p in self.program.parameters:
            if p.writable and p.ellipsis:
                arguments[p.name][...] = seen[p.name].reshape(arguments[p.name].shape)
        return self.outputs(arguments)

    def compiled(self, target: str, threads: int) -> dict:
        arguments = self.arguments()
        self.project.call(self.program.kernel, target, threads, arguments, self.params)
        return self.outputs(arguments)

    def allocated(self, target: str) -> dict | None:
        """The same without giving the outputs; None where one is not defined then."""
        outs = [p for p in self.program.parameters if p.role == "out"]
        if not outs or not all(p.fill for p in outs):
            return None
        arguments = self.arguments()
        for p in outs:
            del arguments[p.name]
        made = self.project.call(self.program.kernel, target, 1, arguments, self.params)
        made = dict(zip((p.name for p in outs), made if len(outs) > 1 else (made,)))
        return self.outputs({**arguments, **made})

    def trimmed(self, outputs: dict) -> dict:
        """As a call gives those that it makes: `<= n: count` no longer than the count says."""
        counts = {p.name: p.written.rpartition(": ")[2] for p in self.program.parameters if p.written.startswith("<=")}
        return outputs | {name: outputs[name][: int(outputs[count])] for name, count in counts.items()}

    def outputs(self, arguments: dict) -> dict:
        return {p.name: arguments[p.name] for p in self.program.parameters if p.writable}

    def agree(self, got: dict, wanted: dict, who: str, exact: bool | str = True) -> None:
        """exact: to the bit; or ("sums") but for listed functions that round, or (False) for sums that round, too."""
        got, wanted = (in_order(self.program.unordered, found) for found in (got, wanted))
        for name in wanted:
            loose = None if exact is True else self.program.loose.get(name)
            if exact == "sums" and loose and loose[0] == "sum":
                loose = None
            dims = self.dims | self.params
            found = difference(got[name], wanted[name], loose, lambda n: got[n], dims, signs=not self.program.is_freed)
            if found:
                raise Disagreement(f"{who}: `{name}` with {self.dims} {self.params} seed {self.seed}: {found}")


def check_program(project: Batch, program, draws: int = 4, large: bool = True) -> int:
    """Raises Disagreement at the first pair of runs that differ; the number of comparisons otherwise."""
    count = 0
    rng = np.random.default_rng(program.seed)
    for (name, specialisation), tree in project.trees.items():
        if name != program.kernel:
            continue
        free = contracted(tree) and not program.is_freed
        for number in range(draws):
            dims = draw_sizes(program, rng, long=number == draws - 1, deep=number == draws - 2)
            trial = Trial(
                project, program, specialisation, dims, int(rng.integers(2**31)), (0.15, 0.0, 0.4)[number % 3]
            )
            wanted = trial.interpreted("forward")
            for order in ("reverse", "random"):
                trial.agree(trial.interpreted(order), wanted, f"interpreter, {order} against forward")
            ways = [(target, 1) for target in LEVELS] + ([(BOUNDS, 1)] if project.bounds else [])
            for target, threads in ways if not free else ():
                trial.agree(trial.compiled(target, threads), wanted, f"{target} against the interpreter", exact=False)
                count += 1
            if not free and (made := trial.allocated(LEVELS[1])):
                trial.agree(made, trial.trimmed(wanted), "outputs that the call makes", exact=False)
            count += check_aliases(trial, tree)
        if large:
            dims = large_sizes(program, draw_sizes(program, rng))
            trial = Trial(project, program, specialisation, dims, int(rng.integers(2**31)))
            alone = trial.compiled(LEVELS[1], 1)
            for threads in (2, 3):
                trial.agree(trial.compiled(LEVELS[1], threads), alone, f"{threads} threads against 1")
                count += 1
            if not free:
                trial.agree(trial.compiled(LEVELS[0], 2), alone, f"{LEVELS[0]} against {LEVELS[1]}", exact="sums")
                count += 1
    return count


def check_aliases(trial: Trial, tree: t.KernelTree) -> int:
    """Where the analysis says that an output may be the view of an input, a call with one array for both computes
    what it computes with two."""
    for written, other in sorted(tree.aliases)[:2]:
        apart, together = trial.arguments(), trial.arguments()
        if apart[other].shape != apart[written].shape or not apart[other].flags.c_contiguous:
            continue
        apart[written][...] = apart[other]
        together[written] = together[other]
        for arguments in (apart, together):
            trial.project.call(trial.program.kernel, LEVELS[1], 1, arguments, trial.params)
        wanted, got = ({written: arguments[written]} for arguments in (apart, together))
        trial.agree(got, wanted, f"`{written}` as the view `{other}`")
    return min(2, len(tree.aliases))


def check_faults(project: Batch, program, draws: int = 12) -> tuple[int, int]:
    """(how many calls were in range, how many not): compiled code raises where the interpreter does, with all
    indices checked and with those that are not proved."""
    rng, counts = np.random.default_rng(program.seed), [0, 0]
    for (name, specialisation), _ in project.trees.items():
        for _ in range(draws if name == program.kernel else 0):
            dims = draw_sizes(program, rng)
            trial = Trial(project, program, specialisation, dims, int(rng.integers(2**31)))
            outcomes = []
            for target in ("", BOUNDS, LEVELS[1]):
                try:
                    outcomes.append(trial.compiled(target, 1) if target else trial.interpreted("forward"))
                except IndexError as error:
                    outcomes.append(re.sub(r"(:\d+):\d+: index", r"\1: index", str(error)))  # file and line
            wanted, *others = outcomes
            for got in others:
                if isinstance(wanted, str) or isinstance(got, str):
                    if wanted != got:
                        raise Disagreement(f"faults: with {dims} seed {trial.seed}: {got} against {wanted}")
                else:
                    trial.agree(got, wanted, "in range, with checks", exact=False)
            counts[isinstance(wanted, str)] += 1
    return tuple(counts)


def check_positions(project: Batch, program) -> None:
    """An element's bits depend on its inputs alone: rolling the inputs rolls the outputs, shorter arrays are a part."""
    for (name, specialisation), _ in project.trees.items():
        if name != program.kernel:
            continue
        trial = Trial(project, program, specialisation, {"n": 1003}, program.seed)
        for target in LEVELS:
            whole = trial.compiled(target, 1)
            for start, stop in ((1, 1003), (0, 37), (5, 6), (998, 1003), (3, 770)):
                arguments = trial.arguments()
                for p in program.parameters:
                    if "n" in (p.dims or ()):
                        taken = arguments[p.name][
                            tuple(slice(start, stop) if d == "n" else slice(None) for d in p.dims)
                        ]
                        arguments[p.name] = taken.copy() if p.layout == "C" else taken
                project.call(name, target, 1, arguments, trial.params)
                part = {k: v[start:stop] for k, v in whole.items()}
                trial.agree(trial.outputs(arguments), part, f"{target}, elements {start} to {stop} alone")


def contracted(tree: t.KernelTree) -> bool:
    """May this target round a product and a sum once where another rounds twice?"""
    if not tree.fastmath:
        return False
    nodes = [node for part in (*tree.body, *(s for h in tree.helpers for s in h.body)) for node in t.walk(part)]
    floats = [n for n in nodes if isinstance(n, t.Binary) and n.type.startswith(("float", "complex"))]
    return any(n.op in "*/%//" for n in floats)


def large_sizes(program, dims: dict, elements: int = 100_000) -> dict:
    """The same with enough work for several slices."""
    main = [d for d in program.main if d in dims and d != "k"]
    if not main:
        return dims
    fixed = int(np.prod([extent_of(d, dims, {"TILE": 4}) for d in program.main if d not in main] or [1]))
    each = max(2, int((elements / max(fixed, 1)) ** (1 / len(main))))
    others = {d: min(n, 4) for d, n in dims.items() if d not in main}
    square = sum(
        len([d for d in p.dims if d in main]) > len(set(d for d in p.dims if d in main))
        for p in program.parameters
        if p.dims
    )
    if square or program.has_row_sums:
        each = min(each, 1500)
    return {**dims, **others, **{d: each + k for k, d in enumerate(main)}}


def difference(got, wanted, loose, other, dims, signs: bool = True) -> str | None:
    """Where two outputs differ, in words; NaN payloads and signs do not count, and those of zeros where signs is False."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{got.shape} against {wanted.dtype}{wanted.shape}"
    got, wanted = got.ravel(), wanted.ravel()
    if got.dtype.name in STORED:
        got, wanted = got.astype(np.float32), wanted.astype(np.float32)
    if loose and loose[0] == "complex":
        with np.errstate(all="ignore"):
            same = within_complex(got, wanted, loose[1])
    elif got.dtype.kind == "c":
        got, wanted = (np.ascontiguousarray(a).view(a.real.dtype) for a in (got, wanted))
    if not (loose and loose[0] == "complex"):
        same = same_bits(got, wanted, loose, other, dims, signs)
    if same.all():
        return None
    where = np.flatnonzero(~same)
    return f"{where.size} of {got.size} differ, first {where[:4]}: {got[where[:4]]} against {wanted[where[:4]]}"


def same_bits(got, wanted, loose, other, dims, signs):
    with np.errstate(all="ignore"):
        same = got == wanted
        if got.dtype.kind == "f":
            if signs:
                same &= np.signbit(got) == np.signbit(wanted)
            same |= np.isnan(got) & np.isnan(wanted)
            if loose and loose[0] == "ulp":
                same |= np.abs(got - wanted) <= ULPS * np.spacing(np.minimum(np.abs(got), np.abs(wanted)))
            elif loose:
                terms = max(extent_of(loose[2], dims, {}), 1)
                roundings = 8 + np.log2(terms) if loose[0] == "sum" else 8 + terms
                same |= within_bound(got, wanted, np.asarray(other(loose[1])).ravel(), roundings)
    return same


def in_order(groups: list[tuple[str, ...]], outputs: dict) -> dict:
    """The outputs, those that come permuted sorted by their bits, a group together."""
    found = dict(outputs)
    present = [[name for name in names if name in outputs] for names in groups]  # of some calls one output is looked at
    for group in filter(None, present):
        count, columns = min(len(outputs[name]) for name in group), []  # one alone may be as long as what was written
        for name in group if count else ():
            real = outputs[name][:count]
            real = real.view(real.real.dtype).reshape(count, 2) if real.dtype.kind == "c" else real
            real = np.where(real != real, np.array(np.nan, real.dtype), real) if real.dtype.kind in "fV" else real
            bits = np.ascontiguousarray(real).view(f"u{real.dtype.itemsize}").reshape(count, -1)
            columns += list(bits.T)
        if columns:
            order = np.lexsort(columns)
            found |= {name: np.concatenate([outputs[name][:count][order], outputs[name][count:]]) for name in group}
    return found


def within_complex(got, wanted, function: str):
    """Parts near one another, as the size of the number allows, and of the same kind."""
    info, size = np.finfo(got.real.dtype), np.abs(wanted)
    if function == "log":  # near 1 it cancels
        size = np.maximum(size, 1)
    bound = (4000 if function == "**" else 64) * (info.eps * size + info.smallest_subnormal)
    same = np.ones(got.shape, bool)
    for a, b in ((got.real, wanted.real), (got.imag, wanted.imag)):
        large = (np.abs(a) > 0.99 * info.max) & (np.abs(b) > 0.99 * info.max)
        same &= (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= bound) | large
    return same


def within_bound(got, wanted, sizes, roundings: float):
    """Two sums that each are within so many roundings of the exact one, relative to their terms' sizes."""
    unit = np.finfo(got.dtype).eps / 2
    bound = 2 * roundings * unit * sizes.astype(np.float64)
    return (np.abs(got.astype(np.float64) - wanted) <= bound) | ~np.isfinite(sizes.astype(got.dtype))
