"""Names in generated text: the user's own where the language leaves them free, else moved aside."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class Names:
    """The names of one file. `taken` are all that the user's code has; what begins with an underscore is the
    printer's own."""

    def __init__(self, taken: Iterable[str], is_reserved: Callable[[str], bool]):
        self.used, self.is_reserved = set(taken), is_reserved
        self.moved: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The text of a name of the user's."""
        if name not in self.moved:
            free = name.isascii() and not name.startswith("_") and not self.is_reserved(name)
            base = name.strip("_") if name.isascii() else "v"
            self.moved[name] = name if free else self.fresh(base or "v")
        return self.moved[name]

    def part(self, name: str, part: str) -> str:
        """The name of something that belongs to a name of the user's, the same each time."""
        key = f"{name}.{part}"
        if key not in self.moved:
            self.moved[key] = self.fresh(f"{name.strip('_') if name.isascii() else 'v'}_{part}")
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
