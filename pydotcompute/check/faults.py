"""Mistakes in the Python that a declaration gives for its checks."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import Iterator


class FaultyDeclaration(Exception):
    """`reference` or `inputs` of a kernel cannot be used: why, and which."""

    @property
    def key(self) -> str:
        return self.args[1]


class Unmet(Exception):
    """There are no arguments at some sizes: why, by which key of the declaration, and what to do."""

    def __init__(self, why: str, key: str, hint: str):
        super().__init__(f"{why}; {hint}")
        self.why, self.key, self.hint = why, key, hint


def fault(key: str, text: object, why: str) -> FaultyDeclaration:
    """The fault of what this key of a declaration says, which is `text`."""
    return FaultyDeclaration(f"its {key} ({text}) {why}", key)


@contextmanager
def of(key: str, text: object) -> Iterator[None]:
    """Turns whatever is raised inside into a FaultyDeclaration about this key, declared as `text`; but that there is no
    memory for a case, or that it cannot be met, is no fault."""
    try:
        yield
    except (FaultyDeclaration, Unmet, MemoryError):
        raise
    except BaseException as error:  # whatever a user's own function raises is the finding, be it meant to end a program
        if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            raise  # the user's
        raise fault(key, text, f"raised {type(error).__name__}" + f": {error}" * bool(str(error))) from error
