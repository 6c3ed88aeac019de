"""Running the cases: every built artifact against its reference and the interpreter, failures as values."""

from __future__ import annotations

import warnings
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from .. import declare
from ..declare.model import Declaration, Kernel, Specialisation
from ..lower import tree
from ..lower.frontend import build_tree
from ..runtime.library import KernelLibrary, load
from . import draw, measure, sizes

INTERPRETED = 4200  # elements at most for which the interpreter is asked
SEEDS = 1000  # apart: the seeds of two cases of one artifact


class Failure(NamedTuple):
    """One way in which one case of one artifact does not hold."""

    kernel: str
    specialisation: str
    target: str
    case: str  # "n=17", with " strided" or " special"
    seed: int
    what: str  # one line
    command: str  # repeats just this case

    def __str__(self) -> str:
        return (
            f"{self.kernel} {self.specialisation} {self.target}: {self.case}, seed {self.seed}: {self.what}\n"
            f"  repeat: {self.command}"
        )


class Verdict(NamedTuple):
    """One artifact: how many cases ran, what failed, or why it was not run."""

    kernel: str
    specialisation: str
    target: str
    cases: int
    worst: float  # the largest error over its tolerance
    failures: tuple[Failure, ...]
    not_run: str


def check(
    root: str, kernels: Sequence[str] = (), targets: Sequence[str] = (), *, seed: int = 0, only: str | None = None
) -> Iterator[Verdict]:
    """Hold every built artifact of these kernels (default: all) and targets (default: all) to its reference.

    Builds nothing. `only` is one case as a failure prints it. Raises DeclarationError; KernelNotBuiltError where
    nothing is built.
    """
    declaration = declare.load(root)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is stale is the build's matter; `build --check` says it
        built = load(root)
    for name in kernels or declaration.kernels:
        kernel = declaration.kernels[name]
        for specialisation in kernel.specialisations:
            if name not in built:
                yield Verdict(name, str(specialisation), "", 0, 0.0, (), "not built")
                continue
            record = next((s for s in built[name].specializations if s.name == str(specialisation)), None)
            for target in record.targets if record else ():
                if not targets or target in targets or target.removesuffix("+bounds") in targets:
                    yield _artifact(declaration, kernel, specialisation, target, seed, only)


def _artifact(
    declaration: Declaration, kernel: Kernel, specialisation: Specialisation, target: str, seed: int, only: str | None
) -> Verdict:
    library = load(declaration.root, target=target)
    failures, count, worst = [], 0, 0.0
    sums = _has_float_sum(kernel, specialisation, declaration.root)
    for number, (dims, kind) in enumerate(_cases(kernel, specialisation, seed)):
        case_seed = seed * SEEDS + number
        label = ",".join(f"{k}={v}" for k, v in dims.items()) + (f" {kind}" if kind else "")
        if only is not None and only != label:
            continue
        rng = np.random.default_rng(case_seed)
        special = ("small" if sums else "all") if kind == "special" else ""
        case = draw.draw(
            kernel, specialisation, dims, rng, declaration.root, special=special, strided=kind == "strided"
        )
        if count == 0:
            reason = _cannot_run(library, target, kernel, specialisation, case)
            if reason:
                return Verdict(kernel.name, str(specialisation), target, 0, 0.0, (), reason)
        count += 1
        for what, error in _case(library, declaration, kernel, specialisation, case, kind):
            worst = max(worst, error)
            if what:
                command = (
                    f"pydotcompute check {kernel.name} -C {declaration.root} -t {target} --seed {seed} --case '{label}'"
                )
                failures.append(
                    Failure(kernel.name, str(specialisation), target, label, seed, what, command)
                )
    return Verdict(kernel.name, str(specialisation), target, count, worst, tuple(failures), "")


def _cases(kernel: Kernel, specialisation: Specialisation, seed: int) -> Iterator[tuple[dict[str, int], str]]:
    """Sizes and the kind of each case: as declared, with special values, with views that are not contiguous."""
    floats = any(p.is_array and p.role != "out" for p in kernel.signature.parameters)
    loose = any(p.layout != "C" for p in kernel.signature.parameters)
    for number, dims in enumerate(sizes.cases(kernel, specialisation, seed)):
        yield dims, ""
        if loose:
            yield dims, "strided"
        if floats and number % 3 == 0 and 0 < _elements(dims) <= INTERPRETED:
            yield dims, "special"


def _has_float_sum(kernel: Kernel, specialisation: Specialisation, root: str) -> bool:
    """Whether the kernel adds up or multiplies floats, in any loop: then an overflow may depend on the order."""
    rendered = declare.render(kernel, specialisation, "python", root)
    if rendered.raw:
        return True
    return any(
        isinstance(node, tree.Accumulate) and node.op in ("sum", "prod") and node.value.type.startswith(("f", "c"))
        for statement in build_tree(kernel, specialisation, rendered).body
        for node in tree.walk(statement)
    )


def _elements(dims: dict[str, int]) -> int:
    return int(np.prod([float(n) for n in dims.values()]))


