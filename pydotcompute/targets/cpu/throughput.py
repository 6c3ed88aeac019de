"""What llvm-mca says of a loop: how many cycles a turn takes, and what holds it up."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from typing import Sequence

from ...errors import CompilationError, CompilerNotInstalledError
from ..machine_code import Throughput

# Of each level the first processors that have it; levels themselves have no model of their pipelines.
PROCESSORS = {"x86-64": "core2", "x86-64-v2": "nehalem", "x86-64-v3": "haswell", "x86-64-v4": "skylake-avx512"}
TURNS = 100


def throughput(lines: Sequence[str], processor: str) -> Throughput:
    """Raises CompilerNotInstalledError; CompilationError where llvm-mca does not know an instruction or the
    processor."""
    code = "\n".join(line.partition("#")[0] for line in lines)
    command = [llvm_mca(), "-mtriple=x86_64-linux-gnu", f"-mcpu={processor}", f"-iterations={TURNS}"]
    done = subprocess.run([*command, "-bottleneck-analysis"], input=code, capture_output=True, text=True)
    cycles = re.search(r"^Total Cycles:\s+(\d+)", done.stdout, re.M)
    if done.returncode or cycles is None:
        said = (done.stderr.strip() or "it says nothing").splitlines()[0]
        raise CompilationError(f"llvm-mca for {processor}: {said}")
    part = done.stdout.partition("Throughput Bottlenecks:")[2].partition("\n\n")[0]
    told = re.findall(r"^  - (\w[\w ]*?)\s+\[ ([\d.]+)% \]", part, re.M)
    causes = {name: float(share) for name, share in told}
    most = max(causes, key=lambda name: causes[name], default="")
    bottleneck = most.lower() if most.endswith("Dependencies") else most  # of resources the names are the model's
    return Throughput(processor, int(cycles[1]) / TURNS, bottleneck if most and causes[most] else "")


@cache
def llvm_mca() -> str:
    """The path of llvm-mca. Raises CompilerNotInstalledError, naming the package that brings it."""
    for name in ("llvm-mca", *(f"llvm-mca-{version}" for version in range(30, 10, -1))):
        if path := shutil.which(name):
            return path
    raise CompilerNotInstalledError(
        "cycles are estimated by llvm-mca, which is not installed: Debian's and Ubuntu's package llvm brings it"
    )
