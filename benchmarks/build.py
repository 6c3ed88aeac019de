"""What a build costs: nothing to do against `import yaml, numpy`, and everything with one process and with two.

    python benchmarks/build.py [PROJECT]

Prints medians in seconds and their ratios, all measured in this one run. The project is copied: its own cache stays.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from time import perf_counter

REPEAT = 11


def seconds(command: list[str], **options) -> float:
    started = perf_counter()
    subprocess.run(command, check=True, capture_output=True, **options)
    return perf_counter() - started


def full_build(root: str, jobs: int) -> tuple[int, float]:
    """How many artifacts a build from nothing makes, and its wall time."""
    shutil.rmtree(os.path.join(root, "build"), ignore_errors=True)
    command = [sys.executable, "-m", "pydotcompute", "build", "-C", root, "-j", str(jobs), "--json"]
    started = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["built"], perf_counter() - started


def main() -> None:
    source = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "project")
        os.mkdir(root)
        shutil.copy(os.path.join(source, "kernels.yaml"), root)
        shutil.copytree(os.path.join(source, "templates"), os.path.join(root, "templates"))

        walls = {}
        for jobs in (1, 2):
            artifacts, walls[jobs] = full_build(root, jobs)
            rate = artifacts / walls[jobs]
            print(f"full build, -j{jobs}: {artifacts} artifacts in {walls[jobs]:.2f} s, {rate:.1f} a second")
        print(f"speed-up of two processes: {walls[1] / walls[2]:.2f} on {len(os.sched_getaffinity(0))} processors")

        nothing = [sys.executable, "-m", "pydotcompute", "build", "-C", root]
        floor = [sys.executable, "-c", "import yaml, numpy"]
        pairs = [(seconds(nothing), seconds(floor)) for _ in range(REPEAT + 1)][1:]  # the first fills the page cache
        build_time, floor_time = (statistics.median(column) for column in zip(*pairs))
        print(f"nothing to build: {build_time:.3f} s; import yaml, numpy: {floor_time:.3f} s")
        print(f"ratio: {build_time / floor_time:.2f} (at most 4)")


if __name__ == "__main__":
    main()
