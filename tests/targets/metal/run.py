"""A call of a kernel that is built for Metal: its text, executed here."""

from __future__ import annotations

import functools
from typing import Any

from pydotcompute.calls import arguments
from tests.metal import Program, missing
from tests.targets import executed

__all__ = ["missing", "run"]


@functools.lru_cache(maxsize=64)
def program(built: Any) -> Program:
    return Program(built.data.decode(), built.meta)


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    executed.run(program(built), built, values, call, seed)
