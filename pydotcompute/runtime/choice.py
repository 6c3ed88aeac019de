"""Which artifact serves a call, and why every other one does not: a value, for `which()` and for messages."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from ..artifact import remedies
from ..artifact.dimensions import Tree
from ..artifact.identity import title
from ..backends.base import Backend, Verdict
from ..backends.names import HOST
from ..cache.manifest import Artifact, KernelRecord, SpecialisationRecord, target_words
from ..cache.records import FAULTS, brief
from ..errors import KernelNotBuiltError


class Rejected(NamedTuple):
    """An artifact that would not run, and why."""

    specialization: str
    target: str
    reason: str

    def __str__(self) -> str:
        return f"{title('', self.specialization)} for {self.target}: {self.reason}".lstrip()


class Which(NamedTuple):
    """What a call would run. `artifact` is None where nothing is built that can; `missing` then says what to do."""

    kernel: str
    specialization: str
    backend: str
    artifact: Artifact | None
    rejected: tuple[Rejected, ...]
    missing: str
    vendor: str = ""  # "numpy.matmul": what serves the call instead of an artifact
    reference: str = ""  # why the kernel's declared reference serves the call
    tuned: str = ""  # of a kernel with params that are tuned: which values they have, and why

    @property
    def target(self) -> str | None:
        """The target of the artifact that would run."""
        return self.artifact.target if self.artifact else None

    @property
    def waits(self) -> bool:
        """Whether a call waits for the device, to know what to launch next or how long an output is."""
        from ..backends.program import waits

        if self.artifact is None:
            return False
        trimmed = self.backend != HOST and any(p.length for p in self.artifact.parameters)
        return trimmed or waits(self.artifact.meta.get("program", ()))

    def handed_to(self, vendor: str, when: Tree | None) -> Which:
        """The same where a vendor's function serves the call, because of the condition `when`."""
        reason = f"{vendor} is declared to be faster" + (f" where {when}" if when else "")
        passed = Rejected(self.specialization, self.target or "", reason)
        return self._replace(artifact=None, rejected=(passed, *self.rejected), vendor=vendor)

    def without(self, vendor: str, library: str) -> Which:
        """The same where a vendor's function could serve some calls, if its library were installed."""
        passed = Rejected(self.specialization, vendor, f"{library} is not installed")
        return self._replace(rejected=(*self.rejected, passed))

    def __str__(self) -> str:
        head = title(self.kernel, self.specialization)
        lines = [f"{head} runs as {self.target}: {self.artifact.path}" if self.artifact else self.missing]
        if self.tuned:
            lines.append(f"  {self.tuned}")
        if self.waits:
            lines.append("  a call waits for the device: what it computes decides what is launched next")
        if self.reference:
            lines = [f"{head}: {self.reference}"]
        if self.vendor:
            lines = [f"{head} is served by {self.vendor}"]
        return "\n".join([*lines, *(f"  not {rejected}" for rejected in self.rejected)])


def choose(
    record: KernelRecord, chosen: SpecialisationRecord, backend: Backend, pinned: str | None, place: tuple[str, str],
    refused: Mapping[str, str] = {},
) -> Which:  # fmt: skip
    """The best artifact of this specialisation that the backend runs; `pinned` is the only target allowed. place: the
    folder of the cache or bundle, and the root of the project. refused: targets whose artifacts the backend has tried
    to load, and why it could not."""
    usable, rejected = [], []
    for specialisation in record.specialisations.values():
        for artifact in specialisation.artifacts:
            rank, reason = 0, ""
            if specialisation is not chosen:
                reason = _difference(specialisation, chosen)
            elif pinned is not None and artifact.target != pinned:
                reason = f"the target {pinned} is pinned"
            elif artifact.backend != backend.name:
                hint = f"; backend='{artifact.backend}' moves it there" if backend.name == HOST else ""
                reason = f"this call runs on the backend '{backend.name}'{hint}"
            elif pinned is None and "+" in artifact.target:
                reason = "a build with checked bounds runs only where it is pinned"
            elif artifact.target in refused:
                reason = refused[artifact.target]
            else:
                rank, reason = _judged(backend, artifact)
            if reason:
                rejected.append(Rejected(specialisation.name, artifact.target, reason))
            else:
                usable.append((rank, artifact))
    usable.sort(key=lambda item: -item[0])
    best = usable[0][1] if usable else None
    lower = [
        Rejected(chosen.name, artifact.target, f"{usable[0][1].target} comes first") for _, artifact in usable[1:]
    ]
    missing = "" if best else _missing(record, chosen, backend, pinned, place, rejected)
    return Which(record.name, chosen.name, backend.name, best, (*lower, *rejected), missing)


def _judged(backend: Backend, artifact: Artifact) -> Verdict:
    """Raises KernelNotBuiltError where the backend can make nothing of what the record says of an artifact: only when
    its object is loaded is that compared with it."""
    try:
        return backend.judge(artifact)
    except FAULTS as error:
        raise KernelNotBuiltError(
            f"{artifact}: its record is damaged ({brief(error)}); {artifact.remedy}"
        ) from error


def require(which: Which) -> Artifact:
    """The chosen artifact. Raises KernelNotBuiltError with the command that makes one, if there is none."""
    if which.artifact is None:
        raise KernelNotBuiltError(which.missing)
    return which.artifact


def _difference(one: SpecialisationRecord, chosen: SpecialisationRecord) -> str:
    wanted, have = {**chosen.types, **chosen.params}, {**one.types, **one.params}
    differing = [f"{name}={wanted[name]}" for name, value in have.items() if wanted[name] != value]
    return f"the call has {', '.join(differing)}"


def _missing(
    record: KernelRecord, chosen: SpecialisationRecord, backend: Backend, pinned: str | None, place: tuple[str, str],
    rejected: list[Rejected],
) -> str:  # fmt: skip
    head = title(record.name, chosen.name)
    own = [r for r in rejected if r.specialization == chosen.name]
    unfit = "" if pinned is None else next((r.reason for r in own if r.target == pinned), backend.unfit(pinned))
    target = pinned or backend.usual_target()
    if unfit and not backend.made_for_this_machine(target):
        others = ", ".join(r.target for r in own if r.target != pinned) or "nothing"
        return f"{head} cannot run as {pinned} here: {unfit}; pin another target, or none (built besides: {others})"
    built = "; ".join(f"{r.target}: {r.reason}" for r in own) or "nothing is built"
    failed = {t: why for t, why in chosen.failed.items() if t == pinned or pinned is None and backend.owns(t)}
    if failed:
        first, *rest = failed
        why, more = failed[first], f", and for {', '.join(rest)}" if rest else ""
        declared = ", ".join(record.targets)
        again = remedies.build_again(*place, record.name + ("" if first in record.targets else f" -t {first}"))
        return (
            f"{head} is not built, because its last build failed for {first}{more}: {why} "
            f"(declared targets: {declared}; {built}); mend that, then {again}"
        )
    what = f"is built for {target} of another processor" if unfit else f"is not built for {target}"
    if pinned is None and any(r.target == target for r in own):  # what a user here would build, and it does not run
        what, target = "is built, but not so that it runs here", backend.own_target()
    return f"{head} {what} ({built}); {remedies.build_more(*place, f'{record.name} {target_words(target)}', target)}"
