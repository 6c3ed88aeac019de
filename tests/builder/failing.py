"""Every operation on files that a command does fails once, or from then on, with each error: a program, run with
failing.c preloaded. The kernels are the abacus's, whose compiler takes no time, and one for a CPU.

    python failing.py FOLDER SHARE files    of each command one in SHARE operations, in turn with each error
    python failing.py FOLDER SHARE memory   each command with SHARE × 8 KiB more than it begins with, twice that, …

A trial is a process forked from this one. After each: the command did its work, or gave one message and exit code 1; no
traceback; what the cache holds is whole, and calls right; the next build leaves nothing to be wished for. Prints what
went otherwise, and last how much was tried.
"""

import contextlib
import ctypes
import errno
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import damage  # noqa: E402
import numpy as np  # noqa: E402

import pydotcompute  # noqa: E402
from pydotcompute.builder import pool, worker  # noqa: E402
from pydotcompute.cache.inspection import verify  # noqa: E402
from pydotcompute.cli import main  # noqa: E402

del os.environ["PYDOTCOMPUTE_DEBUG"]
CPU = """
version: 1
targets: [cpu:x86-64]
kernels:
  cube: {signature: "(x: float32[...]) -> (out: float32[...])", body: "for i in grid(size): out[i] = x[i] * x[i] * x[i]"}
"""
LIBC = ctypes.CDLL(None)
LIBC.failing_told.restype = ctypes.c_char_p
ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.ENOMEM, errno.EDQUOT, errno.EMFILE, errno.EROFS)


class Forked:
    """In the place of subprocess.Popen: a worker as a fork of this process, which has all modules."""

    def __init__(self, command, *, stdin, stdout, stderr, cwd, env, pass_fds):
        self.pid = os.fork()
        if not self.pid:
            with contextlib.suppress(BaseException):
                os.dup2(stderr.fileno(), 2)
                os.chdir(cwd)
                worker.main(pass_fds[0])
            os._exit(0)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        if self.pid:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            self.pid = 0
        return self.status


