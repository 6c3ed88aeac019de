"""A small project that is built, and the program called on it: in a process of its own, or in this one."""

import os
import subprocess
import sys

from pydotcompute.cli import main

KERNELS = """\
version: 1
targets: [cpu:x86-64-v2, cpu:x86-64-v3]
kernels:
  scale:
    doc: twice x
    signature: "(x: T[...]) -> (out: T[...])"
    types: {T: [float32]}
    body: |
      for i in grid(size):
          out[i] = 2 * x[i]
"""
V2, V3 = "scale T=float32 cpu:x86-64-v2", "scale T=float32 cpu:x86-64-v3"



def run(*arguments, **options):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYDOTCOMPUTE_")}
    return subprocess.run(
        [sys.executable, "-m", "pydotcompute", *arguments],
        capture_output=True, text=True, timeout=120, env={**environment, **options.pop("env", {})}, **options,
    )  # fmt: skip


def call(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def edit(project):
    path = project / "kernels.yaml"
    path.write_text(path.read_text().replace("2 * x[i]", "3 * x[i]"))
