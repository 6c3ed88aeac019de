"""Names in generated code: the user's as they are where that can be, and fresh ones."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The user's names as they are, moved aside where generated Python needs the name itself."""

    def __init__(self, taken: Iterable[str], reserved: Iterable[str]):
        self.used, self.reserved = set(taken), set(reserved)
        self.moved: dict[str, str] = {}

    def of(self, name: str) -> str:
        if name not in self.moved:
            free = name not in self.reserved and not name.startswith("_")
            self.moved[name] = name if free else self.fresh(name.strip("_") or "v")
        return self.moved[name]

    def part(self, name: str, part: str) -> str:
        """The name of something that belongs to a name of the user's, the same each time."""
        key = f"{name}.{part}"
        if key not in self.moved:
            self.moved[key] = self.fresh(f"{name.strip('_')}_{part}")
        return self.moved[key]

    def fresh(self, base: str) -> str:
        """A name nobody has."""
        name, number = base, 1
        while name in self.used or name in self.reserved:
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name

    def bind(self, name: str, written: str) -> None:
        """From here on a name of a tree, which no user could write, is written like that."""
        self.moved[name] = written
