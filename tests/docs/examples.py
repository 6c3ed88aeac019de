"""Executes what a page shows, as its reader would, in a folder of the page's own.

A fenced block is known by its first line:

    ```yaml kernels.yaml     (any language, and a name) a file, which is written; if it is there, it is replaced
    ```console               commands behind `$`, each followed by what it prints, where that is shown; it ends well
    ```pycon                 a session of Python, held to what it shows; ```python: a program that ends well. Those of
                             a page are one program
    ```yaml                  kernels without the lines above them: all of a page are one project, built and checked
    ```yaml refused          kernels that are refused, with what the block ```text below it shows
    ```text                  what something prints
    ```cuda quoted           something in another language, to compare with

In what is printed `…` stands for anything.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent
HEAD = "version: 1\ntargets: [cpu:x86-64-v2]\nkernels:\n"


class Block(NamedTuple):
    language: str
    name: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    return [
        Block(found[1], (found[2] or "").strip(), found[3], text[: found.start()].count("\n") + 1)
        for found in FENCE.finditer(text)
    ]


def run(command: str, folder: Path) -> subprocess.CompletedProcess:
    """A command of a shell, with this environment's programs and none of our settings; stdout and stderr are one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYDOTCOMPUTE_")}
    environment |= {"PATH": f"{BIN}:{environment['PATH']}", "COLUMNS": "100"}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=300,
    )  # fmt: skip


def assert_shown(want: str, got: str, where: str) -> None:
    """`want` may leave out with `…`; blanks at the ends of lines do not count."""
    want, got = ("\n".join(line.rstrip() for line in text.strip("\n").split("\n")) for text in (want, got))
    pattern = ".*?".join(map(re.escape, want.split("…")))
    assert re.fullmatch(pattern, got, re.DOTALL), f"{where}: shown is\n{want}\nand printed was\n{got}"


class Reader:
    """Somebody who does all that a page says, in one folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def read(self, text: str) -> None:
        found = blocks(text)
        pieces: list[Block] = []
        refused: list[tuple[Block, Block]] = []
        for block, following in zip(found, [*found[1:], None]):
            if block.name == "quoted":
                continue
            if block.name == "refused":
                assert following and following.language == "text", f"line {block.line}: what it is refused with?"
                refused.append((block, following))
            elif block.name:
                path = self.folder / block.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            elif block.language == "console":
                self.console(block)
            elif block.language in ("python", "pycon"):
                self.python(block)
            elif block.language == "yaml":
                pieces.append(block)
            else:
                assert block.language == "text", f"line {block.line}: who runs {block.language}?"
        if pieces:
            self.build("pieces", pieces)
            done = run("pydotcompute check --quick", self.folder / "pieces")
            assert done.returncode == 0, done.stdout
        if refused:
            done = self.build("refused", [block for block, _ in refused], "|| true")
            for block, message in refused:
                for line in filter(None, map(str.strip, message.text.split("\n"))):
                    pattern = r"[^\n]*".join(map(re.escape, line.split("…")))
                    assert re.search(rf"^\s*{pattern}\s*$", done.stdout, re.M), f"line {block.line}: {line}\n{done.stdout}"

    def console(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, want = part.partition("\n")
            while command.endswith("\\"):
                more, _, want = want.partition("\n")
                command = command[:-1] + more
            done = run(command, self.folder)
            assert done.returncode == 0, f"line {block.line}: {command}\n{done.stdout}"
            if want.strip():
                assert_shown(want, done.stdout, f"line {block.line}: {command}")

    def python(self, block: Block) -> None:
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            if block.language == "python":
                exec(compile(block.text, f"line {block.line}", "exec"), self.names)
                return
            test = doctest.DocTestParser().get_doctest(block.text, self.names, "page", "page", block.line)
            runner = doctest.DocTestRunner(Checker(), optionflags=doctest.ELLIPSIS)
            said: list[str] = []
            runner.run(test, out=said.append, clear_globs=False)
            self.names = test.globs
            assert not runner.failures, "".join(said)
        finally:
            os.chdir(before)

    def build(self, name: str, pieces: list[Block], ending: str = "") -> subprocess.CompletedProcess:
        """All of these kernels as one project, with the templates of the page."""
        folder = self.folder / name
        folder.mkdir()
        if (self.folder / "templates").exists():
            (folder / "templates").symlink_to(self.folder / "templates")
        entries = "".join(re.sub(r"^(?=.)", "  ", block.text, flags=re.MULTILINE) for block in pieces)
        (folder / "kernels.yaml").write_text(HEAD + entries)
        done = run(f"pydotcompute build -k {ending}", folder)
        assert done.returncode == 0, done.stdout
        return done


class Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want.replace("…", "..."), got, optionflags)
