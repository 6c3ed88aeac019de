"""'build --debug-info': debuggers and profilers see the names of kernels, and lines of kernels.yaml and templates."""

import ctypes
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

from pydotcompute import cache, load
from pydotcompute.cache.objects import open_library

pytestmark = pytest.mark.slow  # everything is built for the occasion

KERNELS = """\
version: 1
targets: ["cpu:x86-64-v2"]
kernels:
  poly:
    signature: "(x: float32[n], index: int64[n]) -> (out: float32[n], last: float32)"
    body: |
      for i in grid(n):
          out[i] = 3 * x[i] * x[i] + 1
      s = float32(0)
      for k in range(n):
          s = s * x[index[k]] + 1
      last[()] = s
  twice:
    signature: "(x: float32[n]) -> (out: float32[n])"
    template: twice.py.j2
"""
STORE, CARRIED = 8, 11  # lines of kernels.yaml
TEMPLATE = """\
{# a template #}
def twice(x, out):
    for i in grid(n):
        out[i] = x[i] + x[i]
"""
PROGRAM = """\
import sys, time
import numpy as np, pydotcompute
lib = pydotcompute.load(sys.argv[1])
x, index = np.ones(1000, np.float32), np.arange(1000)
end = time.monotonic() + float(sys.argv[2])
while True:
    lib.poly(x, index), lib.twice(x)
    if time.monotonic() >= end:
        break
again = pydotcompute.load(sys.argv[1])  # the same artifact once more has variables of its own
print(lib.twice(x)[0], again.twice(x)[0])
print(*{line.split()[-1] for line in open("/proc/self/maps") if "objects/" in line}, sep="\\n")
"""


def pydotcompute(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "pydotcompute", *arguments], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done


def written(root):
    (root / "templates").mkdir(parents=True)
    (root / "kernels.yaml").write_text(KERNELS)
    (root / "templates" / "twice.py.j2").write_text(TEMPLATE)
    (root / "program.py").write_text(PROGRAM)
    return root


def objects(root):
    return {(r.kernel, r.target): r.object for r in cache.Cache(root).records()}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = written(tmp_path_factory.mktemp("debug") / "project")
    pydotcompute(root, "build", "--debug-info")
    return root


@pytest.fixture(scope="module")
def stripped(tmp_path_factory):
    root = written(tmp_path_factory.mktemp("stripped") / "project")
    pydotcompute(root, "build")
    return root


def test_gdb_stops_at_a_line_of_kernels_yaml_and_of_a_template(project):
    if not shutil.which("gdb"):
        pytest.skip("gdb is not installed")
    commands = ["set breakpoint pending on", f"break kernels.yaml:{STORE}", "break twice.py.j2:4", "run", "bt 1"]
    commands += ["list", "delete 1", "continue", "bt 1"]
    done = subprocess.run(
        ["gdb", "-q", "-batch", "-nx", *(word for line in commands for word in ("-ex", line)),
         "--args", sys.executable, "program.py", ".", "0"],
        capture_output=True, text=True, cwd=project,
    )  # fmt: skip
    if "ptrace" in done.stderr:
        pytest.skip(f"gdb may not trace here: {done.stderr.strip()}")
    told = done.stdout
    assert f"poly_compute () at kernels.yaml:{STORE}" in told, told + done.stderr
    assert f"{STORE}\t          out[i] = 3 * x[i] * x[i] + 1" in told  # it finds the file from the project's folder
    assert "twice_compute () at templates/twice.py.j2:4" in told


def reported(data, sort, root, *record, inject=False, **environment):
    """What perf reports of the program, which ran for a second and a half."""
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    command = ["perf", "record", "-F", "2000", "-e", "cpu-clock:u", *record, "-o", data]
    recorded = subprocess.run(
        [*command, sys.executable, "program.py", ".", "1.5"],
        capture_output=True, text=True, cwd=root, env={**os.environ, **environment},
    )  # fmt: skip
    if recorded.returncode:
        pytest.skip(f"perf may not record here: {recorded.stderr.strip().splitlines()[-1]}")
    if inject:
        subprocess.run(["perf", "inject", "--jit", "-i", data, "-o", f"{data}~"], check=True, capture_output=True)
        data += "~"
    command = ["perf", "report", "-i", data, "--stdio", "--sort", sort]
    return subprocess.run(command, capture_output=True, text=True, cwd=root).stdout