def in_child(function, said):
    """What a function returns in a fork, with its talk in a file: its exit code, negative for a signal."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 70
    try:
        to = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(to, 1), os.dup2(to, 2)
        signal.alarm(60)
        code = function()
        sys.stdout.flush(), sys.stderr.flush()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(code)


def numbers(root):
    """By what the kernels of a cache multiply; nothing where a message says why they do not."""
    abacus, found = pydotcompute.get_backend("abacus"), []
    try:
        library = pydotcompute.load(root)
        for name in ("one", "two"):
            found.append(int(abacus.to_host(library[name](abacus.to_device(np.ones(1))))[0]))
    except (pydotcompute.KernelNotBuiltError, OSError) as error:
        print(error)
    return found


def call(root, wanted):
    found = numbers(root)
    assert found == wanted[: len(found)], f"{found}, not {wanted}"
    return 0 if found == wanted else 1


def cubes(root):
    try:
        found = pydotcompute.load(root).cube(np.full(2, 2.0, np.float32))
    except (pydotcompute.KernelNotBuiltError, OSError) as error:
        print(error)
        return 1
    assert (found == 8).all(), found
    return 0


def limited(more, function):
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))
    try:
        return function()
    except MemoryError:
        print("no memory")  # of a program's own calls, it is the program's to say
    except SystemError as error:  # CPython 3.11 where it imports: it forgets to say that there is none
        if "without exception set" not in str(error):
            raise
        print("no memory")
    return 1


def commands(root, wanted):
    """By name: what is tried."""
    packed, written, bundle = (str(root.parent / name) for name in ("packed", "written", "bundle"))

    def ours(*words):
        return lambda: main([*words, "-C", str(root)])

    yield "call", lambda: call(root, wanted)
    for words in (
        ("build",), ("build", "--bundle", bundle), ("build", "--check"), ("explain", "one"), ("show", "two", "--source"),
        ("check", "two", "--case", "size=1"), ("config",), ("report", "-o", written), ("cache", "list"),
        ("cache", "dir"), ("cache", "stats"), ("cache", "verify"), ("cache", "show", "one"),
        ("cache", "extract", "two", "-o", written), ("cache", "export", packed), ("cache", "import", packed),
        ("cache", "prune", "--unused"), ("cache", "clear"),
    ):  # fmt: skip
        yield " ".join(words[:3]), ours(*words)
    yield "call of the bundle", lambda: call(root.parent / "bundle", [2, 3])


class Campaign:
    def __init__(self, folder, share):
        self.share, self.trials, self.wrong = share, 0, 0
        self.whole, self.work, self.said = folder / "whole", folder / "work", folder / "said"
        self.root = self.work / "project"

    def prepare(self):
        damage.write(self.whole / "project")
        whole = str(self.whole / "project")
        assert main(["build", "--bundle", str(self.whole / "bundle"), "-C", whole]) == 0
        assert main(["cache", "export", str(self.whole / "packed"), "-C", whole]) == 0
        (self.whole / "tmp").mkdir()
        (self.whole / "cpu").mkdir()
        (self.whole / "cpu" / "kernels.yaml").write_text(CPU)
        assert main(["build", "-C", str(self.whole / "cpu")]) == 0

    def fresh(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.whole, self.work, symlinks=True)
        tempfile.tempdir = str(self.work / "tmp")

    def trial(self, function, at, error, all_):
        """The exit code of what is tried with one fault, how many operations there were, and which one failed."""

        def tried():
            LIBC.failing_begin(os.fsencode(f"{self.work}/"), at, error, all_)
            return function()

        LIBC.failing_begin(b"", 0, 0, 0)
        code = in_child(tried, self.said)
        return code, LIBC.failing_end(), LIBC.failing_told().decode()

    def edit(self):
        (self.root / "kernels.yaml").write_text(damage.KERNELS.replace("2 * x", "5 * x"))

    def of(self, name, function, prepare, after):
        """One command with a fault at each of its operations, or a share of them."""
        at = 1 + sum(map(ord, name)) % self.share
        while True:
            error, all_ = ERRORS[(at // self.share) % len(ERRORS)], at // self.share % 3 == 2
            prepare()
            code, count, where = self.trial(function, at, error, all_)
            told = self.said.read_text(errors="replace")
            if not where:
                if code not in (0, 1):
                    self.tell(name, f"without a fault: {code} {told}")
                return
            self.trials += 1
            what = f"{name}: {where}, number {at}{' and all after it' if all_ else ''}: {os.strerror(error)}"
            if code not in (0, 1, 2) or "Traceback" in told or "internal error" in told or code and not told.strip():
                self.tell(what, f"exit code {code}: {told.strip() or 'nothing said'}")
            elif problem := after(code):
                self.tell(what, f"exit code {code} {told}: then {problem}")
            at += self.share

    def tell(self, *what):
        self.wrong += 1
        print(": ".join(what).replace(str(self.work), ""), flush=True)

    def whole_after(self, code, built, bundle):
        """What is wrong with the project after a command with a fault, and after the build that follows."""

        def look():
            root, wanted = self.root, [5, 3]
            assert numbers(root) in ([2, 3], [5, 3], [2], [5], []), "wrong numbers"
            if built and not code:
                assert numbers(root) == wanted, f"not built: {numbers(root)}"
            cache = str(root / "build" / "cache")
            faults = [f for f in verify(cache) if f.fatal and f.fault != "there is none"] if os.path.exists(cache) else []
            assert not faults, faults
            if (self.work / "bundle").exists():
                assert numbers(self.work / "bundle") in ([2, 3], [5, 3]), "the bundle does not call"
            self.edit()
            assert main(["build", "-C", str(root)]) == 0, "the next build fails"
            assert numbers(root) == wanted, f"the next build is not right: {numbers(root)}"
            assert main(["cache", "verify", "-C", str(root)]) == 0, "cache verify"
            if bundle:
                assert main(["build", "--bundle", str(self.work / "bundle"), "-C", str(root)]) == 0
                assert numbers(self.work / "bundle") == wanted, "the next bundle is not right"
            return 0

        return "" if not in_child(look, self.said) else self.said.read_text(errors="replace")

    def run(self):
        for name, function in commands(self.root, [2, 3]):
            built = name.startswith("build") and "check" not in name

            def prepare(built=built):
                self.fresh()
                if built:
                    self.edit()

            self.of(name, function, prepare, lambda code, b=built, n=name: self.whole_after(code, b, "bundle" in n))

    def without_locks(self):
        """A build where the file system has no locks, neither flock nor those that SQLite takes."""
        self.fresh()
        self.edit()
        code, _, _ = self.trial(lambda: main(["build", "-C", str(self.root)]), 0, 0, 2)
        told = self.said.read_text()
        if code or "has no locks" not in told or (problem := self.whole_after(code, True, False)):
            self.tell("without locks", f"exit code {code}: {told}", locals().get("problem", ""))

    def run_cpu(self):
        """Loading and calling a CPU's kernel, and building it anew."""
        root = self.work / "cpu"

        def look(built):
            cache = str(root / "build" / "cache")
            faults = [f for f in verify(cache) if f.fatal]
            assert not faults, faults
            assert cubes(root) == 0, "the kernel does not call"
            assert main(["build", "-C", str(root)]) == 0, "the next build fails"
            assert main(["build", "--check", "-C", str(root)]) == 0, "the next build leaves something"
            assert not built or cubes(root) == 0, "the next build does not call"
            return 0

        def after(built):
            return "" if not in_child(lambda: look(built), self.said) else self.said.read_text(errors="replace")

        def edited():
            self.fresh()
            (root / "kernels.yaml").write_text(CPU.replace("x[i] * x[i] * x[i]", "x[i] * (x[i] * x[i])"))

        self.of("call of a CPU's kernel", lambda: cubes(root), self.fresh, lambda code: after(False))
        self.of("build for a CPU", lambda: main(["build", "-C", str(root)]), edited, lambda code: after(True))

    def run_memory(self):
        """Every command with little more memory than it begins with."""
        for name, function in [*commands(self.root, [2, 3]), ("call of a CPU's kernel", lambda: cubes(self.work / "cpu"))]:
            for more in range(0, 1 << 21, self.share << 13):
                self.fresh()
                self.edit()
                self.trials += 1
                code = in_child(lambda more=more, function=function: limited(more, function), self.said)
                told = self.said.read_text(errors="replace")
                if code not in (0, 1, 2) or "Traceback" in told or "internal error" in told or code and not told.strip():
                    self.tell(f"{name} with {more} bytes more", f"exit code {code}: {told.strip() or 'nothing said'}")
                elif problem := self.whole_after(code, False, False):
                    self.tell(f"{name} with {more} bytes more", f"exit code {code} {told}: then {problem}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pool.subprocess = type("Forking", (), {"Popen": Forked, "DEVNULL": None})
    folder = Path(sys.argv[1])
    os.environ |= {"HOME": str(folder / "work"), "XDG_CACHE_HOME": str(folder / "work" / "own")}
    campaign = Campaign(folder, int(sys.argv[2]))
    campaign.prepare()
    if sys.argv[3] == "files":
        campaign.without_locks()
        campaign.run()
        campaign.run_cpu()
    else:
        campaign.run_memory()
    print(f"{campaign.trials} faults")
