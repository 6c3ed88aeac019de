"""Mistakes in the Python that a declaration gives for its checks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator


class FaultyDeclaration(Exception):
    """`reference` or `inputs` of a kernel cannot be used: which, and why."""


def fault(what: str, text: object, why: str) -> FaultyDeclaration:
    """The fault of `what`, declared as `text`."""
    return FaultyDeclaration(f"{what} ({text}) {why}")


@contextmanager
def of(what: str, text: object) -> Iterator[None]:
    """Turns whatever is raised inside into a FaultyDeclaration about `what`, declared as `text`."""
    try:
        yield
    except FaultyDeclaration:
        raise
    except Exception as error:  # whatever a user's own function raises is the finding
        raise fault(what, text, f"raised {type(error).__name__}: {error}") from error
