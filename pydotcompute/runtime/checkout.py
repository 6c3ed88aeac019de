"""The kernels of a package that is installed for editing: those of the project's build/, told when they are old."""

from __future__ import annotations

import os
import warnings

from ..artifact import remedies
from ..cache import manifest
from ..cache.layout import MANIFEST
from ..cache.sources import changed
from ..errors import KernelNotBuiltError, StaleArtifactWarning
from .library import KernelLibrary, load


def open_checkout(project: str, auto_build: bool) -> KernelLibrary:
    """The kernels that are built in `project`. Where not everything is built from a source, StaleArtifactWarning
    names it; auto_build: the build half is called first, by its command, in a process of its own.

    Raises KernelNotBuiltError: nothing is built, or that build fails.
    """
    folder, root = manifest.find(os.path.abspath(project))
    old = changed(root)
    if auto_build and (old or not os.path.exists(os.path.join(folder, MANIFEST))):
        _build(root)
    elif old:
        listed = ", ".join(old[:3]) + (f" and {len(old) - 3} more" if len(old) > 3 else "")
        told = f"{root}: not everything was built after {listed} changed; {remedies.build_again(folder, root)}"
        warnings.warn(told, StaleArtifactWarning, stacklevel=5)
    return load(root)


def _build(root: str) -> None:
    """Its talk goes to stderr, as whoever types it has it."""
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", root], stdout=subprocess.DEVNULL)
    if done.returncode:
        raise KernelNotBuiltError(f"{root}: the build, which auto_build asks for, failed; its messages are above")
