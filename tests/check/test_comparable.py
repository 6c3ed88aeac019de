"""Outputs that a count trims, outputs in any order, and the author's word that iterations are disjoint, in `check`."""

import subprocess
import sys

import pytest

KERNELS = """
version: 1
targets: [cpu:x86-64-v3]
kernels:
  kept:
    signature: "(x: float32[n]) -> (out: float32[<= n: count], place: int64[<= n: count], count: int64 = 0)"
    {unordered}
    body: |
      for i in grid(n):
          if x[i] > 0:
              k = atomic_add(count, 1)
              out[k] = x[i]
              place[k] = i{wrong}
    reference: (x[x > 0], np.flatnonzero(x > 0), np.count_nonzero(x > 0))
  rows:
    signature: "(start: int64[n + 1], x: float32[m], y: float32[n]) -> (out: float32[m] = 0)"
    disjoint: [out]
    inputs: ref.py:rows
    body: |
      for r in grid(n):
          for k in range(start[r], start[r + 1]{over}):
              out[k] = x[k] + y[r]
"""
INPUTS = """
import numpy as np


def rows(rng, names):
    n, m = names["n"], names["m"]
    start = np.sort(rng.integers(0, m + 1, n + 1))
    return {"start": start, "x": rng.normal(size=m), "y": rng.normal(size=n)}
"""


@pytest.fixture
def checked(tmp_path):
    def run(unordered="unordered: [out, place]", wrong="", over=""):
        text = KERNELS.replace("{unordered}", unordered).replace("{wrong}", wrong).replace("{over}", over)
        (tmp_path / "kernels.yaml").write_text(text)
        (tmp_path / "templates").mkdir(exist_ok=True)
        (tmp_path / "templates" / "ref.py").write_text(INPUTS)
        command = [sys.executable, "-m", "pydotcompute", "check", "-C", str(tmp_path), "--quick"]
        subprocess.run([*command[:3], "build", "-C", str(tmp_path)], check=True, capture_output=True, timeout=300)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.slow
def test_right_ones_pass_and_wrong_ones_do_not(checked):
    code, said = checked()
    assert code == 0, said
    code, said = checked(wrong=" + 1")
    assert code == 1 and "place[" in said and "'out'" not in said
    code, said = checked(over=" + 1 if start[r + 1] < m else start[r + 1]")
    assert code == 1 and "both touch out[" in said and "disjoint: [out]" in said
