"""What others may do to the files of a project and its cache, with what every command then has to do: a program, run in
a process of its own, because what waits for a FIFO cannot be interrupted. The kernels are the abacus's, whose compiler
takes no time. Prints what went wrong, and last how much was tried.

    python damage.py FOLDER odd FIRST LAST  what is no file, in the place of each one: the kinds of these numbers
    python damage.py FOLDER BEGIN END       damages, each drawn from its number
    python damage.py FOLDER records 0 SHARE one in SHARE parts of an index and of a record, each made what else JSON has,
                                            with digests that fit; what loading refuses, is found and made anew
    python damage.py FOLDER bytes 0 SHARE   one in SHARE bytes of the index and the records: each bit, 0, 255, no such
                                            byte, that byte twice; all of that is found when it is read
"""

import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import socket
import sys
import warnings
from pathlib import Path

os.environ["PYDOTCOMPUTE_DEBUG"] = "1"  # an internal error is raised
sys.path[:0] = [str(Path(__file__).parents[1] / "packages"), str(Path(__file__).parents[2])]

import numpy as np  # noqa: E402

import pydotcompute  # noqa: E402
from pydotcompute.cache.files import sha256  # noqa: E402
from pydotcompute.cache.inspection import verify  # noqa: E402
from pydotcompute.cache.sealed import seal  # noqa: E402
from pydotcompute.cache.writer import read_manifest  # noqa: E402
from pydotcompute.cli import main  # noqa: E402
from pydotcompute.errors import KernelNotBuiltError  # noqa: E402
from tests.runtime.test_changed_records import changed, places  # noqa: E402

KERNELS = """
version: 1
targets: [abacus:beads]
kernels:
  one: {signature: "(x: float64[...]) -> (out: float64[...])", body: "for i in grid(size): out[i] = 2 * x[i]"}
  two: {signature: "(x: float64[...]) -> (out: float64[...])", template: two.py.j2}
"""
TEMPLATE = "def two(x, out):\n    for i in grid(size):\n        out[i] = 3 * x[i]\n"
DATABASE = "build/cache/keys/cache.db"


