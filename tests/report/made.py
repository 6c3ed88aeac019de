"""A project of which a report has something of everything to show, and one of a thousand kernels."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HOSTILE = "</script><script>top.hurt = 1</script><img src=x onerror='top.hurt = 1'> & \"{{ 7 * 7 }}\""
KERNELS = f"""\
version: 1
targets: [cpu:x86-64-v2, cpu:x86-64-v3]
kernels:
  good:
    doc: twice x
    signature: "(x: T[...]) -> (out: T[...])"
    types: {{T: [float32, float64]}}
    body: |
      for i in grid(size):
          out[i] = 2 * x[i]
    reference: 2 * x
  changed:
    signature: "(x: T[...]) -> (out: T[...])"
    types: {{T: [float32]}}
    template: changed.py.j2
  wrong:
    doc: {json.dumps(HOSTILE)}
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = 2 * x[i]  # {HOSTILE}
    reference: 3 * x
"""
TEMPLATE = "{# sums #}\ndef changed(x, out):\n    for i in grid(size):\n        out[i] = x[i] + 1\n"
LATER = """\
  broken:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = nothing
  later:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i]
"""
FIGURES = {
    "version": 1, "subject": "kernels", "columns": ["kernel", "ns an element", "NumPy", "times as fast"],
    "figures": [{"kernel": HOSTILE, "ns an element": 0.25, "NumPy": 1.0, "times as fast": 4.0},
                {"kernel": "all", "times as fast": 2}],
}  # fmt: skip

# A kernel on the roof of memory, at half of it, under the roof of what computes; and one without operations.
ROOF = {
    "version": 1, "subject": "declared",
    "columns": ["kernel", "sizes", "µs", "GB/s", "of a copy", "Gop/s", "of matmul", "reference µs"],
    "figures": [
        {"kernel": "good", "sizes": sizes, "µs": 1.0, "GB/s": rate, "of a copy": rate / 40, "Gop/s": done,
         "of matmul": done / 200, "reference µs": 3.0}
        for sizes, rate, done in (("n=1", 40.0, 5.0), ("n=2", 20.0, 2.5), ("n=3", 10.0, 150.0))
    ] + [{"kernel": "changed", "sizes": "n=1", "µs": 2.0, "GB/s": 30.0, "of a copy": 0.75}],
}  # fmt: skip


def call(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pydotcompute", *words], cwd=root, capture_output=True, text=True)


def write_project(root: Path) -> None:
    """Kernels in each state: good is checked, wrong fails its check, changed is stale, broken fails, later is not
    built."""
    (root / "templates").mkdir(parents=True)
    (root / "templates" / "changed.py.j2").write_text(TEMPLATE)
    (root / "kernels.yaml").write_text(KERNELS)
    (root / "figures.json").write_text(json.dumps(FIGURES))
    (root / "roof.json").write_text(json.dumps(ROOF))
    assert call(root, "build", "-q").returncode == 0
    assert call(root, "check", "-q", "--quick", "good", "wrong").returncode == 1
    (root / "templates" / "changed.py.j2").write_text(TEMPLATE.replace("+ 1", "+ 2"))
    (root / "kernels.yaml").write_text(KERNELS + LATER)
    assert call(root, "build", "-q", "-k", "broken").returncode == 1
