"""The pool of threads: one of a process for all libraries, made by the first large call, anew in the child of a fork."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
DECLARATION = """
version: 1
targets: [cpu:x86-64]
kernels:
  saxpy:
    signature: "(a: T, x: T[n], y: T[n]) -> (out: T[n])"
    types: {T: [float32, float64]}
    body: |
      for i in grid(n):
          out[i] = a * x[i] + y[i]
"""

START = r"""
import ctypes, os, resource, signal, sys, threading, time
import numpy as np
import pydotcompute

large, small = np.ones(2_000_000, "f4"), np.ones(8, "f4")
both = os.sched_getaffinity(0)
tasks = lambda: len(os.listdir("/proc/self/task"))
before = tasks()
def ends_with(count):
    "Whether so many threads are left: one that is joined may not have gone yet."
    end = time.monotonic() + 20
    while tasks() != count and time.monotonic() < end:
        time.sleep(0.001)
    return tasks() == count

saxpy = pydotcompute.load(sys.argv[1]).saxpy
works = lambda: bool((saxpy(2.0, large, large) == 3).all())

def together(work, others=1):
    "Whatever threads run `work` in one call of the pool."
    call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda context: work())
    address = next(value for name, value in vars(sys).items() if name.startswith("_pydotcompute_pool"))[0]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)(call, None, others)

def by_two(look):
    "What `look` gives on this thread, and on another one at the same time."
    barrier, found = threading.Barrier(2), {}
    def work():
        barrier.wait(20)
        found[threading.get_native_id()] = look()
    together(work)
    return found.pop(threading.get_native_id()), *found.values()
"""
PROGRAMS = {
    "made by the first large call, and kept": r"""
saxpy(2.0, small, small)
assert tasks() == before
assert all(works() for k in range(50)) and tasks() == before + 1
assert by_two(threading.get_native_id)[1] in by_two(threading.get_native_id)
""",
    "one for calls of many threads, to the last element": r"""
failed = []
def call(k):
    x = np.arange(1_000_000 + k, dtype="f4")
    for _ in range(40):
        if not (saxpy(float(k), x, x) == np.float32(k + 1) * x).all():
            failed.append(k)
threads = [threading.Thread(target=call, args=(k,)) for k in range(6)]
for t in threads: t.start()
time.sleep(0.05)
assert tasks() <= before + 7, tasks()
for t in threads: t.join()
assert not failed and ends_with(before + 1)
""",
    "one for copies of the package": r"""
assert works()
for name in [n for n in sys.modules if n.partition(".")[0] == "pydotcompute"]:
    del sys.modules[name]
import pydotcompute as other
assert other is not pydotcompute
theirs = other.load(sys.argv[1]).saxpy
assert (theirs(2.0, large, large) == 3).all() and works() and tasks() == before + 1
""",
    "made anew in children, whatever the other threads do": r"""
assert works()
stop = threading.Event()
def call():
    while not stop.is_set():
        works()
