"""Mutation testing: small changes of the program, one at a time, which the tests should notice.

    python -m tests.mutation named [--name TEXT]
    python -m tests.mutation GROUP… [-n 30 | --each 2] [--seed 0] [--file PATTERN] [--tests 20] [--quick] [--list]

`named` tries those of named.py, none of which may live. Of a group (groups.py) so many mutants are drawn, or so many of
each file; each is tried on a copy of the repository. A run of the group's quick tests first notes which functions each
of them calls: a mutant meets those that call the function that it changes, the fastest first, then all others that
start processes of ours, and, with --quick left out, the slow ones. With --tests it meets so many of each at most, of
each test function the fastest first: one that lives is then a question, not an answer. Those that living.txt knows
(mutants that mean the same as the program, or change nothing but speed or the wording of a message) are counted apart.
Exit code 1: some other one lives. A mutant whose tests take much longer than they should, or that ends the test
process, counts as found.
figures.txt has the last figures.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterator

import pytest

from .groups import COMPILED, GROUPS, Group
from .named import NAMED
from .operators import Mutant, mutants
from .reach import telling

ROOT = Path(__file__).resolve().parents[2]
LIVING = Path(__file__).with_name("living.txt")
BROUGHT = ("numpy", "numba", "llvmlite.binding", "hypothesis", "jinja2", "yaml", "diskcache", "mpmath")  # read once
MEMORY = 8 << 30  # bytes of data that a test process may have
COPIED = ("pydotcompute", "tests", "templates", "kernels.yaml", "pyproject.toml", "README.md")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("groups", nargs="+", choices=["named", *GROUPS], metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("-n", type=int, default=30, help="mutants of each group (default: 30)")
    parser.add_argument("--each", type=int, default=0, help="mutants of each file, instead of -n")
    parser.add_argument("--seed", type=int, default=0, help="which ones are drawn (default: 0)")
    parser.add_argument("--file", default="*", help="of these files alone, such as '*/affine.py'")
    parser.add_argument("--name", default="", help="named ones whose name has this text in it")
    parser.add_argument("--tests", type=int, default=0, help="how many quick tests a mutant meets at most")
    parser.add_argument("--quick", action="store_true", help="leave the slow tests out")
    parser.add_argument("--list", action="store_true", help="say which ones would be tried")
    options = parser.parse_args(arguments)
    for module in BROUGHT:
        importlib.import_module(module)
    unknown = 0
    for name in options.groups:
        if name == "named":
            unknown += named([name for name in NAMED if options.name in name])
            continue
        drawn = draw(GROUPS[name], options.n, options.each, f"{name} {options.seed}", options.file)
        if options.list:
            for mutant in drawn:
                print(shown(mutant))
        else:
            unknown += campaign(name, drawn, known_to_live(), options.quick, options.tests)
    return 1 if unknown else 0


def draw(group: Group, number: int, each: int, seed: str, pattern: str) -> list[Mutant]:
    """So many of a group's mutants, or of each file's, the same for the same seed and program."""
    names = [(path.relative_to(ROOT).as_posix(), path) for path in files_of(group)]
    found = [mutants(name, path.read_text()) for name, path in names if fnmatch.fnmatch(name, pattern)]
    if each:
        drawn = [m for of in found for m in sampled(of, each, f"{seed} {of[0].file if of else ''}")]
    else:
        drawn = sampled([m for of in found for m in of], number, seed)
    return sorted(drawn, key=lambda m: (m.file, m.line))


def files_of(group: Group) -> list[Path]:
    package = ROOT / "pydotcompute"
    left_out = {path for name in group.without for path in package.glob(name)}
    return sorted({path for name in group.files for path in package.glob(name)} - left_out)


def sampled(found: list[Mutant], number: int, seed: str) -> list[Mutant]:
    return random.Random(seed).sample(found, min(number, len(found)))


def known_to_live() -> dict[tuple[str, str, str, str], str]:
    """What living.txt says of each mutant. A record is: a line "kind: why", one "file function", "- old", "+ new"."""
    found, why, where = {}, "", ("", "")
    for line in LIVING.read_text().splitlines():
        if line.startswith("- "):
            old = line[2:]
        elif line.startswith("+ "):
            found[*where, old, line[2:]] = why
        elif line.startswith("pydotcompute/"):
            file, _, function = line.partition(" ")
            where = (file, function)
        elif line and not line.startswith("#"):
            why = line
    return found


def shown(mutant: Mutant) -> str:
    return f"{mutant.file} {mutant.function}\n- {mutant.old}\n+ {mutant.new}"


def campaign(
    name: str, drawn: list[Mutant], known: dict[tuple[str, str, str, str], str], quick: bool, most: int
) -> int:  # fmt: skip
    """Try mutants of a group; how many live that nobody knows of. most: of tests that one meets, 0 for all."""
    group, killed, expected, lives = GROUPS[name], 0, 0, 0
    with copied() as copy:
        reach = reached(copy, group)
        print(f"# {name}: {len(drawn)} mutants, {len(reach)} tests", flush=True)
        slow = 0 if quick or not group.slow else measured(copy, group.slow)
        for mutant in drawn:
            first, rest = (quickest(tests, most) for tests in meeting(reach, mutant))
            with changed(copy / mutant.file, mutant.text):
                alive = all(passes(copy, group.quick, limit(reach, each), each) for each in (first, rest) if each)
                alive = alive and (quick or not group.slow or passes(copy, group.slow, slow))
            why = known.get(mutant.identity, "")
            killed, expected, lives = killed + (not alive), expected + bool(alive and why), lives + (alive and not why)
            if alive:
                print(f"\n{why or 'lives'} ({len(first)} tests)\n{mutant.line}: {shown(mutant)}\n", flush=True)
            else:
                print(".", end="", flush=True)
    print(f"\n# {name}: {len(drawn)} mutants, {killed} found, {expected} known to live, {lives} other live", flush=True)
    return lives


Reach = dict[str, tuple[float, list[str], bool]]  # what reach.py writes of each test


def limit(reach: Reach, tests: list[str]) -> float:
    """How many seconds these may take with a mutant."""
    return 2 * sum(reach[test][0] for test in tests) + 45


def reached(copy: Path, group: Group) -> Reach:
    """What each quick test calls. Without a mutant they must pass."""
    answer = copy.parent / "reach"
    with ExitStack() as stack:
        for path in files_of(group):
            name = path.relative_to(ROOT).as_posix()
            if not is_compiled(name):
                stack.enter_context(changed(copy / name, telling(name, path.read_text())))
        if not passes(copy, group.quick, 3600, noted=answer):
            raise SystemExit(unfit(copy, group.quick))
    answered: Reach = json.loads(answer.read_text())
    return answered


def is_compiled(file: str) -> bool:
    """Whether compilers read this file's functions, which then can tell nobody that they are called."""
    return any(fnmatch.fnmatch(file, f"pydotcompute/{pattern}") for pattern in COMPILED)


