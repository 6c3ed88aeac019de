"""What LLVM takes of a build, and what it could take: Numba's LLVM, which builds use, beside clang of ziglang, for the same
IR of every kernel of this repository.

    python -m tests.compilers [KERNEL…] [--target cpu:x86-64-v3]

Both are processor time. clang is started for each kernel; what it takes for an empty file is taken off. Where both are of
one version of LLVM, what is between them is how the library was made: that of Numba has assertions, and parts of it are
not optimised. The second figure is what a build of these artifacts cannot be below, with all the rest for nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import llvmlite.binding as llvm

from pydotcompute import declare
from pydotcompute.targets.base import Clock, Job
from pydotcompute.targets.cpu.compilation import Compilation
from pydotcompute.targets.cpu.compiler import emit_object

ROOT = str(Path(__file__).resolve().parents[1])
CLANG = [sys.executable, "-m", "ziglang", "cc", "-O2", "-c", "-Wno-override-module", "-target", "x86_64-linux-gnu"]


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compilers", description=__doc__.partition("\n")[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--target", default="cpu:x86-64-v3")
    options = parser.parse_args(given)
    level = options.target.partition(":")[2].replace("-", "_")
    ours = theirs = before = 0.0
    artifacts = 0
    with tempfile.TemporaryDirectory() as folder:
        file, made = os.path.join(folder, "kernel.ll"), os.path.join(folder, "kernel.o")

        def clang(text: str) -> float:
            Path(file).write_text(text)
            return of_children(lambda: subprocess.run([*CLANG, f"-mcpu={level}", file, "-o", made], check=True))

        empty = min(clang("") for _ in range(3))
        for kernel in declare.load(ROOT).kernels.values():
            for specialisation in kernel.specialisations if kernel.name in (options.kernels or [kernel.name]) else ():
                started = time.process_time()
                job = Job(kernel, specialisation, declare.render(kernel, specialisation, "cpu", ROOT), (options.target,), folder)
                text = Compilation(job, Clock()).text
                before += time.process_time() - started
                started = time.process_time()
                emit_object(text, options.target, kernel.name)
                ours += time.process_time() - started
                theirs += clang(text) - empty
                artifacts += 1
    version = subprocess.run([*CLANG, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    print(f"{artifacts} artifacts; before LLVM {before:.1f} s of a processor")
    print(f"LLVM {'.'.join(map(str, llvm.llvm_version_info))} of Numba: {ours:.1f} s, {artifacts / ours:.1f} artifacts a second at most")
    print(f"{version} of ziglang: {theirs:.1f} s, {theirs / ours:.2f} of it")
    return 0


def of_children(run) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
