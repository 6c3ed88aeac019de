"""What LLVM made of each loop of a kernel: how wide, how many at once, or why it stayed scalar, in the kernel's terms.

LLVM says such things through options that hold for a whole process, so a process of its own optimises the module.
"""

from __future__ import annotations

import re
import subprocess
import sys

from ...errors import CompilationError, Position
from ...ir.tree import KernelTree
from ..listing import Places, Remark, loops_of

OPTIONS = (
    "--pass-remarks=loop-vectorize|loop-unroll",
    "--pass-remarks-missed=loop-vectorize",
    "--pass-remarks-analysis=loop-vectorize",
)
# LLVM's reason → ours. Of several for one loop the first in this order is told.
REASONS = (
    ("unsafe dependent memory", "an iteration may read or write what another one writes"),
    ("could not be identified as reduction", "a value is carried from one iteration to the next"),
    ("call instruction cannot be vectorized", "it calls a function that has no vector form"),
    ("early exit", "it may be left early"),
    ("uncountable", "how often it runs is known only while it runs"),
    ("number of loop iterations", "how often it runs is known only while it runs"),
    ("induction variable", "how often it runs is known only while it runs"),
    ("cost-model indicates that vectorization", "it would be no faster"),
    ("control flow", "its branches cannot be turned into selections"),
    ("instruction cannot be vectorized", "one of its instructions has no vector form"),
    ("floating-point operations", "its float operations must keep their order"),
)


def remarks(text: str, target: str, tree: KernelTree, places: Places) -> tuple[Remark, ...]:
    """Of each loop of the tree, in the order of lines. text: by `kernel_ir` with positions."""
    command = [sys.executable, "-c", f"from {__name__} import _main; _main({target!r})"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise CompilationError(f"{tree.name} for {target}: LLVM's remarks cannot be had\n{done.stderr.strip()}")
    loops = list(loops_of(tree))
    said: dict[Position, list[str]] = {}
    for path, line, words in re.findall(r"^remark: ([^\n]+?):(\d+):\d+: (.*)$", done.stderr, re.M):
        at = places.at(path, int(line))
        around = [head for head, lines in loops if at is not None and (at.path, at.line) in lines]
        if around:
            said.setdefault(around[-1], []).append(words)
    inner = {head for head, lines in loops if not any(head != other and other[:2] in lines for other, _ in loops)}
    found = [(head, _told(words, head in inner)) for head, words in said.items()]
    return tuple(Remark(at, told) for at, told in sorted(found, key=lambda f: f[0][:3]) if told)


def _main(target: str) -> None:
    """Optimise the module on stdin; LLVM's remarks go to stderr."""
    import llvmlite.binding as llvm

    from .compiler import decided, optimised

    text = decided(sys.stdin.read(), target)  # while nothing is said
    for option in OPTIONS:
        llvm.set_option("", option)
    optimised(text, target, "the kernel")


def _told(words: list[str], innermost: bool) -> str:
    """Of what LLVM says of the versions of one loop, what there is to know. Only an innermost loop can be vectorised,
    so only of such a one there is a reason why not."""
    if vectors := [tuple(map(int, re.findall(r"\d+", w))) for w in words if w.startswith("vectorized loop")]:
        width, registers = max(vectors, key=lambda v: (v[0] * v[1], v))
        many = f", {registers} registers a turn" if registers > 1 else ""
        return f"vectorised: {width} elements in a register{many}"
    parts = []
    if innermost:
        why = next((ours for theirs, ours in REASONS if any(theirs in w for w in words)), "")
        parts.append(f"scalar: {why}" if why else "scalar")
    unrolled = [w for w in words if "unrolled loop" in w]
    if turns := [int(n) for w in unrolled for n in re.findall(r"with (\d+) iterations", w)]:
        parts.append(f"unrolled: all {max(turns)} turns")
    elif factors := [int(n) for w in unrolled for n in re.findall(r"factor of (\d+)", w)]:
        parts.append(f"unrolled by {max(factors)}")
    return "; ".join(parts)
