"""What a target is, and what travels to and from it: a job for one specialisation, an answer with its artifacts.

A target has one name for each thing that code is made for (`cpu:x86-64-v3`, `cpu:native`); they begin with the name of
the backend that runs them. Everything shared asks this interface, and no table elsewhere knows a target's name.
"""

from __future__ import annotations

import os
import pickle
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Mapping

from ..artifact.remedies import not_installed
from ..artifact.signature import DTYPES
from ..cache.files import read_file
from ..cache.keys import canonical
from ..cache.writer import make_folders, replace_file
from ..declare.model import Kernel, Rendered, Specialisation
from ..errors import CompilationError, CompilerNotInstalledError
from . import tools
from .listing import Listing, Remark, of_text

if TYPE_CHECKING:
    from ..ir.tree import KernelTree
    from .machine_code import Costs

BOUNDS = "+bounds"  # behind a target's name: with every index checked


@dataclass(frozen=True)
class Job:
    """Make these targets of one specialisation, all of one backend and rendered alike: they share their source."""

    kernel: Kernel
    specialisation: Specialisation
    rendered: Rendered
    targets: tuple[str, ...]  # with `+bounds`, where that is meant
    folder: str  # where its rendered sources go
    linker: str = ""  # empty: LLD of the ziglang wheel
    debug_info: bool = False  # with tables of the user's lines, and names
    tree: bytes = b""  # the typed tree, pickled; empty: it is still to be made

    @property
    def backend(self) -> str:
        return backend_of(self.targets[0])

    def write(self, suffix: str, text: str) -> str:
        """Keep a source of the job's as a file, so that messages and debuggers can point there; returns its path.

        Written only if it says something else. May raise OSError."""
        label = f"{self.specialisation}.avx512" if self.rendered.avx512 else str(self.specialisation)
        path = os.path.join(self.folder, self.kernel.name, f"{label}{suffix}")
        data = text.encode()
        try:
            if read_file(path) == data:
                return path
        except FileNotFoundError:
            make_folders(os.path.dirname(path))
        replace_file(path, data, sync=False)
        return path

    def from_root(self, path: str) -> str:
        """The path of a file of the user's from the folder of kernels.yaml, with forward slashes: what artifacts may
        name."""
        return os.path.relpath(path, os.path.dirname(self.kernel.at.path) or ".").replace(os.sep, "/")

    def __str__(self) -> str:
        return f"{self.kernel.name} {self.specialisation}"


@dataclass(frozen=True)
class Artifact:
    """Compiled bytes and what the manifest says about them."""

    data: bytes
    suffix: str
    meta: dict[str, Any]
    seconds: float  # of its own part: code generation and link


@dataclass(frozen=True)
class Answer:
    """What became of a job: artifacts by target, failures by target (`""`: of every one), times by phase."""

    artifacts: dict[str, Artifact] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    aliases: tuple[tuple[str, str], ...] = ()
    phases: dict[str, float] = field(default_factory=dict)


class Clock:
    """Seconds by phase; each `tick` ends one."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._last = perf_counter()

    def tick(self, phase: str) -> None:
        now = perf_counter()
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self._last
        self._last = now


class Inspection(ABC):
    """One specialisation for one target, opened to be looked at. Each part of it is made when it is first asked for,
    once, and as `Target.compile` makes it. All raise DeclarationError, CompilationError, CompilerNotInstalledError."""

    job: Job

    @abstractmethod
    def answer(self) -> Answer:
        """What `compile` gives."""

    @property
    def made(self) -> Artifact:
        (name,) = self.job.targets
        answer = self.answer()
        if reason := answer.failures.get(name) or answer.failures.get(""):
            raise CompilationError(reason)
        return answer.artifacts[name]

    @cached_property
    def tree(self) -> KernelTree:
        """The typed tree; a raw kernel has none."""
        return checked_tree(self.job)

    def listing(self, stage: str) -> Listing:
        """One of the target's `stages`."""
        raise NotImplementedError(f"there is no listing of {stage}")

    def remarks(self) -> tuple[Remark, ...]:
        """What was made of the parts of a kernel, and what they cost, in the terms of the kernel."""
        return ()

    def costs(self) -> Costs:
        """What the loops of its machine code consist of, and what a launch of it takes."""
        from .machine_code import Costs

        return Costs(notes=("nothing is known of its machine code, which the driver makes",))


def checked_tree(job: Job) -> KernelTree:
    """The typed tree of a job. Raises DeclarationError."""
    from ..analysis.races import check  # here, because a plan of what is all there needs none of the tree
    from ..frontend.build import build_tree

    if job.tree:
        tree: KernelTree = pickle.loads(job.tree)
        return tree
    return check(build_tree(job.kernel, job.specialisation, job.rendered))


