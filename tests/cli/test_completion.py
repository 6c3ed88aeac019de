"""Completion as the shells themselves do it, and the man page as man reads it; both from the parser."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from pydotcompute.cli import COMMANDS, main, parser
from pydotcompute.cli.completion import SHELLS, script
from pydotcompute.docs.inspected import subparsers
from pydotcompute.docs.man import man

KERNEL = """\
  {}:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i]
"""
KERNELS = "version: 1\nkernels:\n" + "".join(map(KERNEL.format, ("saxpy", "softmax", "matmul")))
# Writes what the shell offers for the line in $LINE, which Bash cuts at colons.
BASH = """
source "$SCRIPT"
COMP_WORDS=(${LINE//:/ : }); [[ "$LINE" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="$LINE"; COMP_POINT=${#LINE}
$(complete -p pydotcompute | sed 's/.*-F \\([^ ]*\\) .*/\\1/') pydotcompute "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = 'source "$SCRIPT"; complete -C "$LINE" | string split -f 1 \\t'
ZSH = """
import os, pty, sys, time, select
pid, master = pty.fork()
if pid == 0:
    os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "PS1": "> "})
def read(until, seconds=20):
    data, end = b"", time.monotonic() + seconds
    while until not in data and time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                data += os.read(master, 65536)
            except OSError:
                break
    return data
os.write(master, b"fpath=($FOLDER $fpath); autoload -U compinit; compinit -u -D; LISTMAX=10000; echo rea''dy\\n")
read(b"ready\\r\\n")
os.write(master, os.environ["LINE"].encode() + b"\\t\\t")
time.sleep(1.5)
os.write(master, b"\\x15echo do''ne\\n")
print(read(b"done\\r\\n").decode(errors="replace"))
"""


def offered(shell: str, line: str, tmp_path) -> set[str]:
    """The words that a shell offers in the place of the last one of a line."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}: Debian's package {shell}")
    name = "_pydotcompute" if shell == "zsh" else "pydotcompute"
    (tmp_path / name).write_text(script(shell))
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "SCRIPT": str(tmp_path / name), "FOLDER": str(tmp_path), "LINE": line, "LC_ALL": "C"}
    command = {"bash": ["bash", "--norc", "-c", BASH], "fish": ["fish", "--no-config", "-c", FISH],
               "zsh": [sys.executable, "-c", ZSH]}[shell]  # fmt: skip
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "rror" not in done.stderr, done.stderr
    return set(re.findall(r"[\w.:=/-]+", done.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "line, wanted, unwanted",
    [
        ("pydotcompute ", set(COMMANDS), {"prune"}),
        ("pydotcompute cache p", {"prune"}, {"build"}),
        ("pydotcompute build --", {"--jobs", "--target", "--dry-run", "--quiet", "--directory"}, {"--sort"}),
        ("pydotcompute cache list --sort ", {"kernel", "target", "age", "size", "used"}, {"prune"}),
        ("pydotcompute cache list -C ", {"folder"}, {"a-file"}),
        ("pydotcompute show s", {"saxpy", "softmax"}, {"matmul"}),
        ("pydotcompute show -C folder s", {"saxpy_there", "softmax"}, {"saxpy", "matmul"}),
        ("pydotcompute build saxpy --target cuda:s", {"cuda:sm_75", "cuda:sm_90"}, {"cuda:compute_80", "softmax"}),
    ],
)
def test_what_a_shell_offers(shell, line, wanted, unwanted, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a-file").touch()
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    (tmp_path / "folder" / "kernels.yaml").write_text(KERNELS.replace("saxpy", "saxpy_there"))
    found = {word.rstrip("/") for word in offered(shell, line, tmp_path)}
    if shell == "zsh":  # which writes the one word that there is into the line
        found |= {word for word in wanted if any(word in each for each in found)}
    if shell == "bash" and ":" in line:  # the word is what follows the colon
        found = {line[line.rindex(" ") + 1 : line.rindex(":") + 1] + word for word in found}
    assert wanted <= found and not unwanted & found, sorted(found)


def test_where_shtab_is_missing_it_is_said(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("completion needs shtab, which is not installed: pip install")


def test_the_names_that_a_shell_asks_for(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    assert main(["completion", "kernels", "-C", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == ["saxpy", "softmax", "matmul"]
    (tmp_path / "kernels.yaml").write_text(KERNELS.replace("kernels:", "targets: [cuda:sm_86]\nkernels:"))
    assert main(["completion", "targets", "-C", str(tmp_path), "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["names"]
    assert names[0] == "cuda:sm_86" and {"cpu:native", "cpu:x86-64-v3", "opencl:1.2"} < set(names)
    (tmp_path / "kernels.yaml").unlink()
    assert main(["completion", "targets", "-C", str(tmp_path)]) == 0 and "cpu:native" in capsys.readouterr().out


def test_every_kernel_and_target_is_asked_for():
    text = script("bash")
    for place in ("build__t", "show___target", "bench___target", "cache_list__t", "check___require"):
        assert f"_shtab_pydotcompute_{place}_COMPGEN=_pydotcompute_targets\n" in text, place
    for place in ("build_pos_0", "diff_pos_0", "diff_pos_1", "bench___kernel", "cache_extract_pos_0", "explain_pos_0"):
        assert f"_shtab_pydotcompute_{place}_COMPGEN=_pydotcompute_kernels\n" in text, place


def described() -> dict[str, argparse.ArgumentParser]:
    """Every command, and every action of one."""
    found = subparsers(parser(*COMMANDS))
    return found | {f"{name} {a}": inner for name, sub in found.items() for a, inner in subparsers(sub).items()}


def test_every_short_option_has_a_long_one_and_every_command_is_quiet_and_speaks_json():
    for name, sub in described().items():
        for action in sub._actions:
            long = [option for option in action.option_strings if option.startswith("--")]
            assert long or not action.option_strings, (name, action.option_strings)
        options = set(sub._option_string_actions)
        assert subparsers(sub) or {"-q", "--quiet", "--json", "-C", "--directory"} <= options, name


def test_the_man_page_has_every_command_and_option():
    text = man(parser(*COMMANDS), "pydotcompute", "1.2").replace("\\-", "-").replace("\\&", "")
    parts = dict(re.findall(r'^\.SS "(.*)"\n((?:(?!\.S[SH]).*\n)*)', text, re.M))
    assert set(parts) == set(described())
    for name, sub in described().items():
        for action in sub._actions if not subparsers(sub) else ():
            if action.option_strings and not isinstance(action, argparse._HelpAction):
                assert all(f"\\fB{option}\\fR" in parts[name] for option in action.option_strings), (name, action)
    assert all(f".B {code}\n" in text for code in (0, 1, 2, 130)) and "PYDOTCOMPUTE_JOBS" in text


def test_what_means_something_to_roff_is_text():
    odd = argparse.ArgumentParser("odd", description=".hidden\\n and 'more\n\n  \\fBas written\n  .so /etc/passwd")
    sub = odd.add_subparsers().add_parser("one", description="'quoted")
    sub.add_argument("--x", metavar=r"\fP", help='.TH 100%% "\\*"')
    text = man(odd, 'o"dd', "1")
    assert not re.search(r"^(\.hidden|\.so|'|\.TH 100)", text, re.M) and "\\e*" in text and "100% " in text


@pytest.mark.slow
def test_groff_has_nothing_to_say_of_it(tmp_path):
    if shutil.which("groff") is None:
        pytest.skip("no groff: Debian's package groff")
    path = tmp_path / "pydotcompute.1"
    with path.open("w") as page:
        subprocess.run([sys.executable, "-m", "pydotcompute", "docs", "--man"], stdout=page, check=True)
    done = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-b", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(r"\x1b\[\d*m|.\x08", "", done.stdout)
    assert all(re.search(rf"^   {name}$", shown, re.M) for name in COMMANDS)
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings=w", "-l", str(path)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "") and "EXIT STATUS" in done.stdout