def test_perf_has_names_and_lines(project, tmp_path):
    told = reported(str(tmp_path / "perf.data"), "symbol,srcline", project)
    assert re.search(rf"poly_run\s+kernels\.yaml:{CARRIED}\b", told), told


def test_perf_has_the_names_of_stripped_kernels_from_a_jitdump(stripped, tmp_path):
    told = reported(str(tmp_path / "data"), "symbol", stripped, "-k", "mono", inject=True,
                    PYDOTCOMPUTE_JITDUMP=str(tmp_path))  # fmt: skip
    (share,) = re.findall(r"([\d.]+)%\s+\[\.\] poly@cpu:x86-64-v2\b", told)
    assert float(share) > 5, told


def test_a_jitdump_has_the_code_of_each_kernel_and_a_fork_one_of_its_own(stripped, tmp_path):
    program = (
        "import os, sys, numpy as np, pydotcompute\n"
        "from pydotcompute.backends.cpu import jitdump\n"
        "x = np.ones(3, np.float32)\n"
        "pydotcompute.load('.').twice(x)\n"
        "jitdump._lock.acquire()\n"  # as a thread does that writes just then, and is not in the child
        "if pid := os.fork():\n"
        "    os.waitpid(pid, 0)\n"
        "else:\n"
        "    pydotcompute.load('.').poly(x, np.arange(3))\n"
        "print(os.getpid())\n"
    )
    environment = {**os.environ, "PYDOTCOMPUTE_JITDUMP": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=stripped, env=environment, capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    child, parent = done.stdout.split()
    objects = {r.kernel: cache.Cache(stripped).read(r.kernel, "-", r.target) for r in cache.Cache(stripped).records()}
    for pid, kernel in ((parent, "twice"), (child, "poly")):
        data = (tmp_path / f"jit-{pid}.dump").read_bytes()
        assert struct.unpack_from("=IIIIII", data)[:3] == (0x4A695444, 1, 40) and struct.unpack_from("=20xI", data)[0] == int(pid)
        size, of, address, length = struct.unpack_from("=4xI8xI4xQ8xQ", data, 40)
        name, _, code = data[40 + 56 :].partition(b"\0")
        assert (len(data), of, len(code), name) == (40 + size, int(pid), length, f"{kernel}@cpu:x86-64-v2".encode())
        assert address % mmap.PAGESIZE == 0 and code[:64].strip(b"\0") and code[-4096:].rstrip(b"\0") in objects[kernel]


def test_a_jitdump_asks_what_is_mapped_whatever_files_are_called(tmp_path):
    from pydotcompute.backends.cpu.jitdump import _mapped

    with open(os.fsencode(tmp_path) + b"/\xff", "wb+") as file:
        file.truncate(mmap.PAGESIZE)
        with mmap.mmap(file.fileno(), mmap.PAGESIZE), open("/proc/self/maps", "rb") as maps:
            last = [line for line in maps if b"[stack]" in line][0].split()[0].decode()
            assert "-".join(f"{end:x}" for end in _mapped(int(last.partition("-")[0], 16))) == last


@pytest.mark.parametrize("before, why", [("", "No such file or directory"), ("os.mkfifo(dump);", "No such device")])
def test_a_jitdump_that_cannot_be_written_is_said(stripped, tmp_path, before, why):
    folder = str(tmp_path / ("" if before else "nowhere"))
    command = (
        f"import os; dump = f'{folder}/jit-{{os.getpid()}}.dump'; {before}"
        "import numpy as np, pydotcompute; pydotcompute.load('.').twice(np.ones(3, np.float32))"
    )
    environment = {**os.environ, "PYDOTCOMPUTE_JITDUMP": folder}
    done = subprocess.run([sys.executable, "-c", command], cwd=stripped, env=environment, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(
        rf"ValueError: PYDOTCOMPUTE_JITDUMP='{folder}': {folder}/jit-\d+\.dump: {why}; "
        "name a folder where this program may write, and that code may be mapped from", last,
    )  # fmt: skip


def test_nothing_of_the_machine_is_in_an_object(project, tmp_path):
    other = written(tmp_path / "elsewhere")
    pydotcompute(tmp_path, "build", "-C", "elsewhere", "--debug-info", "-j", "2")
    assert objects(other) == objects(project)
    record = next(r for r in cache.Cache(project).records() if r.kernel == "twice")
    with open(record.path, "rb") as file:
        data = file.read()
    assert b"templates/twice.py.j2" in data
    assert os.fsencode(project) not in data and b"/rendered" not in data


def test_in_a_folder_whose_name_is_not_utf_8(project, tmp_path):
    there = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(project, there)
    program = "import numpy, pydotcompute; print(pydotcompute.load('.').twice(numpy.ones(1, 'f4')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=there)
    assert done.stdout == "[2.]\n", done.stderr
    pydotcompute(there, "report", "-o", "page.html")
    assert "<title>caf?" in (there / "page.html").read_text()


def test_it_is_loaded_from_its_file_once_and_works_twice(project):
    done = subprocess.run(
        [sys.executable, "program.py", ".", "0"], capture_output=True, text=True, cwd=project, check=True
    )
    values, *maps = done.stdout.splitlines()
    assert values == "2.0 2.0"
    assert {os.path.realpath(r.path) for r in cache.Cache(project).records()} == set(maps)


def test_a_file_that_took_its_place_has_variables_of_its_own(project, tmp_path):
    """The dynamic linker knows a library by its path, too."""
    root = shutil.copytree(project, tmp_path / "project")
    artifact = load(root).twice.which(np.ones(3, np.float32)).artifact
    first = open_library(artifact)
    os.replace(shutil.copy(artifact.path, f"{artifact.path}~"), artifact.path)
    threads = [ctypes.c_int32.in_dll(library, "threads") for library in (first, open_library(artifact))]
    threads[0].value = threads[1].value + 1
    assert threads[0].value != threads[1].value


def test_it_is_loaded_from_memory_where_others_could_exchange_its_file(project, tmp_path):
    """Between the look at the file and the dynamic linker's; in a sticky folder nobody renames what is others'."""
    for mode, from_file in ((0o777, False), (0o1777, True)):
        root = shutil.copytree(project, tmp_path / oct(mode) / "project")
        root.parent.chmod(mode)
        artifact = load(root).twice.which(np.ones(3, np.float32)).artifact
        assert (open_library(artifact)._name == os.path.realpath(artifact.path)) is from_file


def test_it_is_in_the_key_and_lines_are(project, tmp_path):
    root = tmp_path / "project"
    shutil.copytree(project, root)
    with_lines = objects(root)
    for command in (["check", "twice"], ["show", "twice"]):  # what is there is not out of date
        assert "out of date" not in pydotcompute(root, *command).stderr
    assert "byte by byte the object" in pydotcompute(root, "show", "twice").stderr
    told = pydotcompute(root, "build", "-n", "--explain").stdout
    assert "twice - cpu:x86-64-v2: flag debug-info: yes → no" in told
    pydotcompute(root, "build")
    plain = objects(root)
    assert not set(plain.values()) & set(with_lines.values())
    (root / "kernels.yaml").write_text("# one line more\n" + KERNELS)
    assert "2 reused" in pydotcompute(root, "build").stderr
    told = pydotcompute(root, "build", "--debug-info", "--explain").stdout
    assert "poly - cpu:x86-64-v2: flag debug-info: no → yes" in told
    moved = objects(root)
    changed = {name for name, digest in moved.items() if digest != with_lines[name]}
    assert changed == {("poly", "cpu:x86-64-v2")}  # the template has not moved
    (root / "kernels.yaml").write_text(KERNELS)
    told = pydotcompute(root, "build", "--debug-info", "--explain").stdout
    assert told == "poly - cpu:x86-64-v2: lines changed\n"
    assert objects(root) == with_lines


def test_a_cubin_and_ptx_have_the_lines(tmp_path):
    from pydotcompute.targets.cuda import listing
    from pydotcompute.targets.registry import get

    root = written(tmp_path / "project")
    targets = ("-t", "cuda:sm_90", "-t", "cuda:compute_80")
    pydotcompute(tmp_path, "build", "-C", "project", "--debug-info", "poly", *targets)
    cubin, ptx = (cache.Cache(root).read("poly", "-", f"cuda:{form}") for form in ("sm_90", "compute_80"))
    assert re.search(r'^\t\.file\t1 "kernels\.yaml"$', ptx.decode(), re.M) and str(tmp_path) not in ptx.decode()
    for data, suffix in ((cubin, ".cubin"), (ptx, ".ptx")):
        places = {(line.at.path, line.at.line) for line in get("cuda").disassembled(data, suffix).lines if line.at}
        assert ("kernels.yaml", STORE) in places
    told = listing.disassembled(cubin, "-g")
    assert re.search(rf'//## File "(?:\./)?kernels\.yaml", line {STORE}\b', told) and str(tmp_path) not in told
