"""The plugin for setuptools: at work wherever `[tool.pydotcompute]` of the pyproject.toml says `bundle = …`.

setuptools calls it for every distribution that is built where this package is installed: it costs the others little.
"""

from __future__ import annotations

import os
from typing import Any


def finalize(distribution: Any) -> None:
    """Extend the commands of a distribution that is to hold kernels (setuptools.finalize_distribution_options)."""
    from setuptools.errors import SetupError

    from ..builder.settings import SettingError, read_pyproject
    from ..errors import CompilerNotInstalledError

    try:
        asked_for = "bundle" in read_pyproject(os.getcwd())
    except SettingError as error:
        raise SetupError(str(error)) from error
    if asked_for:
        try:
            from .commands import extend
        except CompilerNotInstalledError as error:  # nothing is built on this system
            raise SetupError(str(error)) from error
        extend(distribution)