def command(*arguments):
    """The exit code of a command, and what it said; an internal error is raised."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        return main(list(arguments)), err.getvalue()


def write(root):
    (root / "templates").mkdir(parents=True)
    (root / "kernels.yaml").write_text(KERNELS)
    (root / "pyproject.toml").write_text("[tool.pydotcompute]\njobs = 1\n")
    (root / "templates" / "two.py.j2").write_text(TEMPLATE)
    for more in ((), ("--bundle", str(root / "bundle"))):
        assert command("build", "-C", str(root), *more)[0] == 0


def call(root):
    """Both kernels: "right", or "refused" with the error of a cache that is not as it should be. A number that is
    wrong is an AssertionError."""
    abacus = pydotcompute.get_backend("abacus")
    try:
        library = pydotcompute.load(root)
        for name, factor in (("one", 2), ("two", 3)):
            assert (abacus.to_host(library[name](abacus.to_device(np.ones(3)))) == factor).all(), f"{name} is wrong"
    except KernelNotBuiltError as error:
        return "refused", str(error)
    return "right", ""


def attempts(root, whole, calls):
    """What is tried, one after the other; the last is a call. whole: with commands that a cache is moved about by.
    calls: the first is one too."""
    if calls:
        yield "call", lambda: call(root)
    for name in ("list", "stats", "verify"):
        yield f"cache {name}", lambda name=name: command("cache", name, "-C", str(root))
    yield "explain", lambda: command("explain", "one", "-C", str(root))
    if whole:
        packed, written = str(root.parent / "packed"), str(root.parent / "written")
        yield "call of the bundle", lambda: call(root / "bundle")
        yield "holes of the bundle", lambda: command("check", "--bundle", str(root / "bundle"))
        for words in (
            ("config",), ("show", "two", "--source"), ("check", "two", "--case", "size=1"), ("cache", "dir"),
            ("cache", "show", "one"), ("cache", "extract", "two", "-o", written), ("cache", "export", packed),
            ("cache", "import", packed), ("report", "-o", written), ("build", "--check"),
            ("build", "--bundle", str(root / "bundle")),
        ):  # fmt: skip
            yield " ".join(words[:2]), lambda words=words: command(*words, "-C", str(root))
    yield "build", lambda: command("build", "-C", str(root))
    if whole:
        yield "prune", lambda: command("cache", "prune", "--unused", "-C", str(root))
    yield "call after it", lambda: call(root)


def tried(what, root, whole=False, calls=True):
    """How many attempts; prints what is neither done nor refused with a message. What was built calls."""
    count, built = 0, False
    for count, (name, attempt) in enumerate(attempts(root, whole, calls), 1):  # noqa: B007
        faulthandler.dump_traceback_later(20, exit=True)
        try:
            code, said = attempt()
        except BaseException as error:  # noqa: BLE001
            print(f"{what}: {name}: {type(error).__name__}: {error}", flush=True)
            continue
        finally:
            faulthandler.cancel_dump_traceback_later()
        if name == "build":
            built = code == 0
        if not (code in (0, "right") or said) or (name == "call after it" and built and code != "right"):
            print(f"{what}: {name}: {code} {said}", flush=True)
    return count


def plant(path, kind):
    """Put what is no file, or too large, in the place of a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    match kind:
        case "a FIFO":
            os.mkfifo(path)
        case "a socket":
            with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
                made.bind(path.name)
        case "an endless file":
            path.symlink_to("/dev/zero")
        case "an endless link":
            path.symlink_to(path.name)
        case "a link to nothing":
            path.symlink_to("/nowhere/at/all")
        case "a folder":
            path.mkdir()
        case "a terabyte of holes":
            with open(path, "wb") as file:
                file.truncate(1 << 40)


KINDS = (
    "a FIFO", "a terabyte of holes", "an endless link", "an endless file", "a socket", "a link to nothing", "a folder",
)  # fmt: skip


def damage(data, rng, text):
    """One damage: a bit, bytes, or a part that is missing. text: any place; else as often one that is no zero."""
    at = rng.randrange(len(data))
    if not text and rng.random() < 0.5:
        at = rng.choice([k for k, byte in enumerate(data) if byte])
    length = rng.randrange(1, 64)
    match rng.randrange(5):
        case 0:
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            data[at : at + length] = rng.randbytes(length)
        case 2:
            data[at : at + length] = bytes(length)
        case 3:
            del data[at : at + length]
        case 4:
            del data[at:]


