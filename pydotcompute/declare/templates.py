"""Jinja2: templates of a project, sandboxed, strict about names, every failure told at the template's line."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any, Callable, Iterable, Mapping, MutableMapping, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context

from ..errors import DeclarationError, Position
from . import bounds
from .document import project_file, read
from .names import near
from .origins import RESERVED, LineMarks, Marked, Origin, read_marks, realign

MOST_TURNS = 100_000  # of the loops and macros in a rendering, nested ones multiplied
TOO_MANY = f"the loops and macros of a template may have {MOST_TURNS:,} turns in all"
Locate = Callable[[str | None, int], Position]

class Expanded(NamedTuple):
    text: str
    origins: list[Origin]  # of each line
    sources: dict[str, str]  # of the templates that were read, by their path under templates/


class Environment(Marked):
    """One folder of templates. Notes what a rendering reads."""

    def __init__(self, folder: str, marked: bool):
        self.files = Loader(folder)
        super().__init__(
            loader=self.files, undefined=jinja2.StrictUndefined, keep_trailing_newline=True,
            extensions=[LineMarks] if marked else [],
        )  # fmt: skip
        self.places: list[Origin] = []
        self.captures: set[str | None] = set()
        self.used: dict[str, None] = {}
        self.turns = 0
        self.globals["range"] = self._range
        del self.globals["lipsum"]  # another text each time

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for node in list[Any](tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock))):
            call = nodes.Call(nodes.EnvironmentAttribute("turn"), [], [], None, None)
            node.body.insert(0, nodes.ExprStmt(call, lineno=node.lineno))
        return tree

    def turn(self) -> None:
        """One turn of a loop, or one call of a macro: as many as a template may make."""
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise ValueError(TOO_MANY)

    def _range(self, *bounds: int) -> range:
        """Python's `range`, no longer than a loop over it could be."""
        found = range(*bounds)
        if len(found) > MOST_TURNS:
            raise ValueError(TOO_MANY)
        return found

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        bounds.check(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def get_template(
        self, name: str | jinja2.Template, parent: str | None = None, globals: MutableMapping[str, Any] | None = None
    ) -> jinja2.Template:
        return self._noted(super().get_template(name, parent, globals))

    def select_template(
        self, names: Iterable[str | jinja2.Template], parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,
    ) -> jinja2.Template:  # fmt: skip
        return self._noted(super().select_template(names, parent, globals))

    def _noted(self, template: jinja2.Template) -> jinja2.Template:
        if template.name is not None:
            self.used[template.name] = None
        return template


class Loader(jinja2.BaseLoader):
    """Templates under a folder, compiled anew when their text is another, whatever the clock says."""

    def __init__(self, folder: str):
        self.folder = folder
        self.sources: dict[str, str] = {}

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        path = template_path(self.folder, template)
        if path is None or not os.path.lexists(path) or os.path.isdir(path):
            raise jinja2.TemplateNotFound(template)
        source = read(path, yaml=False).text
        self.sources[template] = refuse_marks(source, template)
        return source, path, lambda: os.path.isfile(path) and read(path, yaml=False).text == source


def refuse_marks(source: str, name: str | None) -> str:
    """The source, if it has none of the characters that mark lines."""
    if wrong := RESERVED.search(source):
        message = f"the character U+{ord(wrong[0]):04X} cannot stand in a template"
        raise jinja2.TemplateSyntaxError(message, source[: wrong.start()].count("\n") + 1, name)
    return source


def template_path(folder: str, name: str) -> str | None:
    """The file of a template, or None if the name leads out of the folder."""
    parts = name.split("/")
    return None if {"", ".", ".."} & set(parts) or "\\" in name else os.path.join(folder, *parts)


@lru_cache(16)
def _environment(folder: str, marked: bool) -> Environment:
    return Environment(folder, marked)


@lru_cache(256)
def _inline(environment: Environment, text: str) -> jinja2.Template:
    return environment.from_string(refuse_marks(text, None))


def expand(root: str, template: str | None, text: str, context: Mapping[str, Any], locate: Locate) -> Expanded:
    """Render a file under templates/, or a text of its own. `locate` says where a line of a template stands.

    Raises DeclarationError: syntax, undefined name, missing include, whatever an expression raises.
    """
    folder = project_file(root, "templates")
    marked = _environment(folder, True)
    result, failure = "", None
    origins: list[Origin] = []
    try:
        result, origins = read_marks(_render(marked, template, text, context, locate), marked.places, (template, 1))
    except DeclarationError as error:
        failure = error
    last = marked
    if not marked.captures.isdisjoint([template, *marked.used]):
        # Text that became a value was compared or measured with its marks: what counts is rendered without.
        last = _environment(folder, False)
        found = _render(last, template, text, context, locate)
        if failure:
            result, origins = text, [(template, line) for line in range(1, text.count("\n") + 2)]
        if found != result:
            result, origins = found, realign(result, origins, found)
    elif failure:
        raise failure
    return Expanded(result, origins, {name: last.files.sources[name] for name in last.used})


def _render(
    environment: Environment, template: str | None, text: str, context: Mapping[str, Any], locate: Locate
) -> str:
    environment.used, environment.turns = {}, 0
    try:
        with bounds.memory():  # Jinja2 computes what is constant where it reads a template
            made = environment.get_template(template) if template else _inline(environment, text)
            result = made.render(context)
        if len(result) > bounds.MOST_ELEMENTS:
            raise ValueError(bounds.TOO_LONG)
        return result
    except DeclarationError:
        raise
    except MemoryError as error:
        at = locate(*_place(environment, error, template))
        raise DeclarationError(f"Jinja2: {bounds.no_memory()}", at) from None
    except jinja2.TemplateSyntaxError as error:
        name = error.name if error.name is not None else template
        raise DeclarationError(f"Jinja2: {error.message}", locate(name, error.lineno)) from None
    except Exception as error:  # whatever an expression of the user's raises is a mistake in the template
        at = locate(*_place(environment, error, template))
        raise DeclarationError(*_explained(environment, error, context, at)) from None


def _explained(
    environment: Environment, error: Exception, context: Mapping[str, Any], at: Position
) -> tuple[str, Position, str]:
    if isinstance(error, jinja2.TemplateNotFound):
        names = error.templates if isinstance(error, jinja2.TemplatesNotFound) else [error.name]
        folder = environment.files.folder
        there = [
            os.path.relpath(os.path.join(where, file), folder).replace(os.sep, "/")
            for where, _, files in os.walk(folder) for file in sorted(files)
        ]  # fmt: skip
        return f"template '{', '.join(map(str, names))}' not found in templates/", at, near(str(names[0]), there)
    if isinstance(error, jinja2.UndefinedError):
        text = str(error.message)
        name = text.split("'")[1] if text.endswith("is undefined") and text.count("'") == 2 else ""
        if name and (match := re.search(rf"\b{re.escape(name)}\b", at.text)):
            at = at._replace(column=match.start() + 1)
        return f"Jinja2: {text}", at, near(name, context) if name else ""
    text = str(error) or type(error).__name__
    return f"Jinja2: {type(error).__name__}: {text}", at, ""


def _place(environment: Environment, error: Exception, template: str | None) -> Origin:
    """The innermost line of a template in a traceback; Jinja2 puts its lines there."""
    place: Origin = (template, 1)
    trace = error.__traceback__
    folder = environment.files.folder
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == "<template>":
            place = (None, trace.tb_lineno)
        elif file.startswith(folder + os.sep):
            place = (os.path.relpath(file, folder).replace(os.sep, "/"), trace.tb_lineno)
        trace = trace.tb_next
    return place
