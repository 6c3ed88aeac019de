"""What of a project is to be checked, and what of it cannot be."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence

from ..artifact.remedies import install
from ..artifact.targets import backend_of
from ..builder.plan import Name
from ..declare.model import Declaration, Kernel, Specialisation
from ..declare.rendering import render
from ..errors import DeclarationError
from ..runtime.library import KernelLibrary
from ..targets.base import BOUNDS
from ..targets.registry import get, raw_modules
from .isolate import Unit
from .verdict import Failure, Verdict, build_command, check_command

VENDOR = ":vendor"


class Selection(NamedTuple):
    """What is asked for; `kernels` and `targets` empty: everything."""

    root: str
    declaration: Declaration
    built: KernelLibrary
    stale: dict[Name, str]
    kernels: Sequence[str]
    targets: Sequence[str]
    specialisation: str | None
    seed: int

    def all(self) -> Iterator[Unit | Verdict]:
        """Units to check, and verdicts on what is asked for and cannot be checked."""
        for name in self.kernels or self.declaration.kernels:
            kernel = self.declaration.kernels[name]
            for chosen in kernel.specialisations:
                if self.specialisation in (None, str(chosen)):
                    yield from self._one(kernel, chosen, built_for(self.built, name, str(chosen)))

    def _one(self, kernel: Kernel, chosen: Specialisation, found: tuple[str, ...]) -> Iterator[Unit | Verdict]:
        name = (kernel.name, str(chosen))
        current = [target for target in found if (*name, target) not in self.stale]
        wanted = [target for target in found if self._asked(target)]
        for target in wanted:
            if target not in current:
                yield self._stale(kernel, chosen, target)
        vendors = dict.fromkeys(vendor_of(t) for t in current) if kernel.vendor else ()
        run = [t for t in wanted if t in current] + [v for v in vendors if not self.targets or v in self.targets]
        if run and (lacking := _lacks(kernel, chosen)):
            yield from (Verdict(*name, target, 0, 0.0, (), lacking) for target in run)
        elif run:
            yield Unit(kernel, chosen, tuple(run))
        reached = {*run, *wanted, *(target.removesuffix(BOUNDS) for target in wanted)}
        for target in self.targets or [""] * (not found):
            if target in reached:
                continue
            if not target.endswith(VENDOR):
                command = build_command(self.root, self.declaration, kernel.name, target=target)
                why = self._refusal(kernel, chosen, target) or f"not built; run: {command}"
                yield Verdict(*name, target, 0, 0.0, (), why)
            elif kernel.vendor:
                yield Verdict(*name, target, 0, 0.0, (), "its artifacts are not built, or out of date")
            elif self.kernels:
                yield Verdict(*name, target, 0, 0.0, (), "no call of it goes to a vendor's function")

    def _refusal(self, kernel: Kernel, chosen: Specialisation, target: str) -> str:
        """Why no build makes it for this target; empty where one may, or says what is wrong with the declaration."""
        if not target:
            return ""
        try:
            rendered = render(kernel, chosen, backend_of(target), self.root, raw_modules())
        except DeclarationError:
            return ""
        return get(target).refusal(kernel, chosen, rendered)

    def _asked(self, target: str) -> bool:
        return not self.targets or target in self.targets or target.removesuffix(BOUNDS) in self.targets

    def _stale(self, kernel: Kernel, chosen: Specialisation, target: str) -> Verdict:
        reason = self.stale[kernel.name, str(chosen), target]
        build = build_command(self.root, self.declaration, kernel.name, target=target)
        again = check_command(self.root, kernel, chosen, target)
        what = f"the artifact is out of date ({reason}); run: {build}"
        failure = Failure("-", self.seed, what, again, f"out of date: {reason}", "", (0.0, 0.0, 0.0), kernel.at)
        return Verdict(kernel.name, str(chosen), target, 0, 0.0, (failure,), "")

    def unbounded(self, units: Sequence[Unit]) -> Iterator[Verdict]:
        """One for all kernels of these that are built for a CPU, and not with checked indices."""
        names = dict.fromkeys(
            unit.kernel.name for unit in units
            if any(get(t).has_bounds for t in unit.targets) and not any(t.endswith(BOUNDS) for t in unit.targets)
        )  # fmt: skip
        if names:
            few = tuple(names) if self.kernels or len(names) <= 3 else ()
            command = build_command(self.root, self.declaration, *few, target=BOUNDS)
            which = ", ".join(few) or f"{len(names)} kernels"  # more than three
            yield Verdict("", "", BOUNDS, 0, 0.0, (), f"not built for {which}; run: {command}")


def _lacks(kernel: Kernel, chosen: Specialisation) -> str:
    """Why there can be no arrays to check it with; empty if there can."""
    types = dict(chosen.types)
    if all(types.get(p.dtype, p.dtype) != "bfloat16" for p in kernel.signature.parameters):
        return ""
    try:
        import ml_dtypes  # noqa: F401  # whose dtype NumPy knows from then on
    except ImportError:
        return f"arrays of bfloat16 need ml_dtypes, which is not installed: {install('bfloat16', 'ml_dtypes')}"
    return ""


def vendor_of(target: str) -> str:
    """The target that stands for the calls which go to the vendor's functions of this backend."""
    return target.partition(":")[0] + VENDOR


def built_for(built: KernelLibrary, kernel: str, specialisation: str) -> tuple[str, ...]:
    """The targets that this specialisation is built for."""
    if kernel not in built:
        return ()
    return next((s.targets for s in built[kernel].specializations if s.name == specialisation), ())
