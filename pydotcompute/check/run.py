"""Running the cases: every built artifact against what is expected of it, failures as values."""

from __future__ import annotations

import warnings
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from .. import declare
from ..cache import manifest
from ..declare.model import Declaration, Kernel, Specialisation
from ..errors import BackendNotAvailableError
from ..lower import tree
from ..lower.frontend import build_tree
from ..runtime.kernel import Kernel as Callable
from ..runtime.library import KernelLibrary, load
from . import draw, measure, memory, sizes
from .expected import INTERPRETED, Expected

VENDOR = ":vendor"
QUICK = 150  # elements, or what the product of all dimensions counts
SEEDS = 1000  # apart: the seeds of two cases of one artifact


class Failure(NamedTuple):
    """One way in which one case of one artifact does not hold."""

    case: str  # "n=17", with " strided", " misaligned" or " special"
    seed: int
    what: str  # one line
    command: str  # repeats just this case


class Verdict(NamedTuple):
    """One artifact: how many cases ran and what failed, or why it was not run."""

    kernel: str
    specialisation: str
    target: str  # "cpu:vendor": what other calls of the backend than those of a pinned target may go to
    cases: int
    worst: float  # the largest error over its tolerance
    failures: tuple[Failure, ...]
    not_run: str


def check(
    root: str, kernels: Sequence[str] = (), targets: Sequence[str] = (), *, seed: int = 0, only: str | None = None,
    quick: bool = False,
) -> Iterator[Verdict]:  # fmt: skip
    """Hold every built artifact of these kernels (default: all) and targets (default: all) to what is expected of it.

    Builds nothing, and refuses what a failed or unfinished build left behind: its source is no longer the one here.
    Calls that a vendor's function serves are held to the same. `only` is one case as a failure prints it; `quick`
    takes small sizes alone, and the references. Raises DeclarationError; KernelNotBuiltError where nothing is built.
    """
    declaration = declare.load(root)
    built = _load(root)
    stale = {entry[:3]: entry[3] for entry in manifest.stale_artifacts(manifest.read(*manifest.find(root)))}
    for name in kernels or declaration.kernels:
        kernel = declaration.kernels[name]
        names = {s.name: s.targets for s in built[name].specializations} if name in built else {}
        for specialisation in kernel.specialisations:
            found = names.get(str(specialisation), ())
            wanted = [t for t in found if not targets or t in targets or t.removesuffix("+bounds") in targets]
            for target in wanted:
                if reason := stale.get((name, str(specialisation), target)):
                    what = f"the artifact is stale ({reason}); run: pydotcompute build {name} -C {root}"
                    failure = Failure("-", seed, what, f"pydotcompute check {name} -C {root} -t {target}")
                    yield Verdict(name, str(specialisation), target, 0, 0.0, (failure,), "")
            wanted = [target for target in wanted if (name, str(specialisation), target) not in stale]
            if kernel.vendor:
                vendors = dict.fromkeys(target.partition(":")[0] + VENDOR for target in found)
                wanted += [vendor for vendor in vendors if not targets or vendor in targets]
            if wanted:
                yield from _specialisation(declaration, kernel, specialisation, wanted, seed, only, quick)
            elif not found:
                yield Verdict(name, str(specialisation), "", 0, 0.0, (), "not built")


