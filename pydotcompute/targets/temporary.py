"""Folders for what tools read and write."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder of one's own for as long, which goes afterwards as far as it can. Raises OSError where there is none.

    `tempfile.TemporaryDirectory` raises, at its end too, where Python 3.11 has no file left to look at it with."""
    folder = tempfile.mkdtemp(prefix="pydotcompute-")
    try:
        yield folder
    finally:
        with suppress(OSError):
            shutil.rmtree(folder, ignore_errors=True)
