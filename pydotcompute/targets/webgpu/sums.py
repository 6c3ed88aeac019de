"""Long sums in WGSL, where no rounding error can be carried along: terms are added in short runs, and the runs' sums as
pairs, pairs of pairs and so on (N. J. Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14,
1993), of which one of each size is kept."""

from __future__ import annotations

from ..text.scalars import Scalars

RUN = 8  # terms that are added one after the other
LEVELS = 28  # of pairs: no sum has 2**31 terms


def _names(s: Scalars, dtype: str) -> tuple[str, str, str]:
    """The names of the struct, of what includes a term and of what gives the total, written when first asked for."""
    key = "pairwise", dtype
    if key not in s.needed:
        s.needed[key] = s.names.fresh(f"pairwise_{dtype}")
        s.texts.append(_written(s, dtype, s.needed[key]))
    made = s.needed[key]
    return made, f"{made}_with", f"{made}_total"


def _written(s: Scalars, dtype: str, name: str) -> list[str]:
    kind, zero = s.type(dtype), s.constant(0, dtype)
    return [
        f"struct {name} {{", f"    run: {kind},", "    count: u32,", f"    sums: array<{kind}, {LEVELS}>,", "}", "",
        f"fn {name}_with(sum_of: ptr<function, {name}>, term: {kind}) {{",
        "    (*sum_of).run += term;", "    (*sum_of).count += 1u;",
        f"    if ((*sum_of).count % {RUN}u == 0u) {{",
        "        var sum = (*sum_of).run;", f"        var left = (*sum_of).count / {RUN}u;", "        var level = 0i;",
        "        while ((left & 1u) == 0u) {",
        "            sum = (*sum_of).sums[level] + sum;", "            level += 1i;", "            left = left >> 1u;",
        "        }",
        "        (*sum_of).sums[level] = sum;", f"        (*sum_of).run = {zero};",
        "    }", "}", "",
        f"fn {name}_total(sum_of: ptr<function, {name}>) -> {kind} {{",
        "    var sum = (*sum_of).run;", f"    var left = (*sum_of).count / {RUN}u;",
        "    for (var level: i32 = 0i; left != 0u; level += 1i) {",
        "        if ((left & 1u) != 0u) {", "            sum = (*sum_of).sums[level] + sum;", "        }",
        "        left = left >> 1u;", "    }",
        "    return sum;", "}",
    ]  # fmt: skip


def begin(s: Scalars, dtype: str, name: str) -> str:
    struct, *_ = _names(s, dtype)
    return f"var {name}: {struct} = {struct}()"


def include(s: Scalars, dtype: str, name: str, term: str) -> str:
    _, function, _ = _names(s, dtype)
    return f"{function}(&{name}, {term})"


def total(s: Scalars, dtype: str, name: str) -> str:
    *_, function = _names(s, dtype)
    return f"{function}(&{name})"
