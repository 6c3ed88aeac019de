"""Kernel, specialisation, backend → Rendered: the Python that is lowered, each line knowing where it was written."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, Callable, Collection, Mapping, Sequence

from ..errors import DeclarationError, Position
from .document import project_file, read
from .model import Kernel, Rendered, Specialisation
from .python_text import check_definition, check_raw, parse_python, raw_module
from .substitute import substitute

NEWLINE = re.compile("\r\n|\r")
MOST_LINES = 2_000  # a thousand that depend on each other take a compiler half a minute
SHIFT = 4  # how far the statements of a body are moved, to stand under our `def`

Origin = tuple[str | None, int]  # a template, or None for an inline body; its line, from 1


def render(
    kernel: Kernel, specialisation: Specialisation, backend: str, root: str | os.PathLike, raw: Collection[str] = (),
    avx512: bool = False,
) -> Rendered:  # fmt: skip
    """The Python of one specialisation for one backend ("cpu", "cuda", …, "python"). `raw`: see python_text.raw_module.
    avx512: for processors that have it.

    Raises DeclarationError: Jinja2's errors, a `def` that is not the signature's, a raw kernel without `launch`.
    """
    context: dict[str, Any] = {
        **dict(specialisation.types), **dict(specialisation.params), **kernel.family,
        "kernel": kernel.name, "backend": backend, "avx512": avx512,
    }  # fmt: skip
    root = os.fspath(root)
    rendered = _from_body(kernel, context, root) if kernel.body is not None else _from_template(kernel, context, root)
    if avx512 and asks_for_avx512(kernel, rendered):
        rendered = replace(rendered, avx512=True)
    if (count := rendered.text.count("\n")) > MOST_LINES:
        told = f"'{kernel.name}' has {count:,} lines once it is rendered, and at most {MOST_LINES:,} are compiled"
        raise DeclarationError(told, kernel.at, "write loops where lines repeat")
    if any(module in rendered.text for module in raw):
        tree = parse_python(rendered)
        if module := raw_module(tree, raw):
            check_raw(kernel, rendered, tree, module)
            return replace(rendered, raw=module)
    return rendered


def asks_for_avx512(kernel: Kernel, rendered: Rendered) -> bool:
    """Whether it may read otherwise for processors with AVX-512 than for others."""
    return any("avx512" in text for text in (kernel.body or "", *rendered.sources.values()))


def _from_body(kernel: Kernel, context: Mapping[str, Any], root: str) -> Rendered:
    body, path = kernel.body, kernel.at.path
    assert body is not None
    body_lines = kernel.body_lines or tuple(range(kernel.at.line, kernel.at.line + body.count("\n") + 1))

    def locate(name: str | None, line: int) -> Position:
        if name is not None:
            return _template_line(root, name, line)
        line = min(line, len(body_lines)) - 1
        at = _line_start(path, kernel.source, body_lines[line])
        if kernel.body_places:
            text, where = body.split("\n")[line], kernel.body_places[line]
            at = at._replace(column=where[len(text) - len(text.lstrip())][1])
        return at

    text, origins, sources = _expand(root, None, body, context, locate)
    index = _numbers(origins)
    files = (path, *(project_file(root, "templates", name) for name in index if name is not None))
    lines = (kernel.source, *(_lines(sources[name]) for name in index if name is not None))
    written = text.split("\n")
    while written and not written[-1].strip():
        written.pop()
    header = f"def {kernel.name}({', '.join(p.name for p in kernel.signature.parameters)}):"
    begin = kernel.positions["body"].line if "body" in kernel.positions else body_lines[0]
    places, found = {}, [(0, begin)]
    for number, (name, line) in enumerate(origins[: len(written)], 2):
        if name is not None:
            found.append((index[name], line))
            continue
        line = min(line, len(body_lines))
        found.append((0, body_lines[line - 1]))
        if kernel.body_places:
            places[number] = (body.split("\n")[line - 1], kernel.body_places[line - 1])
    python = "\n".join([header, *(" " * SHIFT + line if line.strip() else "" for line in written), ""])
    return Rendered(python, files, sources, tuple(found), lines, SHIFT, inline=True, places=places)


def _from_template(kernel: Kernel, context: Mapping[str, Any], root: str) -> Rendered:
    name = kernel.template
    assert name is not None
    source = _template_text(root, name)
    text, origins, sources = _expand(root, name, source, context, lambda n, line: _template_line(root, n or name, line))
    index = _numbers([(name, 1), *origins])
    names = [n for n in index if n is not None]
    files = tuple(project_file(root, "templates", n) for n in names)
    numbered = tuple((index[n], line) for n, line in origins)
    rendered = Rendered(text, files, sources, numbered, tuple(_lines(sources[n]) for n in names))
    check_definition(kernel, rendered, parse_python(rendered))
    return rendered


def _expand(
    root: str, name: str | None, text: str, context: Mapping[str, Any], locate: Callable[[str | None, int], Position]
) -> tuple[str, list[Origin], dict[str, str]]:
    """The text, where each line comes from, and the templates it was made of."""
    plain = NEWLINE.sub("\n", text)
    if found := substitute(plain, context):
        return found[0], [(name, line) for line in found[1]], {} if name is None else {name: text}
    from .templates import expand  # Jinja2 is imported for those who use it

    return expand(root, name, text, context, locate)


def render_text(text: str, context: Mapping[str, Any], at: Position) -> str:
    """A `doc` or `reference` with a family's values put in. Raises DeclarationError at `at`."""
    return _expand("", None, text, context, lambda name, line: at)[0]


def _numbers(origins: list[Origin]) -> dict[str | None, int]:
    """A number for each template, in the order in which they come up; an inline body is number 0."""
    names = dict.fromkeys(name for name, _ in origins)
    if None in names:
        names = {None: None, **names}
    return {name: k for k, name in enumerate(names)}


@lru_cache(256)
def _lines(text: str) -> tuple[str, ...]:
    return tuple(NEWLINE.sub("\n", text).split("\n"))


def _template_text(root: str, name: str) -> str:
    return read(project_file(root, "templates", name), yaml=False).text


def _template_line(root: str, name: str, line: int) -> Position:
    return _line_start(project_file(root, "templates", name), _lines(_template_text(root, name)), line)


def _line_start(path: str, lines: Sequence[str], line: int) -> Position:
    """The first character of a line."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return Position(path, line, len(text) - len(text.lstrip()) + 1, text)
