"""kernels.yaml as nodes that know where they stand: YAML 1.2 core scalars, no aliases, no tags, no duplicate keys."""

from __future__ import annotations

import os
import re
import sys
from codecs import BOM_UTF8
from typing import Any, Iterator

import yaml

from ..cache.files import read_file
from ..errors import DeclarationError, Position
from .node import Node
from .scalars import places

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 20  # deeper than any declaration goes

NOT_TEXT = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")  # what libyaml counts as the end of a line
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
WORDS: dict[str, bool | None] = {word: None for word in ("", "~", "null", "Null", "NULL")}
WORDS |= {word: True for word in ("true", "True", "TRUE")} | {word: False for word in ("false", "False", "FALSE")}


class Document:
    """The file itself: its path as shown to the user, its text and its lines."""

    def __init__(self, path: str, text: str):
        self.path, self.text = path, text
        self.lines = tuple(LINE_BREAK.split(text))

    def position(self, line: int, column: int) -> Position:
        return Position(self.path, line, column, self.lines[line - 1] if line <= len(self.lines) else "")

    def at(self, node: Node, offset: int | None = None) -> Position:
        """Where the node stands, or the character at this offset of its text."""
        if offset is None:
            return self.position(node.line, node.column)
        return self.position(*places(self.lines, node)[min(offset, len(node.text))])

    def error(self, node: Node, message: str, hint: str = "", offset: int | None = None) -> DeclarationError:
        return DeclarationError(message, self.at(node, offset), hint)


def read(path: str, yaml: bool = True) -> Document:
    """The text of a file of the user's, which may hold what YAML may.

    Raises DeclarationError where it is missing, unreadable, or not UTF-8 text.
    """
    try:
        data = read_file(path)
    except OSError as error:
        hint = "run it in the project's folder, or name that with -C" if isinstance(error, FileNotFoundError) else ""
        raise DeclarationError(f"cannot read {path}: {error.strerror or error}", None, hint) from None
    data = data.removeprefix(BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        at = _behind(path, data[: error.start].decode())
        raise DeclarationError("not UTF-8 text", at, "save the file as UTF-8") from None
    document = Document(path, text)
    if yaml and (wrong := NOT_TEXT.search(text)):
        at = _behind(path, text[: wrong.start()])
        raise DeclarationError(f"the character U+{ord(wrong[0]):04X} cannot stand in YAML", at, "delete it")
    return document


def _behind(path: str, text: str) -> Position:
    """The place in a file that follows this beginning of it."""
    lines = LINE_BREAK.split(text)
    return Position(path, len(lines), len(lines[-1]) + 1)


def parse(document: Document, loader: Any = None) -> Node:
    """The nodes of the one YAML document of the file. Raises DeclarationError."""
    reader = (loader or Loader)(document.text)
    try:
        return _build(document, iter(reader.get_event, None))
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(document, error) from None
    finally:
        reader.dispose()


def _not_yaml(document: Document, error: yaml.MarkedYAMLError) -> DeclarationError:
    mark, problem = error.problem_mark or error.context_mark, error.problem or "it ends too early"
    at = document.position(mark.line + 1, mark.column + 1) if mark else Position(document.path, 1, 1)
    hint = error.context or ""
    if hint and error.context_mark and error.context_mark.line != mark.line:
        hint += f" that begins in line {error.context_mark.line + 1}"
    if "alias" in hint or "anchor" in hint:  # what `*` and `&` begin
        hint = "a text that begins with * or & is written in quotes"
    if mark and at.text[mark.column : mark.column + 1] == "\t":
        hint = "YAML is indented with spaces"
    return DeclarationError(f"not YAML: {problem}", at, hint)


def _build(document: Document, events: Iterator) -> Node:
    root = None
    stack: list[tuple[Node, Node | None]] = []  # open collections, each with the key whose value is awaited
    for event in events:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            _refuse_marks(document, event)
            text = event.value
            plain = not event.style
            node = Node(_resolve(text) if plain else text, event.start_mark, text, event.style or None)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            _refuse_marks(document, event)
            node = Node({} if kind is yaml.MappingStartEvent else [], event.start_mark)
            if len(stack) == MAX_DEPTH:
                raise document.error(node, "nested too deeply", "a declaration has a few levels")
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            stack.pop()
            continue
        elif kind is yaml.AliasEvent:
            at = document.position(event.start_mark.line + 1, event.start_mark.column + 1)
            raise DeclarationError(f"aliases are not allowed: *{event.anchor}", at, "write the value again")
        elif kind is yaml.DocumentStartEvent:
            if root is not None:
                at = document.position(event.start_mark.line + 1, event.start_mark.column + 1)
                raise DeclarationError("a second YAML document begins here", at, "kernels.yaml holds one document")
            continue
        elif kind is yaml.StreamEndEvent:
            break
        else:
            continue

        if not stack:
            root = node
        else:
            parent, key = stack[-1]
            if type(parent.value) is list:
                parent.value.append(node)
            elif key is None:
                stack[-1] = (parent, _key(document, parent, node))
                continue
            else:
                parent.value[key.value] = node
                stack[-1] = (parent, None)
        if kind is not yaml.ScalarEvent:
            stack.append((node, None))
    if root is None:
        raise DeclarationError("the file is empty", Position(document.path, 1, 1), "begin with: version: 1")
    return root


def _key(document: Document, parent: Node, node: Node) -> Node:
    if type(node.value) is not str:
        if isinstance(node.value, dict):
            raise document.error(
                node, "a key is a name, found a mapping", "a text that begins with {{ is written in quotes"
            )
        found = "a list" if isinstance(node.value, list) else node.text or "nothing"
        raise document.error(node, f"a key is a name, found {found}", "in quotes it would be one")
    if first := parent.keys.get(node.value):
        raise document.error(node, f"duplicate key '{node.value}'", f"the first is in line {first.line}")
    parent.keys[node.value] = node
    return node


def _refuse_marks(document: Document, event: Any) -> None:
    if event.anchor is not None or event.tag is not None:
        at = document.position(event.start_mark.line + 1, event.start_mark.column + 1)
        if event.anchor is not None:
            raise DeclarationError(f"anchors are not allowed: &{event.anchor}", at, "write the value where it is used")
        raise DeclarationError(
            f"tags are not allowed: {event.tag.replace('tag:yaml.org,2002:', '!!')}",
            at,
            "quotes make a string, digits a number",
        )


def _resolve(text: str) -> Any:
    """A plain scalar by the core schema of YAML 1.2 (section 10.3.2)."""
    if text in WORDS:
        return WORDS[text]
    if text[0] in "+-.0123456789":
        if INTEGER.fullmatch(text) and len(text) < 4000:
            number = int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            return number if abs(number) <= sys.float_info.max else text  # what no float can hold is no number here
        if FLOAT.fullmatch(text):
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def plain(node: Node) -> Any:
    """The value as JSON would have it: what the schema judges."""
    if type(node.value) is dict:
        return {key: plain(value) for key, value in node.value.items()}
    if type(node.value) is list:
        return [plain(value) for value in node.value]
    return node.value


def project_file(root: Any, *names: str) -> str:
    """A path under the project's folder as the user would write it: `kernels.yaml`, not `./kernels.yaml`."""
    return os.path.normpath(os.path.join(os.fspath(root), *names))
