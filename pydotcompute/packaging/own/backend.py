"""hatchling, for this repository's own wheel: its kernels are built with it, and that needs the build half.

An editable install builds nothing, and an sdist neither: they need hatchling alone.
"""

from __future__ import annotations

import tomllib
from typing import Any

from hatchling import build
from hatchling.build import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
)

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]  # fmt: skip


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    with open("pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["build"]]
    return [*build.get_requires_for_build_wheel(config_settings), *needed]
