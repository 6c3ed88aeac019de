"""What a build costs: everything with one process and with two, and nothing to do against `import yaml, numpy`.
The project is copied: its own cache stays."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from time import perf_counter
from typing import Any, Iterator

from .own import copy, pydotcompute

COLUMNS = ("build", "artifacts", "s", "artifacts a second", "times")


def measure(directory: str, rounds: int = 11) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "project")
        copy(directory, root)
        alone = 0.0
        for jobs in (1, 2):
            shutil.rmtree(os.path.join(root, "build"), ignore_errors=True)
            started = perf_counter()
            artifacts = json.loads(pydotcompute(["build", "-C", root, "-j", str(jobs), "--json"]))["built"]
            wall = perf_counter() - started
            alone = alone or wall
            yield {
                "build": f"everything, -j {jobs}", "artifacts": artifacts, "s": wall,
                "artifacts a second": artifacts / wall, "times": alone / wall,
            }  # fmt: skip
        nothing = [sys.executable, "-m", "pydotcompute", "build", "-C", root]
        floor = [sys.executable, "-c", "import yaml, numpy"]
        pairs = [(seconds(nothing), seconds(floor)) for _ in range(rounds + 1)][1:]  # the first fills the page cache
        build_time, floor_time = (statistics.median(column) for column in zip(*pairs))
        yield {"build": "import yaml, numpy", "s": floor_time}
        yield {"build": "nothing to do", "artifacts": 0, "s": build_time, "times": build_time / floor_time}


def seconds(command: list[str]) -> float:
    started = perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - started
