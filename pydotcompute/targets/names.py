"""Names in generated code: the user's own where they mean nothing else there, else moved aside, and fresh ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class Names:
    """The names of one file.

    taken: all that the user's code has; what begins with an underscore is the printer's own. is_reserved: whether a
    name means something else there. only_ascii: whether no name there has other letters.
    """

    def __init__(self, taken: Iterable[str], is_reserved: Callable[[str], bool], only_ascii: bool = False):
        self.used, self.is_reserved, self.only_ascii = set(taken), is_reserved, only_ascii
        self.moved: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The text of a name of the user's."""
        if name not in self.moved:
            free = self._can_be_had(name) and not name.startswith("_") and not self.is_reserved(name)
            self.moved[name] = name if free else self.fresh(self._stem(name) or "v")
        return self.moved[name]

    def part(self, name: str, part: str) -> str:
        """The name of something that belongs to a name of the user's, the same each time."""
        key = f"{name}.{part}"
        if key not in self.moved:
            self.moved[key] = self.fresh(f"{self._stem(name)}_{part}")
        return self.moved[key]

    def fresh(self, base: str) -> str:
        """A name that nothing has."""
        if self.is_reserved(f"{base}_2"):  # a whole family of names is: half_…
            base = f"v_{base}"
        name, number = base, 1
        while name in self.used or self.is_reserved(name):
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name

    def bind(self, name: str, written: str) -> None:
        """From here on a name of a tree, which no user could write, is written like that."""
        self.moved[name] = written

    def _can_be_had(self, name: str) -> bool:
        return name.isascii() or not self.only_ascii

    def _stem(self, name: str) -> str:
        """What names made of this one begin with."""
        return name.strip("_") if self._can_be_had(name) else "v"
