"""Versions of what is installed, found without importing any of it.

They are read from the names of the packages' metadata folders: `importlib.metadata` alone would cost more than the rest
of a plan.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from functools import cache

NOT_INSTALLED = "not installed"


@cache
def installed() -> dict[str, str]:
    """Version by normalised distribution name, for everything on `sys.path`; the first one found counts."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info"):
                distribution, _, version = name[: -len(".dist-info")].rpartition("-")
                found.setdefault(distribution.lower().replace("-", "_").replace(".", "_"), version)
    return found


def package_version(*names: str) -> str:
    """The version of the first of these distributions that is installed."""
    packages = installed()
    for name in names:
        if name in packages:
            return packages[name]
    from importlib import metadata  # slow, and knows the places where no folder of that name stands on the path

    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return NOT_INSTALLED


def command_version(command: str) -> str:
    """The first line that a command says about itself when asked for its version."""
    try:
        answer = subprocess.run([*shlex.split(command), "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"{command}: {error.__class__.__name__}"  # the build will say it as an error
    return f"{command}: {(answer.stdout or answer.stderr).partition(chr(10))[0].strip()}"