def meeting(reach: Reach, mutant: Mutant) -> tuple[list[str], list[str]]:
    """The tests that call what a mutant changes, the fastest first, and of the others those that start processes. What
    stands outside of functions is met by each test that calls any of its file, and what compilers read by every one."""
    order = sorted(reach, key=lambda test: reach[test][0])
    if is_compiled(mutant.file):
        return order, []
    parts = mutant.function.split(".")
    around = {f"{mutant.file} {'.'.join(parts[:k])}" for k in range(1, len(parts) + 1)}
    first = [test for test in order if not around.isdisjoint(reach[test][1])]
    if not first:
        first = [test for test in order if any(f.startswith(f"{mutant.file} ") for f in reach[test][1])]
    if not first and telling(mutant.file, mutant.text) == mutant.text:
        return order, []  # a file without functions, which whoever imports it meets
    return first, [test for test in order if reach[test][2] and test not in first]


def quickest(tests: list[str], most: int) -> list[str]:
    """At most so many of these, the fastest first: of each test function one, before any has two. 0: all."""
    turns, seen = {}, Counter[str]()
    for test in tests:
        name = test.partition("[")[0]
        turns[test] = seen[name]
        seen[name] += 1
    chosen = set(sorted(tests, key=lambda test: turns[test])[: most or None])
    return [test for test in tests if test in chosen]


