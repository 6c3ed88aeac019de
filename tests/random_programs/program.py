"""One random kernel: its signature, its text as a user would write it, and what a test must know to call it."""

from __future__ import annotations

import re
from random import Random

from .freed import FLAGS, FREED, Freed
from .helpers import Helper
from .inputs import Inputs
from .scope import Scope
from .text import Text
from .values import EVERY, Table

_FORMS = (
    "grid", "blocks", "grid_reduction", "phases", "grid", "blocks", "whole", "sequential", "blocks", "tiles", "phases",
    "scans",
)  # fmt: skip


def drawn(seed: int, name: str = "k") -> Program:
    """The program of a campaign's seed: one of five has loops in the iterations of its loops, one of ten such as these
    end themselves, one of ten such as fill a matrix, one of ten several, of one index."""
    return vouched(Program(seed, name, form={4: "turns", 9: "turns", 7: "until", 2: "filled", 6: "nested"}.get(seed % 10, "")))


def vouched(program: Program) -> Program:
    """Some with their author's word for what is true of all."""
    words, text = Random(f"words {program.seed}"), f"{program.entry}{program.template}"
    program.unchecked = words.random() < 0.15
    calls = re.findall(r"\b(?:atomic_\w+|scatter|act\d+|sweep\d+)\(.*", text)
    met = {name for call in calls for name in re.findall(r"\w+", call)}
    alone = [a.name for a in program.parameters if a.role in ("out", "inout") and a.dims and a.name not in met]
    program.disjoint = [name for name in alone if words.random() < 0.5] if words.random() < 0.3 else []
    return program


def freed(seed: int, name: str = "k") -> Program:
    """The same of programs whose arithmetic may be reordered: one of three has sums along rows and columns."""
    return Program(seed, name, form=("", "products", "turns")[seed % 3], style="freed")


class Program(Freed, Inputs, Text):
    """`entry` is its text in kernels.yaml, `template` that of its template, if it has one."""

    def __init__(self, seed: int, name: str = "k", form: str = "", style: str = "", has: Table = EVERY):
        has = FREED if style == "freed" else has
        self.rng, self.seed, self.kernel, self.style, self.has = Random(seed), seed, name, style, has
        self.unchecked, self.disjoint = False, []
        self.tinies, self.of_integers, self.has_row_sums = set(), False, False
        self.side, self.steps = Random(f"narrow {seed}"), Random(f"steps {seed}")
        self.lines, self.indent, self.count, self.skips, self.budget = (
            [],
            0,
            0,
            False,
            self.rng.choice((2, 3, 4, 5, 6, 8, 12)),
        )
        self.arrays, self.atomics, self.accumulators, self.loose, self.terms = [], [], [], {}, {}
        self.factors: dict[str, int] = {}
        self.pool, self.views, self.block_names, self.block_dims, self.thread_dims = [], [], (), (), []
        self.place = "set-up"
        self.params = {"TILE": self.rng.choice(([4], [3, 8]))} if self.chance(0.25) else {}
        self.type_variables = {"T": self.rng.choice(self.has.dtypes)} if self.chance(0.5) else {}
        self.fastmath = "[]" if self.chance(0.85) else None
        if not has.is_exact:
            self.fastmath = self.rng.choice(FLAGS) if self.is_freed else None
        self.form = form or _FORMS[seed % len(_FORMS)]
        self.counts, self.swaps, self.actors, self.sweeps = [], 0, [], []
        self.unordered, self.counters, self.own_atomics, self.aside = [], [], [], False
        self.extents = ["k"] if self.chance(0.4) else []
        self.scope = Scope()
        self.leading = self.rng.choice(("", "", "", "size", "rows"))
        if style == "elementwise":
            self.form, self.leading, self.extents, self.params, self.fastmath = "grid", "", [], {}, None
        self.helpers: list[Helper] = []
        self.helper_lines: list[str] = []
        getattr(self, f"write_{self.form}")()
        for array in [a for a in self.arrays if a.role != "temp"]:
            self.narrow(array)
        self.with_defaults()
        if self.is_freed:
            self.finish_freed()
        self.inline = self.side.random() < 0.3
        self.requires = ["TILE * 2 > TILE"] if self.params and self.chance(0.3) else []
        self.requires += [f"{k} >= 0" for k in self.extents if self.steps.random() < 0.5]
        truths = [a.name for a in self.arrays if a.role == "in" and not a.dims and a.dtype == "bool" and a.stored == "bool"]
        self.requires += [f"{a} or not {a}" for a in truths if self.steps.random() < 0.5]
