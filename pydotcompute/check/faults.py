"""Mistakes in the Python that a declaration gives for its checks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator


class FaultyDeclaration(Exception):
    """`reference` or `inputs` of a kernel cannot be used: which, and why, in one line."""


@contextmanager
def of(what: str, text: object) -> Iterator[None]:
    """Turns whatever is raised inside into a FaultyDeclaration about `what`, declared as `text`."""
    try:
        yield
    except FaultyDeclaration:
        raise
    except Exception as error:  # whatever a user's own function raises is the finding
        shown = " ".join(str(text).split())
        raise FaultyDeclaration(f"{what} ({shown}) raised {type(error).__name__}: {error}") from error
