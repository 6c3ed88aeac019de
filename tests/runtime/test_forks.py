"""Forks of a process with threads: its children load and call kernels, whatever the other threads were doing."""

import subprocess
import sys

import pytest
from support import write_saxpy

IMPORTING = r"""
import importlib.abc, os, sys, threading, time
import numpy as np
import pydotcompute

name, x = "pydotcompute." + sys.argv[2], np.arange(5, dtype="f4")
imports, go_on = threading.Event(), threading.Event()

class Slowly(importlib.abc.MetaPathFinder):
    def find_spec(self, wanted, path, target=None):
        if wanted == name:
            imports.set()
            go_on.wait()

sys.meta_path.insert(0, Slowly())
saxpy = pydotcompute.load(sys.argv[1]).saxpy
thread = threading.Thread(target=lambda: saxpy(a=2.0, x=x.astype("f8"), y=x.astype("f8")), daemon=True)
thread.start()
assert imports.wait(60)
threading.Timer(0.2, go_on.set).start()
child = os.fork()
if child == 0:
    os._exit(0 if (saxpy(2.0, x, y=x) == 3 * x).all() else 1)
for k in range(300):
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid:
        os._exit(status and 1)
    time.sleep(0.1)
os.kill(child, 9)
os._exit(3)
"""
NEEDED = r"""
import os, sys
import numpy as np
import pydotcompute

x, library = np.arange(8, dtype="f4"), pydotcompute.load(sys.argv[1])
if (child := os.fork()) == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
before = set(sys.modules)

class Mine(np.ndarray):
    pass

for given in [
    (2.0, x, x), (2.0, x.astype("f8"), x.astype("f8")), (np.float32(2), x, x), (2.0, x.view(Mine), x),
    (2.0, x, x[:3]), (2.0, x, x.astype("i4")), (2.0, x, x[::2]), (2.0,), (2.0, x, [1]), (None, x, x),
]:
    for call in (library.saxpy, library.saxpy.which):
        try:
            call(*given)
        except (TypeError, ValueError):
            pass
library.saxpy(2.0, x, y=x, backend="cpu")
os.utime(os.path.join(sys.argv[1], "build", "cache", "manifest.json"), ns=(1, 1))
assert pydotcompute.load(sys.argv[1]) is not library
pydotcompute.load(sys.argv[1]).saxpy(2.0, x, x)
print(*sorted(set(sys.modules) - before))
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["calls.arguments", "backends.cpu.kernel", "calls.shapes", "cache.objects"])
def test_a_child_does_not_wait_for_what_another_thread_was_importing(tmp_path, module):
    command = [sys.executable, "-c", IMPORTING, write_saxpy(tmp_path), module]
    assert subprocess.run(command, timeout=120).returncode == 0


@pytest.mark.slow
def test_after_a_fork_calls_import_nothing(tmp_path):
    command = [sys.executable, "-c", NEEDED, write_saxpy(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split() == []
