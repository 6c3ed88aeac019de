"""Everything that a user can write or call is in the pages, by set difference with the code's own tables; and every
link and every file that a page names is there."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pydotcompute
from pydotcompute import errors
from pydotcompute.artifact.signature import DTYPES
from pydotcompute.builder.settings import SETTINGS
from pydotcompute.cli import COMMANDS, main, parser
from pydotcompute.cli.docs import make
from pydotcompute.declare.table import DECLARATION, KERNEL
from pydotcompute.docs.inspected import sections, subparsers
from pydotcompute.docs.pages import FOLDER, MADE, OUTSIDE, TOPICS, page, source
from pydotcompute.docs.tables import MAKERS
from pydotcompute.ir.functions import CONSTANTS, FUNCTIONS, WORDS
from pydotcompute.ir.operations import BINARY, COMPARISONS, CONNECTIVES, UNARY
from pydotcompute.targets.registry import every

ROOT = Path(pydotcompute.__file__).parents[1]


@pytest.fixture(scope="module")
def pages():
    return {topic: page(topic, make).text for topic in TOPICS}


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)


def quoted(text: str) -> str:
    """What stands between backticks, and in fenced blocks."""
    return "\n".join(re.findall(r"`([^`\n]+)`", text) + re.findall(r"^```\w.*?\n(.*?)^```$", text, re.M | re.S))


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", quoted(text)))


def test_every_file_is_a_page():
    assert {path.stem for path in Path(FOLDER).glob("*.md")} == set(TOPICS) - set(OUTSIDE)


def test_each_made_part_is_shown_once():
    marks = [mark for topic in TOPICS for mark in MADE.findall(source(topic))]
    assert sorted(marks) == sorted([*MAKERS, "api", "commands"])


def test_every_word_of_the_language(pages):
    text = pages["language"]
    assert {*CONSTANTS, *WORDS, *DTYPES} - words(text) == set()
    assert set(FUNCTIONS) - set(re.findall(r"^\| `(\w+)\(", text, re.M)) == set()
    operators = {*BINARY, *UNARY, *COMPARISONS, *CONNECTIVES}
    assert operators - set(quoted(text).replace("-x", "- x").replace("~x", "~ x").split()) == set()


def test_every_word_is_explained_by_hand_as_well():
    """A list of names alone explains none."""
    assert WORDS - words(MADE.sub("", source("language"))) == set()


def test_every_key_of_a_declaration_has_its_section(pages):
    assert set(KERNEL.keys) - set(headings(source("declaration"))) == set()
    assert set(DECLARATION.keys) - words(pages["declaration"]) == set()


def test_every_target(pages):
    assert {name for target in every() for name in (target.default, *target.examples)} - set(
        re.findall(r"`([^`\n]+)`", pages["declaration"])
    ) == set()


def test_every_setting(pages):
    named = {name for s in SETTINGS for name in (s.name, s.variable, s.flag) if name}
    assert named - set(re.findall(r"`([^`\s]+)`", pages["reference"])) == set()


def test_every_variable_that_the_code_reads(pages):
    code = "\n".join(path.read_text() for path in (ROOT / "pydotcompute").rglob("*.py"))
    read = set(re.findall(r"[\"'](PYDOTCOMPUTE_[A-Z]+)[\"']", code))
    assert "PYDOTCOMPUTE_DEBUG" in read and read - words(pages["reference"]) == set()


def test_every_error(pages):
    classes = {name for name, cls in vars(errors).items() if inspect.isclass(cls) and issubclass(cls, Exception)}
    rows = re.findall(r"^\| `(\w+)` \| `\w+` \| \w", pages["reference"], re.M)
    assert "AllocationError" in classes and classes - set(rows) == set()
    assert [name for name in classes if not getattr(errors, name).__doc__] == []


def test_every_command_and_option(pages):
    text = pages["commands"]
    for name, sub in subparsers(parser(*COMMANDS)).items():
        part = re.split(r"^## ", text, flags=re.M)[1 + list(COMMANDS).index(name)]
        assert part.startswith(f"{name}\n")
        inner = subparsers(sub).values()
        for one in (sub, *inner):
            options = {word for action in one._actions for word in action.option_strings}
            assert options and options - set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", part)) == set()


def test_every_public_name_with_what_it_says(pages):
    text = pages["api"]
    for members in sections().values():
        assert set(members) - set(headings(text)) == set()
        assert [name for name, value in members.items() if not inspect.getdoc(value)] == []
    assert set(pydotcompute.__all__) - {"__version__"} - set(headings(text)) == set()


def anchors(text: str) -> set[str]:
    """As GitHub and MyST make them."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings(text)}


def test_every_link(pages):
    for topic, text in pages.items():
        for place in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
            if re.match(r"https?://", place):
                assert topic in OUTSIDE, f"{topic}: {place}: pages are read offline"
                continue
            other, _, anchor = place.partition("#")
            assert other == "" or other.removesuffix(".md") in TOPICS, f"{topic}: {place}"
            assert not anchor or anchor in anchors(pages[other.removesuffix(".md") or topic]), f"{topic}: {place}"


def test_every_file_that_is_named(pages):
    """Of this repository; the examples' own are under no such folder."""
    for topic, text in pages.items():
        for path in re.findall(r"(?<![\w/.])((?:tests|pydotcompute|\.ci)/[\w./]*\w)", text):
            assert (ROOT / path).exists(), f"{topic}: {path}"


def shown(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["docs", *arguments])
    return code, *capsys.readouterr()


def test_the_command_lists_the_pages(capsys):
    code, out, _ = shown(capsys)
    assert code == 0 and [line.split()[0] for line in out.splitlines()] == list(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_the_command_shows_a_page(capsys, monkeypatch, topic):
    monkeypatch.setenv("COLUMNS", "72")
    code, out, err = shown(capsys, topic)
    prose = [line for line in out.splitlines() if not line.startswith("    ")]
    assert code == 0 and err == "" and len(prose) > 3
    assert not any(mark in line for line in prose for mark in ("](", "```", "<!--", "| ---", "# "))
    paragraphs = "\n".join(prose).split("\n\n")
    bold = ("**" in re.sub(r"`[^`]+`", "", " ".join(paragraph.split())) for paragraph in paragraphs)
    assert topic == "api" or not any(bold)  # there it is Python's
    assert [line for line in prose if len(line) > 72] == []


def test_the_pages_need_numpy_alone():
    """As they are shown where kernels are only called."""
    blocked = ("numba", "llvmlite", "jinja2", "yaml", "diskcache", "sphinx")
    program = f"""
import sys
sys.modules.update(dict.fromkeys({blocked}))
from pydotcompute.cli import main
sys.exit(max(main(["docs", topic]) for topic in {list(TOPICS)}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_unknown_page_is_likely_another(capsys):
    assert shown(capsys, "langauge") == (
        2, "", "pydotcompute: no page 'langauge' in the documentation; did you mean 'language'?\n",
    )  # fmt: skip
