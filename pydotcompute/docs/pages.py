"""Which pages there are, and the text of one. A page is a file of pages/, but for those that the repository has.

A line `<!-- made: NAME -->` stands for what is made under this name when the page is shown: lists that are the
code's to say are written down nowhere else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple

TOPICS = {
    "tutorial": "a kernel from nothing to a call, to a GPU and into a wheel",
    "language": "what a kernel's body may say, and what it means",
    "programs": "programs of public suites, beside their originals",
    "declaration": "every key of kernels.yaml, and signatures",
    "numba": "coming from Numba",
    "others": "coming from Cython, CuPy's RawKernel or Triton",
    "howto": "debug a wrong kernel, make it fast, ship it, CI and containers, add a target",
    "reference": "settings, exit codes, JSON outputs, files, errors",
    "api": "what a program imports, from the docstrings",
    "commands": "the command line, from its parser",
    "design": "the house, the keys of the cache, what is promised of bits and errors",
    "security": "what is trusted, what is checked and when",
    "testing": "how all of this is tested, and what is not promised",
    "changes": "what changed for users, newest first",
}
OUTSIDE = {"security": "SECURITY.md", "changes": "CHANGELOG.md"}  # at the top of the repository; a wheel has copies
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pages")
MADE = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)

class Page(NamedTuple):
    """One page. `text` is Markdown, with all that is made in its place; links to other pages are `TOPIC.md`."""

    topic: str
    title: str
    text: str


def source(topic: str) -> str:
    """The Markdown of a page as it is written, with its marks. Raises OSError."""
    path = os.path.join(FOLDER, f"{topic}.md")
    if topic in OUTSIDE and not os.path.exists(path):
        path = os.path.join(FOLDER, *[os.pardir] * 3, OUTSIDE[topic])
    with open(path, encoding="utf-8") as file:
        return file.read()


def page(topic: str, make: Callable[[str], str]) -> Page:
    """A page of TOPICS. make: gives the Markdown for the name of a mark. Raises OSError."""
    text = MADE.sub(lambda found: make(found[1]).strip("\n"), source(topic))
    return Page(topic, text.partition("\n")[0].removeprefix("# "), text)
