"""What the reference says of JSON outputs is what is printed: every key of every command, and no other."""

import json
import re
import subprocess
import sys

import pytest

from pydotcompute.cli import COMMANDS
from pydotcompute.cli.cache import ACTIONS
from pydotcompute.docs.pages import source

KERNELS = """\
version: 1
targets: [cpu:x86-64-v2]
kernels:
  good:
    doc: twice x
    signature: "(x: T[...]) -> (out: T[...])"
    types: {T: [float32]}
    params: {P: [2]}
    body: |
      for i in grid(size):
          out[i] = P * x[i]
    reference: 2 * x
  tried:
    signature: "(x: T[...]) -> (out: T[...])"
    types: {T: [float32]}
    params: {Q: [1, 2]}
    tune: [Q]
    body: |
      for i in grid(size):
          out[i] = x[i]
  wrong:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = 2 * x[i]
    reference: 3 * x
  into:
    signature: "(place: int64[k], m: int64) -> (out: int64[m] = 0)"
    inputs: {place: {low: 0, high: m}}
    sizes: {check: [{k: 1, m: 0}]}
    body: |
      for i in range(k):
          out[place[i]] += 1
"""
TUNED = "version: 1\nkernels: {tried: {T=float32: {cpu:x86-64-v2: {processor: {small: {Q: 2}}}}}}\n"
LATER = """\
  later:
    signature: "(x: float32[...]) -> (out: float32[...])"
    body: |
      for i in grid(size):
          out[i] = x[i]
"""
TEXT = source("reference").partition("## JSON outputs")[2]
SECTIONS = re.split(r"^### (.+) --json$", TEXT.partition("\n## ")[0], flags=re.MULTILINE)[1:]
DOCUMENTED = {
    name: set(re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\| (`.*?) \|", text, re.M))))
    for name, text in zip(SECTIONS[::2], SECTIONS[1::2])
}


def keys(value, at=""):
    """`a[].b` of every value that is no object, or an empty one."""
    if isinstance(value, dict) and value:
        return {key for name, inner in value.items() for key in keys(inner, f"{at}.{name}" if at else name)}
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return {key for item in value for key in keys(item, f"{at}[]")}
    return {at}


def folded(found, documented):
    """With `…` for the names that depend on what is shown, and without lists that have nothing in them."""
    patterns = {one: re.compile(re.escape(one).replace("…", r".+").replace(r"\.\.+", r"(?:\..+)?")) for one in documented}
    known = {key for key in found if not any(one.startswith(f"{key}[].") for one in documented)}
    return {next((one for one, pattern in patterns.items() if pattern.fullmatch(key)), key) for key in known}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Command → the keys that it prints, of a project with all that there may be."""
    root = tmp_path_factory.mktemp("json")
    (root / "kernels.yaml").write_text(KERNELS)
    (root / "templates").mkdir()
    (root / "templates" / "tuned.yaml").write_text(TUNED)

    def call(*words):
        done = subprocess.run(
            [sys.executable, "-m", "pydotcompute", *words, "--json"], cwd=root, capture_output=True, text=True
        )
        data = json.loads(done.stdout)
        assert data.pop("version") == 1, words
        return keys(data)

    found = {"build": call("build")}
    found["check"] = call("check", "--quick")
    for name, more in {
        "dir": (), "list": (), "show": ("good",), "stats": (), "export": ("k.tar",), "import": ("k.tar",),
        "extract": ("good", "-o", "good.so"),
    }.items():  # fmt: skip
        found[f"cache {name}"] = call("cache", name, *more)
    found["cache show"] |= call("cache", "show", "tried")
    (root / "kernels.yaml").write_text(KERNELS.replace("= 2 * x[i]", "= 5 * x[i]") + LATER)
    found["show"] = call("show", "good", "--tree") | call("show", "good")
    found["show"] |= call("show", "good", "--cost") | call("show", "good", "--cost", "-t", "cuda:sm_90")
    found["diff"] = call("diff", "good", "wrong")
    found["explain"] = call("explain", "later") | call("explain", "wrong")
    found["report"] = call("report", "later")
    call("build")
    found["cache prune"] = call("cache", "prune", "--unused", "-n")
    manifest = root / "build" / "cache" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-3])
    found["cache verify"] = call("cache", "verify")
    found["cache clear"] = call("cache", "clear")
    found |= {name: call(name) for name in ("backends", "config", "docs")}
    found["completion"] = call("completion", "bash")
    found["init"] = call("init", "fresh")
    found["bench"] = call("bench", "--subject", "functions", "--function", "exp", "--rounds", "1", "-t", "cpu:x86-64-v2")
    return found


def test_every_command_is_there():
    named = {name for name in COMMANDS if name not in ("cache", "schema")} | {f"cache {name}" for name in ACTIONS}
    assert set(DOCUMENTED) == named


@pytest.mark.slow
@pytest.mark.parametrize("command", DOCUMENTED)
def test_the_keys_of(command, printed):
    documented = DOCUMENTED[command]
    assert folded(printed[command], documented) == documented