def _specialisation(
    declaration: Declaration, kernel: Kernel, specialisation: Specialisation, targets: Sequence[str], seed: int,
    only: str | None, quick: bool,
) -> Iterator[Verdict]:  # fmt: skip
    root = declaration.root
    calls = {target: _load(root, None if target.endswith(VENDOR) else target)[kernel.name] for target in targets}
    reasons: dict[str, str] = {}
    counts = dict.fromkeys(targets, 0)
    worst = dict.fromkeys(targets, 0.0)
    failures: dict[str, list[Failure]] = {target: [] for target in targets}
    open_order = _leaves_rounding_open(kernel, specialisation, root)
    for number, (dims, kind) in enumerate(_cases(kernel, specialisation, seed)):
        label = ",".join(f"{k}={v}" for k, v in dims.items()) + (f" {kind}" if kind else "")
        if only is not None and only != label or quick and np.prod([float(n) for n in dims.values()]) > QUICK:
            continue
        special = ("small" if open_order else "all") if kind == "special" else ""

        def drawn() -> draw.Case:
            rng = np.random.default_rng(seed * SEEDS + number)
            looks = {"strided": kind == "strided", "misaligned": kind == "misaligned"}
            return draw.draw(kernel, specialisation, dims, rng, root, special=special, **looks)

        expected = None
        for target, call in calls.items():
            case = drawn()
            if target not in reasons:
                reasons[target] = _cannot_run(call, target, specialisation, case)
            if reasons[target] or target.endswith(VENDOR) and not _served_by_vendor(call, target, specialisation, case):
                continue
            expected = expected or Expected(declaration, kernel, specialisation, drawn(), call, quick)
            counts[target] += 1
            for what, error in _case(call, target, kernel, specialisation, case, kind, expected):
                worst[target] = max(worst[target], error)
                if what:
                    command = f"pydotcompute check {kernel.name} -C {root} -t {target} --seed {seed} --case '{label}'"
                    failures[target].append(Failure(label, seed, what, command))
    for target in targets:
        yield Verdict(
            kernel.name, str(specialisation), target, counts[target], worst[target], tuple(failures[target]),
            reasons.get(target) or ("" if counts[target] else "no case of these sizes is allowed"),
        )  # fmt: skip


def _load(root: str, target: str | None = None) -> KernelLibrary:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stale artifacts are refused one by one
        return load(root, target)


def _cases(kernel: Kernel, specialisation: Specialisation, seed: int) -> Iterator[tuple[dict[str, int], str]]:
    """Sizes and the kind of each case: as declared, with views that are not contiguous, with arrays that begin where
    no vector would, with special values."""
    arrays = any(p.is_array and p.role != "out" for p in kernel.signature.parameters)
    loose = any(p.layout != "C" for p in kernel.signature.parameters)
    for number, dims in enumerate(sizes.cases(kernel, specialisation, seed)):
        yield dims, ""
        if loose:
            yield dims, "strided"
        if arrays and number % 3 == 1:
            yield dims, "misaligned"
        if arrays and number % 3 == 0 and 0 < np.prod([float(n) for n in dims.values()]) <= INTERPRETED:
            yield dims, "special"


def _leaves_rounding_open(kernel: Kernel, specialisation: Specialisation, root: str) -> bool:
    """Whether the kernel adds up or multiplies floats in a loop, or may round a product and a sum once: then an
    overflow depends on what the language leaves open."""
    rendered = declare.render(kernel, specialisation, "python", root)
    if rendered.raw:
        return True
    built = build_tree(kernel, specialisation, rendered)
    bodies = (built.body, *(helper.body for helper in built.helpers))
    return any(
        _adds_up(node) or bool(built.fastmath) and _adds_a_product(node)
        for body in bodies for statement in body for node in tree.walk(statement)
    )  # fmt: skip


def _adds_up(node: tree.Node) -> bool:
    return isinstance(node, tree.Accumulate) and node.op in ("sum", "prod") and node.value.type.startswith(("f", "c"))


def _adds_a_product(node: tree.Node) -> bool:
    return (
        isinstance(node, tree.Binary) and node.op in "+-" and node.type.startswith(("f", "c"))
        and any(isinstance(side, tree.Binary) and side.op == "*" for side in (node.left, node.right))
    )  # fmt: skip


def _arguments(target: str, specialisation: Specialisation, case: draw.Case) -> dict[str, Any]:
    """Those of a call on the target's backend, which host arrays are brought to."""
    backend = target.partition(":")[0]
    place = {} if backend == "cpu" else {"backend": backend}
    return {**case.arguments, **case.outputs, **dict(specialisation.params), **place}