threads = [threading.Thread(target=call) for k in range(3)]
for t in threads: t.start()
for k in range(40):
    if (pid := os.fork()) == 0:
        alone = tasks() == 1
        os._exit(0 if alone and works() and works() and tasks() == 2 else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for t in threads: t.join()
assert works() and ends_with(before + 1)
""",
    "made anew in a child's child and by two threads of a child at once": r"""
assert works()
def child(depth):
    if (pid := os.fork()) == 0:
        done = []
        threads = [threading.Thread(target=lambda: done.append(works())) for k in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        os._exit(0 if done == [True] * 4 and ends_with(2) and (not depth or child(depth - 1) == 0) else 1)
    return os.waitpid(pid, 0)[1]
assert child(2) == 0
""",
    "not used by a thread that has one processor": r"""
os.sched_setaffinity(0, {min(both)})
assert works() and tasks() == before
os.sched_setaffinity(0, both)
assert works() and tasks() == before + 1
""",
    "computing as the caller does": r"""
libm, one, little = ctypes.CDLL("libm.so.6"), 1.0, 1e-30
assert works() and by_two(lambda: one + little > 1) == (False, False)
libm.fesetround(0x800 if os.uname().machine == "x86_64" else 0x400000)  # upwards
assert by_two(lambda: one + little > 1) == (True, True)
libm.fesetround(0)
assert by_two(lambda: one + little > 1) == (False, False)
assert set(map(frozenset, by_two(lambda: os.sched_getaffinity(0)))) == {frozenset(both)}
""",
    "leaving signals to the program's threads": r"""
mine = signal.pthread_sigmask(signal.SIG_BLOCK, [])
assert works()
_, theirs = by_two(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, []))
assert {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGALRM} <= theirs
assert not {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, 32, 33} & theirs
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mine
""",
    "kept while the libraries come and go": r"""
import gc
mapped = lambda: sum("memfd:" in line for line in open("/proc/self/maps"))
clock = iter(range(10**9))
def load():  # as after a build
    time = next(clock)
    os.utime(os.path.join(sys.argv[1], "build", "cache", "manifest.json"), ns=(time, time))
    return pydotcompute.load(sys.argv[1])
del saxpy
doubles = np.ones(1_000_000)
def works(saxpy):
    return bool((saxpy(2.0, large, large) == 3).all() and (saxpy(2.0, doubles, doubles) == 3).all())
assert works(load().saxpy) and works(load().saxpy)
some, stop, failed, library = mapped(), threading.Event(), [], [load()]
def call():
    while not stop.is_set():
        if not works(library[0].saxpy):
            failed.append("a call")
threads = [threading.Thread(target=call) for k in range(3)]
for t in threads: t.start()
for k in range(60):
    library[0] = load()
    assert works(library[0].saxpy)
    if k % 5 == 0:
        if (pid := os.fork()) == 0:
            os._exit(0 if works(load().saxpy) and works(library[0].saxpy) else 1)
        assert os.waitpid(pid, 0)[1] == 0
stop.set()
for t in threads: t.join()
library[0] = load()
gc.collect()
assert works(load().saxpy) and not failed and ends_with(before + 1) and mapped() <= 2 * some, (mapped(), some)
""",
    "no hindrance to the end of the process": r"""
import atexit
atexit.register(works)
class Last:
    def __del__(self, works=works):
        works()
sys.last = Last()
def call():
    while True:
        works()
for k in range(3): threading.Thread(target=call, daemon=True).start()
time.sleep(0.1)
""",
    "no larger than there is room for": r"""
limit = resource.getrlimit(resource.RLIMIT_AS)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
out = np.empty_like(large)
saxpy(2.0, small, small)
resource.setrlimit(resource.RLIMIT_AS, (used + (500 << 10), limit[1]))
saxpy(2.0, large, large, out)
assert tasks() == before
resource.setrlimit(resource.RLIMIT_AS, limit)
assert (out == 3).all() and works() and tasks() == before + 1
""",
    "asked by a handler of a signal, in the midst of a call": r"""
heard = []
signal.signal(signal.SIGALRM, lambda *_: heard.append(works()))
huge = np.ones(40_000_000, "f4")
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
end = time.monotonic() + 2
while time.monotonic() < end:
    saxpy(2.0, huge, huge, huge)
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(heard) > 5 and all(heard)
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / "kernels.yaml").write_text(DECLARATION)
    subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", str(root)], check=True, capture_output=True)
    return str(root)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_pool_is(project, name):
    command = [sys.executable, "-c", START + PROGRAMS[name], project]
    environment = {**os.environ, "PYDOTCOMPUTE_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]


def test_there_is_none_for_one_thread(project):
    program = START + "assert works() and tasks() == before and not [n for n in vars(sys) if 'pydotcompute' in n]"
    environment = {**os.environ, "PYDOTCOMPUTE_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", program, project], env=environment, check=True, timeout=120)