class Target(ABC):
    """What code is made for under one backend's name. A subclass states the attributes, and overrides what differs.

    Making one, and everything but `compile`, imports no compiler: a plan asks it.
    """

    name: ClassVar[str]  # the backend's: what stands before the colon
    default: ClassVar[str]  # what the bare name means
    pattern: ClassVar[str]  # a regular expression of its names, as JSON Schema understands it
    examples: ClassVar[tuple[str, ...]]  # names to suggest
    by_default: ClassVar[tuple[str, ...]] = ()  # names that are built where a declaration says nothing
    expected: ClassVar[str] = ""  # how its names are written; empty: the nearest example says it
    dtypes: ClassVar[frozenset[str]] = frozenset(DTYPES)  # of arrays and scalars
    scalars: ClassVar[frozenset[str]] = frozenset()  # those of them that no array has
    raw: ClassVar[str] = ""  # the module whose use marks a body as this target's own Python; empty: it takes none
    comments: ClassVar[Mapping[str, str]] = {}  # suffix of artifacts that are text → what begins a comment there
    has_bounds: ClassVar[bool] = False  # whether it can check every index (`--bounds`)
    has_blocks: ClassVar[bool] = False  # whether it runs blocks of threads, as a declaration's `launch` says
    has_debug_info: ClassVar[bool] = False  # whether its artifacts can have tables of lines (`--debug-info`)
    # Kinds of cases of `check` in which it may not keep floats as the language has them → what it may lose there.
    loses: ClassVar[Mapping[str, str]] = {}
    stages: ClassVar[Mapping[str, str]] = {}  # what `inspect` has listings of → what that is
    # folders beside that of its module whose code reaches its artifacts too
    beside: ClassVar[tuple[str, ...]] = ()
    # distributions whose version reaches the artifacts; of several names the installed one counts
    distributions: ClassVar[Mapping[str, tuple[str, ...]]]

    @abstractmethod
    def compile(self, job: Job, clock: Clock) -> Answer:
        """Make every target of the job from its typed tree or raw source.

        Raises DeclarationError, CompilationError where none can be made, CompilerNotInstalledError; what fails for
        one of them alone is among the answer's failures.
        """

    def inspect(self, job: Job) -> Inspection:
        """A job with one target, opened to be looked at."""
        return _Compiled(self, job)

    def disassembled(self, data: bytes, suffix: str) -> Listing:
        """The instructions of an artifact as it was built, with the lines of its own table of lines, if it has one.
        Raises CompilationError, CompilerNotInstalledError."""
        if suffix not in self.comments:
            raise CompilationError(f"nothing here reads what is in {suffix} files of '{self.name}'")
        return of_text(data.decode(errors="replace"), ())

    @abstractmethod
    def missing(self) -> str:
        """What is to be installed before anything can be compiled; empty where nothing is missing."""

    def refusal(self, kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> str:
        """Why it can have no artifact of this specialisation at all; empty if it can."""
        if rendered.raw and rendered.raw != self.raw:
            return f"a body of {rendered.raw}. is for another backend"
        types = dict(specialisation.types)
        lacking = {types.get(p.dtype, p.dtype) for p in kernel.signature.parameters} - self.dtypes
        if lacking:
            return f"{', '.join(sorted(lacking))} cannot be had on '{self.name}'"
        wide = {types.get(p.dtype, p.dtype) for p in kernel.signature.parameters if p.is_array} & self.scalars
        return f"arrays of {', '.join(sorted(wide))} cannot be had on '{self.name}'" if wide else ""

    def lacks(self, target: str) -> str:
        """Why the installed tools cannot make this one of its targets, all that `missing` says apart; empty if they
        can."""
        return ""

    def check(self, kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> None:
        """Raise DeclarationError for what is wrong for this target in a declaration, before anything is compiled."""
        if self.has_blocks and "block" in kernel.launch:
            from .geometry import block_of  # here, because a plan of what is all there needs none of the tree

            block_of(kernel.launch, dict(specialisation.params), kernel.positions["launch.block"])

    def meant(self, text: str) -> str:
        """The name of its own that others have another word for: "cpu:x86-64-v3" for "avx2". Empty: none."""
        return ""

    def has_avx512(self, target: str) -> bool:
        """Whether every processor that one of its targets is for has AVX-512, which templates may choose by."""
        return False

    def fields(self, kernel: Kernel, target: str) -> dict[str, str]:
        """What enters the key of an artifact besides what does for every target."""
        return {"flag launch": canonical(kernel.launch)} if self.has_blocks else {}

    def tools(self, linker: str = "") -> dict[str, str]:
        """Tool → version, of all that it really uses. `linker`: the setting."""
        return {tool: tools.package_version(*names) for tool, names in self.distributions.items()}

    def needs(self, target: str, meta: Mapping[str, Any]) -> tuple[str, ...]:
        """What an artifact for one of its targets wants of the processor or device that runs it, in a word each; meta:
        what the manifest says of it."""
        return tuple(map(str, meta.get("features", ())))

    def platforms(self, target: str) -> tuple[str, ...]:
        """The platform tags of wheels that may hold artifacts for one of its targets; none: any wheel may."""
        return ()

    def code(self) -> tuple[str, ...]:
        """The folders, as absolute paths, with the code that reaches its artifacts, but for what all targets share."""
        own = os.path.dirname(os.path.abspath(sys.modules[type(self).__module__].__file__ or ""))
        return (own, *(os.path.join(os.path.dirname(own), name) for name in self.beside))


class Staged(Target):
    """One that shows its stages: what it compiles can be looked at on its way."""

    extra: ClassVar[str] = "build"  # of ours: it brings the packages that its compiler imports

    @abstractmethod
    def compilation(self, job: Job, clock: Clock) -> Inspection:
        """A job, each step of which is done when it is first asked for."""

    def compile(self, job: Job, clock: Clock) -> Answer:
        return self._begun(job, clock).answer()

    def inspect(self, job: Job) -> Inspection:
        return self._begun(job, Clock())

    def _begun(self, job: Job, clock: Clock) -> Inspection:
        try:
            return self.compilation(job, clock)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("pydotcompute"):
                raise
            raise CompilerNotInstalledError(not_installed("building", error.name, self.extra)) from None


@dataclass
class _Compiled(Inspection):
    """Of a target that shows no stages."""

    target: Target
    job: Job

    @cached_property
    def _answer(self) -> Answer:
        return self.target.compile(self.job, Clock())

    def answer(self) -> Answer:
        return self._answer


def backend_of(target: str) -> str:
    """The backend that a target's name begins with."""
    return target.partition(":")[0]
