"""Every error that is raised on purpose; the run half and the build half share them."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """A place in a file of the user's. `line` and `column` count from 1; `text` is the source line itself. `place` is
    the line and column in the text that was rendered from there, if any was: it does not move when the file does.
    `caller`: of what stands in a helper, and in the tree in the place of its call: where the kernel calls it."""

    path: str
    line: int
    column: int
    text: str = ""
    place: tuple[int, int] = (0, 0)
    caller: Position | None = None


class DeclarationError(ValueError):
    """A mistake in kernels.yaml or in a template: where it stands, what is wrong, what to do.

    `str(error)` is what the command line prints: `path:line:column: message`, the source line with a mark
    under it, and the hint.
    """

    def __init__(self, message: str, at: Position | None = None, hint: str = ""):
        super().__init__(message, at, hint)  # all three, so that a worker process can send it
        self.message, self.at, self.hint = message, at, hint

    def __str__(self) -> str:
        if self.at is None:
            return self.message + (f"\n  {self.hint}" if self.hint else "")
        lines = [f"{self.at.path}:{self.at.line}:{self.at.column}: {self.message}"]
        if self.at.text:
            mark = "".join("\t" if c == "\t" else " " for c in self.at.text[: self.at.column - 1])
            lines += [f"    {self.at.text.rstrip()}", f"    {mark}^"]
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)


class CompilationError(RuntimeError):
    """A compiler refused, or died on, code that the language accepts: which one, on what, and what it said."""


class KernelNotBuiltError(LookupError):
    """No usable artifact for a call; the message names the command that makes one."""


class UntrustedCacheError(KernelNotBuiltError):
    """A project's cache that others could have written: who, and what allows it nevertheless."""


class ArchiveError(ValueError):
    """A file that is no archive of a cache, or not a whole one; nothing of it was taken."""


class ArtifactRefusedError(KernelNotBuiltError):
    """An artifact that is whole, and that the device or its driver does not load; another target's may serve."""


class CompilerNotInstalledError(ImportError):
    """The build half is asked for where its packages are missing; the message names the extra."""


class BackendNotAvailableError(RuntimeError):
    """A backend was asked for by name and cannot run here; the message says why."""


class AllocationError(MemoryError):
    """A backend has too little memory; the message has the size asked for and what was free."""


class StaleArtifactWarning(UserWarning):
    """An artifact is loaded that an unfinished or failed build left behind."""


class ArtifactFallbackWarning(UserWarning):
    """The artifact that comes first could not be loaded, and another one serves in its place."""


class ReferenceFallbackWarning(UserWarning):
    """No machine code of a bundle runs on this machine, and the kernels' declared references serve in its place."""


class BackendFallbackWarning(UserWarning):
    """The backend "auto" passed over one that it would have preferred."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says so. CPython 3.11, where there is none while it imports, forgets to."""
    return isinstance(error, MemoryError) or isinstance(error, SystemError) and "without exception set" in str(error)
