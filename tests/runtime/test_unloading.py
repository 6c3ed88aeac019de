"""Libraries that are loaded anew are unloaded by a later load when nothing uses them any more, and not before.

With PYDOTCOMPUTE_VALGRIND=1 the processes run under valgrind, which finds accesses that do not crash.
"""

import os
import subprocess
import sys

import pytest
from support import write_saxpy
from test_random import errors_of_valgrind

START = r"""
import gc, os, sys, threading, weakref
import numpy as np
import pydotcompute

path = sys.argv[1]
x, d = np.arange(8, dtype="f4"), np.arange(8.0)
clock = iter(range(10**9))

def load():  # as after a build
    time = next(clock)
    os.utime(os.path.join(path, "build", "cache", "manifest.json"), ns=(time, time))
    return pydotcompute.load(path)

def works(saxpy):
    return (saxpy(2.0, x, x) == 3 * x).all() and (saxpy(2.0, d, d) == 3 * d).all()

def mapped():
    return sum("memfd:" in line for line in open("/proc/self/maps"))
"""
PROGRAMS = {
    "reloaded 560 times": r"""
assert works(load().saxpy)
one = mapped()
gc.disable()
for k in range(560):
    assert works(load().saxpy)
assert 0 < mapped() <= one, (one, mapped())
""",
    "kept by the user": r"""
kept = [load().saxpy for k in range(5)]
assert all(map(works, kept))
functions, gone = [k.func for k in kept], [weakref.ref(k) for k in kept]
del kept
gc.collect()
many = mapped()
for k in range(50):
    assert works(load().saxpy)
    assert all(map(works, functions))
assert not any(k() for k in gone) and mapped() >= many
functions.clear()
assert works(load().saxpy) and mapped() < many
""",
    "in cycles, called while they are collected": r"""
class Last:
    def __init__(self, kernel):
        self.kernel, self.function, self.itself = kernel, kernel.func, self

    def __del__(self):
        calls.append(works(self.kernel) and works(self.function))

calls = []
for k in range(100):
    kernel = load().saxpy
    assert works(kernel)
    kernel.last, kernel.library = Last(kernel), pydotcompute.load(path)
    weakref.finalize(kernel, calls.append, True)
    del kernel
    gc.collect()
load()
gc.collect()
assert works(load().saxpy) and len(calls) == 200 and all(calls) and mapped() < 20
""",
    "on the Python path alone, collected": r"""
from pydotcompute.backends.cpu import native
native.problem = lambda: "not here"
class Last:
    def __init__(self, kernel):
        self.kernel, self.itself = kernel, self

    def __del__(self):
        calls.append(works(self.kernel))

calls = []
for k in range(50):
    kernel = load().saxpy
    assert works(kernel)
    kernel.last = Last(kernel)
    kernel._dispatcher.itself = kernel._dispatcher
    del kernel
    gc.collect()
load()
gc.collect()
assert works(load().saxpy) and len(calls) == 50 and all(calls) and mapped() < 20
""",
    "in calls of threads, with forks and collections": r"""
import random
gc.set_threshold(50, 2, 2)
stop, large = threading.Event(), np.ones(300_000, "f4")
library, failed = [load()], []

def call():
    while not stop.is_set():
        if not (library[0].saxpy(2.0, large, large)[-1] == 3 and works(library[0].saxpy)):
            failed.append("a call")

def collect():
    while not stop.wait(0.001):
        gc.collect()

def child():  # of a thread's state that nobody knows
    for k in range(3):
        if not (works(load().saxpy) and works(library[0].saxpy)):
            return 1
    gc.collect()
    return 0

threads = [threading.Thread(target=f) for f in (call, call, call, collect)]
for t in threads: t.start()
for k in range(60):
    library[0] = load()
    if random.random() < 0.5:
        works(library[0].saxpy)
    if k % 3 == 0:
        if (pid := os.fork()) == 0:
            try:
                code = child()
            except BaseException:
                code = 2
            os._exit(code)
        if os.waitpid(pid, 0)[1]:
            failed.append("a child")
stop.set()
for t in threads: t.join()
library.clear()
gc.collect()
assert works(load().saxpy)
assert not failed and mapped() < 20, (failed, mapped())
""",
    "used while the interpreter ends": r"""
import atexit
class Last:
    def __init__(self):
        self.kernel, self.function = load().saxpy, load().saxpy
        works(self.kernel), works(self.function)

    def __del__(self, x=x):
        self.kernel(2.0, x, x), self.function(2.0, x, x)

last, sys.last, library = Last(), Last(), load()
endless = np.ones(3_000_000, "f4")
def call(saxpy=load().saxpy):
    while True:
        saxpy(2.0, endless, endless, endless)
for k in range(3): threading.Thread(target=call, daemon=True).start()
atexit.register(lambda saxpy=load().saxpy: works(saxpy))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_libraries(tmp_path, name):
    command = [sys.executable, "-c", START + PROGRAMS[name], write_saxpy(tmp_path)]
    environment = dict(os.environ)
    if os.environ.get("PYDOTCOMPUTE_VALGRIND"):
        command = ["valgrind", "--error-limit=no", "--num-callers=8", *command]
        environment |= {"PYTHONMALLOC": "malloc"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert errors_of_valgrind(done.stderr) == []
