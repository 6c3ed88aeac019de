"""The kernels of this package, for those who measure them; and a project of kernels that is built to be measured."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Collection

from ..errors import KernelNotBuiltError

if TYPE_CHECKING:
    from ..runtime.kernel import Kernel
    from ..runtime.library import KernelLibrary

PARENT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # of the package


def own(*names: str) -> list[Kernel]:
    """Kernels of `pydotcompute.kernels`. Raises KernelNotBuiltError, with what to do, where one is not there."""
    from .. import kernels

    try:
        return [getattr(kernels, name) for name in names]
    except AttributeError as error:
        raise KernelNotBuiltError(str(error)) from None


def built(root: str, targets: list[str], *kernels: str) -> list[KernelLibrary]:
    """The project in `root`, built for these targets: a library for each, whose kernels use one thread."""
    from ..runtime.library import load

    os.environ["PYDOTCOMPUTE_THREADS"] = "1"
    pydotcompute(["build", *kernels, "-C", root, *(word for target in targets for word in ("-t", target))])
    return [load(root, target=target) for target in targets]


def copy(directory: str, root: str) -> None:
    """The declaration of a project and its templates, without what is built of it."""
    os.mkdir(root)
    shutil.copy(os.path.join(directory, "kernels.yaml"), root)
    if os.path.isdir(templates := os.path.join(directory, "templates")):
        shutil.copytree(templates, os.path.join(root, "templates"), ignore=_no_sources)


def _no_sources(folder: str, names: list[str]) -> list[str]:
    """What is neither file nor folder, as editors' locks, which are links to nowhere; and links to folders above."""
    here = os.path.realpath(folder) + os.sep
    return [
        name for name in names
        if not os.path.isfile(path := os.path.join(folder, name))
        and not (os.path.isdir(path) and not here.startswith(os.path.join(os.path.realpath(path), "")))
    ]  # fmt: skip


def environment(**more: str) -> dict[str, str]:
    """Of a process that has this very package, with further variables."""
    modules = os.pathsep.join([PARENT, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": modules, **more}


def pydotcompute(arguments: list[str], accepted: Collection[int] = (0,)) -> str:
    """What the program prints. Raises KernelNotBuiltError with what it says where its exit code is another."""
    done = subprocess.run([sys.executable, "-m", "pydotcompute", *arguments], capture_output=True, text=True)
    if done.returncode not in accepted:
        raise KernelNotBuiltError(done.stderr.strip())
    return done.stdout
