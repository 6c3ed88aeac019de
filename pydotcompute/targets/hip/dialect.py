"""OpenCL C as it is compiled for AMD's GPUs: elementary functions are ours, for there is no library; remainders too."""

from __future__ import annotations

from dataclasses import replace

from ...ir import math
from ...ir.dtypes import FLOATS
from ..opencl.dialect import OPENCL, WHOLE
from ..text import mathematics
from ..text.remainder import fmod

OURS = frozenset((*math.FUNCTIONS, "fmod"))  # what the compiler has no exact instructions for

HIP = replace(
    OPENCL,
    name="HIP",
    functions={
        **{key: text for key, text in OPENCL.functions.items() if key[0] not in OURS},
        **{(name, dtype): function for name, function in WHOLE.items() for dtype in FLOATS},
    },
    library={**OPENCL.library, **mathematics.functions(), "fmod": fmod},
)
