"""Where a library was opened, and how another process finds it."""

from __future__ import annotations

from typing import Any, Callable


class Origin:
    """folder: with the manifest. root: of the project; of a bundle, the folder. pinned: the only target. module: what
    it can be imported from, wherever that lies; empty: found by its path alone. reopen: opens the library of what is
    `sent`."""

    def __init__(self, folder: str, root: str, pinned: str | None, strict: bool, reopen: Callable[..., Any]):
        self.folder, self.root, self.pinned, self.strict, self.reopen = folder, root, pinned, strict, reopen
        self.module = ""

    @property
    def is_project(self) -> bool:
        """Whether this is a project's own cache, which builds write."""
        return self.folder != self.root

    @property
    def key(self) -> tuple[object, ...]:
        return self.folder, self.pinned, self.strict

    @property
    def sent(self) -> tuple[str, str, str | None, bool]:
        """What travels: the module, and the arguments of `load`."""
        return self.module, self.root, self.pinned, self.strict