def odd(whole, work, kinds):
    """Puts something else in the place of every file and folder in turn; gives what it put where."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    places = {str(path.relative_to(whole)) for path in whole.rglob("*")} | {f"{DATABASE}-wal", "build/cache/lock.held"}
    for place in sorted(places):
        for kind in kinds:
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(whole, work)
            plant(work / place, kind)
            yield f"{kind} as {place}"


def random_damages(whole, work, numbers):
    """Damages a file of the cache, each time another one of a whole cache; gives what it damaged."""
    paths = [path for path in (whole / "build" / "cache").rglob("*") if path.is_file() and path.name != "lock"]
    places = sorted(str(path.relative_to(whole)) for path in paths) + [DATABASE] * 3
    shutil.copytree(whole, work)
    for number in numbers:
        rng = random.Random(number)
        shutil.rmtree(work / "build" / "cache")
        shutil.copytree(whole / "build" / "cache", work / "build" / "cache")
        path = work / rng.choice(places)
        data = bytearray(path.read_bytes())
        damage(data, rng, path.suffix != ".db")
        path.chmod(0o644)
        path.write_bytes(data)
        yield f"damage {number} of {path.name}"


def changes(data, at):
    """A file with one byte made something else: no byte, two, a bit changed, 0, 255."""
    before, byte, after = data[:at], data[at], data[at + 1 :]
    values = {byte ^ (1 << bit) for bit in range(8)} | ({0, 255} - {byte})
    for part in (b"", bytes([byte, byte]), *(bytes([value]) for value in values)):
        yield part, before + part + after


def bytes_changed(root, share):
    """How many changes of one byte were made; prints what is not found by all who read it."""
    cache, count = root / "build" / "cache", 0
    for path in (cache / "manifest.json", *sorted((cache / "records").iterdir())):
        data = path.read_bytes()
        path.chmod(0o644)
        for at in range(0, len(data), share):
            count += sum(1 for _ in changes(data, at))
            if not (child := os.fork()):  # a library that was loaded once keeps what it has read
                for part, found in changes(data, at):
                    path.write_bytes(found)
                    try:
                        state = call(root)[0], bool(read_manifest(str(cache))[1]), any(f.fatal for f in verify(str(cache)))
                    except Exception as error:  # noqa: BLE001
                        state = f"{type(error).__name__}: {error}"
                    if state != ("refused", True, True):
                        print(f"{path.name}: byte {at} as {part}: {state}", flush=True)
                os._exit(0)
            if status := os.waitpid(child, 0)[1]:
                print(f"{path.name}: byte {at}: wait status {status}", flush=True)
        path.write_bytes(data)
    return count


VALUES = (..., None, True, 7, 4.0, -1, 10**400, "4", ".so\0", "\ud800", [], {}, [["x"]])  # `...`: nothing is there


def is_refused(root):
    """Whether the library, or a kernel of it, is not as it should be."""
    try:
        library = pydotcompute.load(root)
        for name in library:
            library[name]
    except KernelNotBuiltError:
        return True
    return False


def records_changed(whole, work, share):
    """Gives what it made of each part: of an index, and of a record that the index names."""
    shutil.copytree(whole, work)
    cache = work / "build" / "cache"
    index = json.loads((cache / "manifest.json").read_text())
    record = json.loads((cache / "records" / f"{index['kernels']['two']}.json").read_text())
    parts = [("version",), ("kernels",), ("stale",), *(("record", *path) for path in places(record))]
    for path in [*parts[:3], *parts[3::share]]:
        for value in VALUES:
            if path == ("kernels",) and value == {}:
                continue  # of no kernels, which is right
            shutil.rmtree(cache)
            shutil.copytree(whole / "build" / "cache", cache)
            new = changed({**index, "record": record}, path, value)
            data = json.dumps(new.pop("record")).encode()
            (cache / "records" / f"{sha256(data)}.json").write_bytes(data)
            if path[0] == "record":
                new["kernels"]["two"] = sha256(data)
            new.pop("digest")
            (cache / "manifest.json").write_bytes(seal(json.dumps(new)))
            refused = is_refused(work)
            if refused and not any(f.fatal for f in verify(str(cache))):
                print(f"{path} as {value!r}: refused, and verify finds nothing", flush=True)
            yield f"{'.'.join(map(str, path))} as {str(value)[:20]!r}"
            if is_refused(work):
                print(f"{path} as {value!r}: no build makes it right", flush=True)


def run(folder, *which):
    whole, work = folder / "whole", folder / "work"
    write(whole)
    if which[0] == "bytes":
        print(f"{bytes_changed(whole, int(which[2]))} damages")
        return
    is_odd, by_hand, numbers = which[0] == "odd", which[0] == "records", slice(*map(int, which[-2:]))
    if is_odd:
        damages = odd(whole, work, KINDS[numbers])
    elif by_hand:
        damages = records_changed(whole, work, int(which[2]))
    else:
        damages = random_damages(whole, work, range(numbers.start, numbers.stop))
    # A record that says of another signature is held to by calls, until an object of it is loaded.
    counts = [tried(what, work, whole=is_odd, calls=not by_hand) for what in damages]
    print(f"{len(counts)} damages, {sum(counts)} attempts")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(Path(sys.argv[1]), *sys.argv[2:])
