"""The command line without compiling: help, mistakes, settings, exit codes, and what it does not import."""

import json
import os
import subprocess
import sys
from pathlib import Path
import time

import pytest

from pydotcompute.cli import COMMANDS, main

KERNELS = """\
version: 1
targets: [cpu:x86-64-v3]
kernels:
  saxpy:
    doc: a * x + y
    signature: "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
    types: {T: [float32]}
    body: |
      for i in grid(size):
          out[i] = a * x[i] + y[i]
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("PYDOTCOMPUTE_")]:
        monkeypatch.delenv(name)
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(capsys, *arguments):
    """(exit code, stdout, stderr)"""
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json_and_a_folder(capsys, command):
    arguments = [command, "--help"] if command != "cache" else [command, "list", "--help"]
    code, out, err = call(capsys, *arguments)
    assert code == 0 and err == ""
    assert "-C DIR" in out and "--json" in out


def test_help_lists_exactly_the_commands_that_exist(capsys):
    code, out, _ = call(capsys, "--help")
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("    ") and line.strip()[:1].islower()]
    assert code == 0 and listed == list(COMMANDS)


def test_no_command_is_a_usage_error(capsys):
    code, out, err = call(capsys)
    assert code == 2 and out == "" and err.startswith("usage: pydotcompute")


@pytest.mark.parametrize(
    "arguments, line",
    [
        (("buld",), "pydotcompute: error: no command 'buld'; did you mean 'build'?"),
        (("build", "-n", "saxpi"), "pydotcompute: no kernel 'saxpi' in kernels.yaml; did you mean 'saxpy'?"),
        (
            ("build", "-n", "-t", "cpu:x86-64-v9"),
            "pydotcompute: targets = ['cpu:x86-64-v9'] (flag -t): "
            "unknown target 'cpu:x86-64-v9'; did you mean 'cpu:x86-64-v4'?",
        ),
        (
            ("build", "-n", "-t", "cpu:avx2"),
            "pydotcompute: targets = ['cpu:avx2'] (flag -t): unknown target 'cpu:avx2'; did you mean 'cpu:x86-64-v3'?",
        ),
        (("build", "-n", "-j", "0"), "pydotcompute: jobs = 0 (flag -j): expected a whole number from 1"),
        (("build", "-C", "nowhere"), "pydotcompute: -C nowhere: there is no such folder"),
        (("build", "-C", "kernels.yaml"), "pydotcompute: -C kernels.yaml: is not a folder"),
        (("explain", "saxpi"), "pydotcompute: no kernel 'saxpi' in kernels.yaml; did you mean 'saxpy'?"),
        (("cache", "show", "saxpy"), "pydotcompute: no kernel 'saxpy' in ./build/cache"),
    ],
)
def test_a_command_that_is_not_understood(project, capsys, arguments, line):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == line


def test_a_mistake_in_the_declaration_is_shown_with_its_place(project, capsys):
    (project / "kernels.yaml").write_text(KERNELS.replace("float32]", "float33]"))
    code, out, err = call(capsys, "build")
    assert (code, out) == (1, "")
    assert err.startswith("kernels.yaml:7:17: ")
    assert "    types: {T: [float33]}\n" in err and "Traceback" not in err


def test_a_project_without_a_declaration(project, capsys):
    (project / "kernels.yaml").unlink()
    code, out, err = call(capsys, "build")
    assert (code, out) == (1, "") and "kernels.yaml" in err and "Traceback" not in err


def test_dry_run_lists_what_would_be_built(project, capsys):
    code, out, err = call(capsys, "build", "-n")
    assert (code, out, err) == (0, "saxpy T=float32 cpu:x86-64-v3\n", "1 of 1 artifact is out of date\n")
    assert not (project / "build").exists()


@pytest.mark.parametrize(
    "variable, value, told",
    [("THREADS", "99999999999", "is not a number of threads"), ("TARGET", "xx", "is not a target"), ("NVTX", "x", "write 1")],
)
def test_what_loading_refuses_config_refuses_and_a_build_does_not_read(project, capsys, monkeypatch, variable, value, told):
    monkeypatch.setenv(f"PYDOTCOMPUTE_{variable}", value)
    code, out, err = call(capsys, "config")
    assert (code, out) == (2, "") and f"PYDOTCOMPUTE_{variable}='{value}'" in err and told in err
    assert call(capsys, "build", "-n")[0] == 0


def test_what_loading_takes_config_takes(project, capsys, monkeypatch):
    monkeypatch.setenv("PYDOTCOMPUTE_THREADS", " 3 ")
    monkeypatch.setenv("PYDOTCOMPUTE_NVTX", "1")
    found = json.loads(call(capsys, "config", "--json")[1])["settings"]
    assert found["threads"] == {"value": 3, "origin": "environment PYDOTCOMPUTE_THREADS"} and found["nvtx"]["value"] is True


@pytest.mark.parametrize(
    "command",
    ["build --bundle", "docs -o", "report -o", "report --bench", "bench --subject declared --plot", "check --bundle",
     "bench --subject declared --compare", "diff saxpy --with", "cache export", "cache import", "init"],
)  # fmt: skip
def test_an_empty_name_of_a_file_is_refused(project, capsys, command):
    code, out, err = call(capsys, *command.split(), "")
    assert (code, out) == (2, "") and err.endswith(": '' names no file and no folder\n")
    assert not (project / "build").exists()


def test_check_fails_when_anything_is_out_of_date(project, capsys):
    code, out, _ = call(capsys, "build", "--check")
    assert (code, out) == (1, "saxpy T=float32 cpu:x86-64-v3: not built\n")


def test_a_plan_as_json(project, capsys):
    code, out, _ = call(capsys, "build", "-n", "--json")
    data = json.loads(out)
    (row,) = data.pop("artifacts")
    assert code == 0 and data == {"version": 1, "built": 0, "reused": 0, "failed": 0}
    assert len(row.pop("key")) == 64
    assert row == {
        "kernel": "saxpy", "specialization": "T=float32", "target": "cpu:x86-64-v3", "status": "stale",
        "reason": "not built", "seconds": None, "bytes": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "short, long",
    [
        (("build", "-n", "-t", "cpu:x86-64-v2"), ("build", "--dry-run", "--target", "cpu:x86-64-v2")),
        (("build", "-n", "-j", "0"), ("build", "-n", "--jobs", "0")),
        (("build", "-n", "-k", "-v"), ("build", "-n", "--keep-going", "--verbose")),
        (("build", "-n", "-q"), ("build", "-n", "--quiet")),
        (("config", "-t", "cpu:native", "-j", "3"), ("config", "--target", "cpu:native", "--jobs", "3")),
        (("explain", "saxpy", "-t", "cpu:x86-64-v2"), ("explain", "saxpy", "--target", "cpu:x86-64-v2")),
        (("check", "-t", "cpu:x86-64-v2"), ("check", "--target", "cpu:x86-64-v2")),
        (("bench", "-t", "x"), ("bench", "--target", "x")),
        (("cache", "list", "-t", "x", "-q"), ("cache", "list", "--target", "x", "--quiet")),
    ],
)
def test_a_long_flag_is_the_short_one(project, capsys, short, long):
    first = call(capsys, *short)
    assert call(capsys, *long) == first and "unrecognized" not in first[2]


def test_quiet_says_only_what_is_wrong(project, capsys):
    assert call(capsys, "build", "-n", "-q") == (0, "saxpy T=float32 cpu:x86-64-v3\n", "")
    assert call(capsys, "cache", "list", "-q") == call(capsys, "cache", "stats", "-q") == (0, "", "")
    assert call(capsys, "cache", "clear", "--quiet") == (0, "", "")
    assert call(capsys, "build", "-n")[2]  # it holds for one command
    code, _, err = call(capsys, "cache", "verify", "-q")
    assert code == 1 and "there is no cache" in err
    code, _, err = call(capsys, "build", "-q", "-v")
    assert code == 2 and err.endswith("argument -v/--verbose: not allowed with argument -q/--quiet\n")


def test_schema_is_the_loaders(capsys):
    from pydotcompute.declare import schema
    from pydotcompute.targets.registry import pattern

    code, out, _ = call(capsys, "schema")
    assert code == 0 and json.loads(out) == schema(pattern())


def settings(capsys, *arguments):
    code, out, err = call(capsys, "config", "--json", *arguments)
    assert code == 0, err
    return {name: (entry["value"], entry["origin"]) for name, entry in json.loads(out)["settings"].items()}


def test_each_origin_of_a_setting_wins_over_the_next(project, capsys, monkeypatch):
    (project / "kernels.yaml").write_text(KERNELS.replace("targets: [cpu:x86-64-v3]\n", ""))
    default = ["cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"]
    assert settings(capsys)["targets"] == (default, "default")
    (project / "kernels.yaml").write_text(KERNELS)
    assert settings(capsys)["targets"] == (["cpu:x86-64-v3"], "kernels.yaml")
    (project / "pyproject.toml").write_text('[tool.pydotcompute]\ntargets = ["cpu:native"]\njobs = 3\n')
    assert settings(capsys)["targets"] == (["cpu:native"], "pyproject.toml")
    assert settings(capsys)["jobs"] == (3, "pyproject.toml")
    monkeypatch.setenv("PYDOTCOMPUTE_TARGETS", "cpu:x86-64-v2, cpu:x86-64-v4")
    assert settings(capsys)["targets"] == (["cpu:x86-64-v2", "cpu:x86-64-v4"], "environment PYDOTCOMPUTE_TARGETS")
    assert settings(capsys, "-t", "cpu:x86-64-v3", "-j", "7")["targets"] == (["cpu:x86-64-v3"], "flag -t")
    assert settings(capsys, "-j", "7")["jobs"] == (7, "flag -j")


def test_a_build_follows_the_settings(project, capsys):
    (project / "pyproject.toml").write_text('[tool.pydotcompute]\ntargets = ["cpu:x86-64-v2"]\n')
    assert call(capsys, "build", "-n")[1] == "saxpy T=float32 cpu:x86-64-v2\n"


@pytest.mark.parametrize(
    "text, line",
    [
        ("[tool.pydotcompute]\njob = 1\n", "[tool.pydotcompute] has no setting 'job'; did you mean 'jobs'?"),
        ("[tool.pydotcompute]\njobs = 'x'\n", "jobs = x (pyproject.toml): expected a whole number from 1"),
        ('[tool.pydotcompute]\nlinker = "ld \\"x"\n',
         'linker = ld "x (pyproject.toml): expected a command and its arguments (No closing quotation)'),
        ('[tool.pydotcompute]\nlinker = "ld\\u0000"\n', "(expected a text without NUL characters)"),
        (f'[tool.pydotcompute]\ncache_size = "{"9" * 400} B"\n',
         'expected a number of bytes, or a text such as "20 MB"'),
        ("[tool.pydotcompute\n", "Expected ']' at the end of a table declaration (at line 1, column 19)"),
    ],
)
def test_a_setting_that_is_wrong(project, capsys, text, line):
    (project / "pyproject.toml").write_text(text)
    code, out, err = call(capsys, "config")
    assert (code, out) == (2, "") and err.rstrip().endswith(line)


def test_the_cache_has_a_folder_before_it_exists(project, capsys):
    assert call(capsys, "cache", "dir") == (0, f"{project}/build/cache\n", "")
    assert call(capsys, "cache", "list") == (0, "", "0 artifacts, 0 objects, 0 B\n")
    code, out, err = call(capsys, "cache", "verify")
    assert (code, out) == (1, "") and err == "./build/cache: there is no cache; 'pydotcompute build' makes it\n"
    assert call(capsys, "cache", "clear") == (0, "", "./build/cache: removed 0 files, 0 B\n")
    assert not (project / "build").exists()


def test_a_fault_of_ours_is_one_line(project, capsys, monkeypatch):
    monkeypatch.setattr("pydotcompute.builder.plan.make_plan", lambda *a, **k: 1 / 0)
    monkeypatch.setattr("pydotcompute.builder.build.make_plan", lambda *a, **k: 1 / 0)
    code, out, err = call(capsys, "build", "-n")
    assert (code, out) == (1, "")
    assert err == "internal error: ZeroDivisionError: division by zero (PYDOTCOMPUTE_DEBUG=1 shows where)\n"


def run(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize("arguments", [("-m", "pydotcompute", "bench", "--help"),
                                       ("-m", "pydotcompute.examples.embed", "--help"),
                                       ("-m", "pydotcompute.examples.hillshade", "--help")])  # fmt: skip
def test_where_python_drops_docstrings_help_does_without_them(arguments):
    done = run("-OO", *arguments)
    assert done.returncode == 0 and done.stdout.startswith("usage: "), done.stderr


def test_the_module_is_the_same_program(project):
    done = run("-m", "pydotcompute", "build", "-n")
    assert (done.returncode, done.stdout) == (0, "saxpy T=float32 cpu:x86-64-v3\n")


@pytest.mark.parametrize(
    "arguments, allowed",
    [
        (["--help"], ()), (["build", "--help"], ()), (["build", "-n"], ("yaml", "numpy")),
        (["schema"], ("yaml", "importlib.metadata")),
    ],
)
def test_what_a_command_imports(project, arguments, allowed):
    program = (
        "import sys; from pydotcompute.cli import main; main(sys.argv[1:]);"
        "heavy = {'numba', 'llvmlite', 'numpy', 'yaml', 'jinja2', 'diskcache', 'cupy', 'importlib.metadata'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = run("-c", program, *arguments)
    found = set(eval(done.stderr.splitlines()[-1])) - set(allowed)
    # The environment's start-up files may import what they like; only ours is looked at.
    started = run("-c", "import sys; print(sorted(sys.modules))")
    assert found - set(eval(started.stdout)) == set()


def test_output_that_nobody_reads_is_no_error(project):
    command = [sys.executable, "-m", "pydotcompute", "schema"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    process.wait()


@pytest.mark.parametrize("arguments", [["build", "-n"], ["docs", "tutorial"], ["--help"], ["build", "-n", "--json"]])
def test_a_closed_output_is_as_one_that_nobody_keeps(project, arguments):
    command = [sys.executable, "-m", "pydotcompute", *arguments]
    kept = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, text=True, timeout=60)
    assert (closed.returncode, closed.stdout, closed.stderr) == (kept.returncode, "", kept.stderr)
    silent = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], capture_output=True, text=True, timeout=60)
    assert (silent.returncode, silent.stderr) == (kept.returncode, "")


def test_characters_that_an_output_does_not_have_are_replaced(project):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run("-m", "pydotcompute", "docs", "tutorial", env=environment)
    assert (done.returncode, done.stderr) == (0, "") and "?" in done.stdout and len(done.stdout) > 1000
    done = run("-m", "pydotcompute", "docs", "tutorial", "--json", env=environment)
    assert json.loads(done.stdout) == json.loads(run("-m", "pydotcompute", "docs", "tutorial", "--json").stdout)


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_characters_that_an_output_does_not_have_are_replaced_in_the_locale_c_too(project, errors):
    """There Python writes the bytes that names are made of, and knows no sign for other characters."""
    environment = {**os.environ, "PYTHONIOENCODING": f"ascii:{errors}"}
    done = run("-m", "pydotcompute", "bench", "--help", env=environment)
    assert (done.returncode, done.stderr) == (0, "") and "?" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes there")
@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_json_says_names_that_are_not_utf8(tmp_path, errors):
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.mkdir(folder)
    Path(os.fsdecode(folder), "kernels.yaml").write_text("version: 1\nkernels: {}\n")
    environment = {**os.environ, "PYTHONIOENCODING": f"utf-8:{errors}"}
    command = [sys.executable, "-m", "pydotcompute", "cache", "dir", "-C", folder]
    data = json.loads(subprocess.run([*command, "--json"], capture_output=True, env=environment).stdout.decode("utf-8"))
    assert os.fsencode(data["dir"]) == folder + b"/build/cache"
    plain = subprocess.run(command, capture_output=True, env=environment).stdout
    assert plain == (folder if errors == "surrogateescape" else folder.replace(b"\xe9", b"?")) + b"/build/cache\n"


@pytest.mark.parametrize("module", ["pydotcompute.cli", "argparse", "pydotcompute.declare"])
def test_ctrl_c_while_the_program_starts_is_one_word(tmp_path, module):
    """Whatever is being imported when it comes."""
    (tmp_path / "kernels.yaml").write_text("version: 1\nkernels: {}\n")
    program = (
        "import runpy, signal, sys\n"
        "def hook(event, arguments):\n"
        f"    if event == 'import' and arguments[0] == {module!r}: signal.raise_signal(signal.SIGINT)\n"
        "sys.modules.pop('argparse', None), sys.addaudithook(hook)\n"
        f"sys.argv = ['pydotcompute', 'config', '-C', {str(tmp_path)!r}]\n"
        "runpy.run_module('pydotcompute', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_ctrl_c_while_a_class_is_made_is_one_word(monkeypatch, capsys):
    """Python 3.11 makes a RuntimeError of it."""
    class Part:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    monkeypatch.setattr("pydotcompute.cli._run", lambda given: type("Whole", (), {"part": Part()}))
    assert (main(["config"]), capsys.readouterr().err) == (130, "interrupted\n")


def test_ctrl_c_that_a_package_gives_on_is_one_word(monkeypatch, capsys):
    """As one that cannot be imported, or where nothing can be raised: then it is raised where something can."""
    def imported(given):
        try:
            try:
                raise KeyboardInterrupt
            except BaseException as error:
                raise ImportError("its C extension") from error
        except ImportError as error:
            raise ImportError("numpy") from error

    class Lost:
        def __del__(self):
            raise KeyboardInterrupt

    def lost(given):
        Lost()
        for _ in range(1000):  # one sleep would be slept to its end: no signal was sent
            time.sleep(0.01)
        return 0

    for run in (imported, lost):
        monkeypatch.setattr("pydotcompute.cli._run", run)
        assert (main(["config"]), capsys.readouterr().err) == (130, "interrupted\n")