def _cannot_run(library: KernelLibrary, target: str, kernel: Kernel, specialisation: Specialisation, case: draw.Case) -> str:
    which = library[kernel.name].which(**case.arguments, **case.outputs, **dict(specialisation.params))
    return "" if which.artifact else "; ".join(
        r.reason for r in which.rejected if r.specialization == which.specialization and r.target == target
    )


def _case(
    library: KernelLibrary, declaration: Declaration, kernel: Kernel, specialisation: Specialisation,
    case: draw.Case, kind: str,
) -> Iterator[tuple[str, float]]:  # fmt: skip
    """(what is wrong or "", error over tolerance) for everything that is looked at in one case."""
    before = {name: _copy(value) for name, value in case.arguments.items()}
    params = dict(specialisation.params)
    call = library[kernel.name]
    try:
        call(**case.arguments, **case.outputs, **params)
    except Exception as error:  # whatever a call raises is the finding
        yield f"the call raised {type(error).__name__}: {error}", np.inf
        return
    written = {p.name: {**case.arguments, **case.outputs}[p.name] for p in kernel.signature.parameters if p.writable}
    for name, buffer in case.buffers.items():
        if changed := draw.overrun(written[name], buffer):
            yield f"'{name}': {changed} bytes outside the array were written", np.inf
    for p in kernel.signature.outputs:
        if (missing := draw.unwritten(written[p.name])) and written[p.name].dtype.itemsize > 1:
            yield f"'{p.name}': {missing} elements were not written", np.inf
    integers = any(array.dtype.kind in "biu" for array in written.values())
    if _elements(case.dims) <= INTERPRETED and (integers or kind or kernel.reference is None or _elements(case.dims) < 600):
        yield from _against_interpreter(call, kernel, before, written, params, kind)
    if kernel.reference is not None and kind != "special":
        yield from _against_reference(declaration, kernel, specialisation, case, before, written)


def _against_interpreter(call, kernel: Kernel, before, written, params, kind: str) -> Iterator[tuple[str, float]]:
    for order in ("forward", "reverse", "random"):
        again = {name: _copy(value) for name, value in before.items()}
        outputs = {p.name: np.zeros_like(written[p.name]) for p in kernel.signature.outputs}
        try:
            call.python(**again, **outputs, **params, order=order)
        except Exception as error:
            yield f"the interpreter raised {type(error).__name__}: {error}", np.inf
            return
        expected = {p.name: {**again, **outputs}[p.name] for p in kernel.signature.parameters if p.writable}
        for name, got in written.items():
            yield _compared(kernel, name, got, expected[name], f"the interpreter ({order})")


def _against_reference(declaration, kernel, specialisation, case, before, written) -> Iterator[tuple[str, float]]:
    values = evaluate(declaration, kernel, specialisation, case.dims, before)
    for (name, got), wanted in zip(written.items(), values, strict=True):
        if got.dtype.kind in "biu" and _elements(case.dims) <= INTERPRETED:
            continue  # held to the interpreter, exactly
        yield _compared(kernel, name, got, wanted, "the reference")


def evaluate(
    declaration: Declaration, kernel: Kernel, specialisation: Specialisation, dims: dict[str, int], arguments: dict[str, Any]
) -> tuple[Any, ...]:
    """The reference's value for each written argument, in the order of the signature; floats are float64."""
    wide = {name: _widen(value) for name, value in arguments.items()}
    names = {**dict(specialisation.params), **sizes.complete(kernel, dims), **wide}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(kernel.reference, str) and ".py:" in kernel.reference:
            result = draw.from_file(kernel.reference, declaration.root)(**_accepted(kernel, wide, declaration.root, names))
        elif isinstance(kernel.reference, tuple):
            result = tuple(eval(text, {"np": np, **names}) for text in kernel.reference)
        else:
            result = eval(kernel.reference, {"np": np, **names})
    return result if isinstance(result, tuple) else (result,)


def _accepted(kernel: Kernel, wide: dict[str, Any], root: str, names: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, and the dimensions and params that the function asks for."""
    import inspect

    wanted = inspect.signature(draw.from_file(kernel.reference, root)).parameters
    return {**wide, **{name: value for name, value in names.items() if name in wanted}}


def _widen(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float64)
    if isinstance(value, np.ndarray) and value.dtype.kind == "c":
        return value.astype(np.complex128)
    return value


def _compared(kernel: Kernel, name: str, got: np.ndarray, wanted: Any, against: str) -> tuple[str, float]:
    allowed = measure.tolerance(kernel.tolerance, got.dtype)
    worst = measure.difference(got, np.broadcast_to(wanted, got.shape) if np.ndim(wanted) == 0 else wanted)
    if worst is None:
        return "", 0.0
    if worst.error <= allowed:
        return "", worst.error / allowed if allowed else 0.0
    place = f"{name}[{', '.join(map(str, worst.index))}]"
    return (
        f"{place} is {worst.got!r}, by {against} {worst.wanted!r}: error {worst.error:.3g}, tolerance {allowed:.3g}",
        worst.error / allowed if allowed else np.inf,
    )


def _copy(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value