def _cannot_run(call: Callable, target: str, specialisation: Specialisation, case: draw.Case) -> str:
    if not target.startswith("cpu:") and "backend" in case.arguments:
        return "a parameter is called 'backend': a call cannot say that host arrays are to be brought to a device"
    try:
        which = call.which(**_arguments(target, specialisation, case))
    except BackendNotAvailableError as error:
        return str(error)
    if which.artifact or which.vendor:
        return ""
    own = [r.reason for r in which.rejected if r.specialization == which.specialization and r.target == target]
    return "; ".join(own) or which.missing


def _served_by_vendor(call: Callable, target: str, specialisation: Specialisation, case: draw.Case) -> bool:
    return bool(call.which(**_arguments(target, specialisation, case)).vendor)


def _takes_unaligned(call: Callable, target: str, specialisation: Specialisation, case: draw.Case) -> str:
    """What is wrong with a call whose first array is not even aligned for its type: it must be refused, and nothing
    written."""
    for name, array in case.arguments.items():
        if isinstance(array, np.ndarray) and array.size and array.dtype.alignment > 1:
            odd = memory.shifted(array, 1)
            try:
                call(**{**_arguments(target, specialisation, case), name: odd})
            except ValueError as error:
                if "aligned" not in str(error):
                    return f"'{name}' was not aligned for {array.dtype}; the call raised {error}"
                touched = [n for n, out in case.outputs.items() if memory.unwritten(out) < out.size]
                return f"'{name}' was not aligned, and the refused call wrote '{touched[0]}'" if touched else ""
            return f"'{name}' was not aligned for {array.dtype}, and not refused"
    return ""


def _case(
    call: Callable, target: str, kernel: Kernel, specialisation: Specialisation, case: draw.Case, kind: str,
    expected: Expected,
) -> Iterator[tuple[str, float]]:
    """(what is wrong or "", error over tolerance) for everything that is looked at in one case."""
    if kind == "misaligned" and (wrong := _takes_unaligned(call, target, specialisation, case)):
        yield wrong, np.inf
    try:
        call(**_arguments(target, specialisation, case))
    except Exception as error:  # whatever a call raises is the finding
        yield f"the call raised {type(error).__name__}: {error}", np.inf
        return
    both = {**case.arguments, **case.outputs}
    written = {p.name: both[p.name] for p in kernel.signature.parameters if p.writable}
    for name, buffer in case.buffers.items():
        if changed := memory.overrun(written[name], buffer):
            yield f"'{name}': {changed} bytes outside the array were written", np.inf
    for name, array in case.outputs.items():
        if array.dtype.itemsize > 1 and (missing := memory.unwritten(array)):
            yield f"'{name}': {missing} elements were not written", np.inf
    for order, values in expected.interpreted.items():
        if isinstance(values, str):
            yield f"the interpreter ({order}) raised {values}", np.inf
            continue
        for name, got in written.items():
            yield _compared(kernel, name, got, values[name], f"the interpreter ({order})")
    if kind != "special" and expected.reference:
        for (name, got), wanted in zip(written.items(), expected.reference, strict=True):
            if got.dtype.kind not in "biu" or not expected.interpreted:
                yield _compared(kernel, name, got, wanted, "the reference")


def _compared(kernel: Kernel, name: str, got: np.ndarray, wanted: Any, against: str) -> tuple[str, float]:
    allowed = measure.tolerance(kernel.tolerance, got.dtype)
    worst = measure.difference(got, np.broadcast_to(wanted, got.shape) if np.ndim(wanted) == 0 else wanted)
    if worst is None:
        return "", 0.0
    share = worst.error / allowed if allowed else worst.error
    if worst.error <= allowed:
        return "", share
    place = f"{name}[{', '.join(map(str, worst.index))}]"
    told = f"{place} is {worst.got!r}, by {against} {worst.wanted!r}: error {worst.error:.3g}, tolerance {allowed:.3g}"
    return told, share
