"""The target that a program pins: an argument of `load`, or PYDOTCOMPUTE_TARGET."""

from __future__ import annotations

import os
import re
from typing import Mapping

from ..artifact.targets import backend_of
from ..errors import BackendNotAvailableError
from .registry import all_names, no_such, not_yet, own_class


def target(explicit: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The pinned target, from the argument or else the environment; None: the best that runs here.

    Raises ValueError for what is not a target, whether or not anything is built for it; BackendNotAvailableError for
    one that no backend runs yet.
    """
    text, origin = (explicit, "target") if explicit is not None else (environment.get("PYDOTCOMPUTE_TARGET"), "")
    if not text and explicit is None:
        return None
    name = f"{origin or 'PYDOTCOMPUTE_TARGET'}={text!r}"
    refusal = f"{name} is not a target; write one such as cpu:x86-64-v3 or cuda:sm_90"
    if not isinstance(text, str) or not re.fullmatch(r"[a-z][a-z0-9_]*(:[A-Za-z0-9_.@+-]+)?", text):
        raise ValueError(refusal)
    owner = backend_of(text)
    backend = own_class(owner)
    if ":" not in text and (backend is None or backend.unknown(text)):  # a backend may have just one
        raise ValueError(refusal)
    why = backend.unknown(text) if backend is not None else "" if owner in all_names() else no_such(owner)
    if why:
        raise ValueError(f"{name} is not a target: {why}")
    if why := not_yet(owner):
        raise BackendNotAvailableError(f"{name}: {why}")
    return text