def named(names: list[str]) -> int:
    """Try the mutants of these names; how many live."""
    lives, limits = 0, {}
    os.environ["PYDOTCOMPUTE_TEST_EVERYTHING"] = "1"  # the suite may leave out the one test that finds it
    with copied() as copy:
        for name in names:
            file, old, new, tests = NAMED[name]
            text = (copy / file).read_text()
            if text.count(old) != 1:
                raise SystemExit(f"{name}: {file} has {old!r} {text.count(old)} times, expected once: change named.py")
            limits[tests] = limits.get(tests) or measured(copy, tests)
            with changed(copy / file, text.replace(old, new)):
                alive = passes(copy, tests, limits[tests])
            lives += alive
            print(f"{'LIVES' if alive else 'found'}: {name}", flush=True)
    print(f"# named: {len(names)} mutants, {len(names) - lives} found, {lives} live", flush=True)
    return lives


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the repository's working tree."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Path(folder, "repository")
        for part in COPIED:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / part, copy / part)
        yield copy


@contextmanager
def changed(file: Path, text: str) -> Iterator[None]:
    """The file with another text for a while."""
    right = file.read_text()
    file.write_text(text)
    yield
    file.write_text(right)


def measured(copy: Path, tests: tuple[str, ...]) -> float:
    """How many seconds these tests may take with a mutant. Without one they must pass."""
    start = time.monotonic()
    if not passes(copy, tests, 3600):
        raise SystemExit(unfit(copy, tests))
    return 4 * (time.monotonic() - start) + 30


def unfit(copy: Path, tests: tuple[str, ...]) -> str:
    last = (copy.parent / "output").read_text(errors="replace")[-2000:]
    return f"{last}\nthe tests {' '.join(tests)} fail without a mutant"


def passes(
    copy: Path, tests: tuple[str, ...], limit: float, only: list[str] | None = None, noted: Path | None = None
) -> bool:
    """Whether these tests, or only those of these names, pass in a copy of the repository within so many seconds; what
    they call is noted in a file, if one is given."""
    home = copy.parent / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    command = ["-x", "-q", "-p", "no:cacheprovider", "-p", "tests.mutation.reach", "--basetemp", str(home / "tests")]
    variables = {"PYTHONPATH": str(copy), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    if noted:
        variables["PYDOTCOMPUTE_REACH"] = str(noted)
    else:
        variables["PYTHONDONTWRITEBYTECODE"] = "1"  # what Python takes for that of a file may be another mutant's
    selected = [test if test.startswith("-") else f"tests/{test}" for test in tests]
    if only:
        (home / "reaching").write_text(json.dumps(only))
        variables["PYDOTCOMPUTE_REACHING"] = str(home / "reaching")
        files = dict.fromkeys(test.partition("::")[0] for test in only)
        selected = [*files, *(test for test in tests if test.startswith("-"))]
    process = multiprocessing.get_context("fork").Process(target=tested, args=(copy, [*command, *selected], variables))
    process.start()
    process.join(limit)
    try:
        os.killpg(process.pid or 0, signal.SIGKILL)  # whatever it started, too
    except ProcessLookupError:
        pass
    process.join()
    return process.exitcode == 0


def tested(copy: Path, arguments: list[str], variables: dict[str, str]) -> None:
    """Pytest in a copy of the repository: in a process that has what others wrote in memory, and nothing of ours."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    output = os.open(copy.parent / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.update(variables)
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in variables
    os.chdir(copy)
    sys.path[:] = [str(copy), *(path for path in sys.path if path and path != str(ROOT))]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pydotcompute", "tests")]:
        del sys.modules[name]
    os._exit(int(pytest.main(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
