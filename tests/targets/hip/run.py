"""A call of a kernel that is built for AMD's GPUs: the text that its code object is made of, executed here."""

from __future__ import annotations

import functools
from typing import Any

from pydotcompute.calls import arguments
from pydotcompute.targets.hip.dialect import HIP
from pydotcompute.targets.text.program import emit
from tests.hip import Program, missing
from tests.targets import executed

__all__ = ["missing", "run"]


@functools.lru_cache(maxsize=64)
def program(built: Any) -> Program:
    source = emit(built.tree, HIP, built.launch, dict(built.specialisation.params))
    assert [list(a) for a in source.arguments] == built.meta["arguments"]
    return Program(source.text, built.data)


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    executed.run(program(built), built, values, call, seed)
