"""The keys of one kernel that lean on its signature: names are dimensions or arguments, files exist, counts agree."""

from __future__ import annotations

import ast
import os
import re
from typing import Any, Collection, Mapping, Sequence

from ..artifact.dimensions import Tree, names as names_of
from ..artifact.signature import Signature
from ..errors import Position
from . import expressions, possible
from .document import NOT_TEXT, Document, Node, project_file, read
from .model import aligned
from .names import near
from .possible import Params
from .rendering import render_text
from .scalars import line_places

FILE_FUNCTION = re.compile(r"([\w./-]+\.py):([A-Za-z_]\w*)")


def _is_product(signature: Signature) -> bool:
    """Whether the arguments have the types and shapes of NumPy's matmul: a @ b -> out."""
    parameters = signature.parameters
    if len(parameters) != 3 or [p.role for p in parameters] != ["in", "in", "out"]:
        return False
    if any(p.dims is None or p.layout == "broadcast" or p.dtype != parameters[0].dtype or p.fill for p in parameters):
        return False
    left, right, result = (p.dims or () for p in parameters)
    if any(p.ellipsis for p in parameters):
        if not all(p.ellipsis and len(p.dims or ()) == 2 for p in parameters):
            return False
    elif not 1 <= len(left) <= 2 or not 1 <= len(right) <= 2 or len(result) == 0:
        return False
    return left[-1] == right[0] and result == (*left[:-1], *right[1:])


def counted(values: int) -> str:
    return "1 value" if values == 1 else f"{values} values"


def _arguments(source: str, function: str) -> list[str]:
    """Of a function that a file of Python defines; none where it is made otherwise, or the file is wrong."""
    try:
        defined = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return []
    found = [node.args for node in defined if node.name == function]
    return [a.arg for args in found for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


class Entry:
    """One entry of `kernels:`, once its signature is known; each method checks one key and returns what it says."""

    def __init__(
        self, document: Document, root: str, node: Node, signature: Signature, params: Params,
        types: Mapping[str, Sequence[str]],
    ):  # fmt: skip
        self.document, self.root, self.node, self.signature = document, root, node, signature
        self.params, self.types = params, types
        self.numbers = (*signature.symbols, *params)

    def expression(
        self, node: Node, kind: str, names: Collection[str], what: str = "a dimension or param",
        least: int | None = None,
    ) -> Tree:  # fmt: skip
        spot = lambda k: self.document.at(node, k)  # noqa: E731
        return possible.read(node.value, kind, names, spot, what, self.params, least)

    def requires(self) -> tuple[Tree, ...]:
        if not (node := self.node.get("requires")):
            return ()
        scalars = {p.name: self.types.get(p.dtype, (p.dtype,)) for p in self.signature.inputs if not p.is_array}
        names, what = (*self.numbers, *scalars), "a dimension, param or scalar argument"
        found = []
        truths = {name for name, dtypes in scalars.items() if {*dtypes} == {"bool"}}
        for item in node.value:
            alone = item.value.strip()  # a truth is a condition itself
            found.append(alone if alone in truths else self.expression(item, "condition", names, what))
            if why := possible.unsuited(found[-1], scalars):
                raise self.document.error(item, f"no call can succeed: {why}", "write another expression")
        return tuple(found)

    def tune(self) -> tuple[str, ...]:
        for item in (node := self.node.get("tune")) and node.value or ():
            name = item.value
            if name not in self.params:
                raise self.document.error(item, f"'{name}' is not a param", near(name, self.params))
            if len(self.params[name]) == 1:
                raise self.document.error(
                    item, f"'{name}' has one value, so there is none to choose", f"write params: {{{name}: [32, 16]}}"
                )
            if where := self._mentions(name):
                hint = f"take {name} out of it, or out of tune"
                raise self.document.error(item, f"'{name}' changes more than speed: {where} mentions it", hint)
        return tuple(item.value for item in node.value) if node else ()

    def _mentions(self, name: str) -> str:
        """Where a caller sees which value a param has; empty if nowhere. Scratch is the kernel's own."""
        for p in self.signature.parameters:
            if p.role != "temp" and any(name in names_of(dim) for dim in p.dims or ()):
                return f"the shape of '{p.name}'"
        if any(name in names_of(condition) for condition in self.requires()):
            return "requires"
        if (node := self.node.get("reference")) is None:
            return ""
        for text in [node.value] if isinstance(node.value, str) else [item.value for item in node.value]:
            if function := FILE_FUNCTION.fullmatch(text.strip()):
                path = project_file(self.root, "templates", *function[1].split("/"))
                if os.path.isfile(path) and name in _arguments(read(path, yaml=False).text, function[2]):
                    return "the reference"
            elif re.search(rf"\b{re.escape(name)}\b", text):
                return "the reference"
        return ""

    def vendor(self) -> dict[str, Tree]:
        if not (node := self.node.get("vendor")):
            return {}
        if not _is_product(self.signature):
            raise self.document.error(
                node.value["call"], "these arguments are not those of matmul",
                "it takes two arrays, (m, k) and (k, n), either without its m or n, and gives the third",
            )
        result = {"call": node.value["call"].value}
        for key in ("when", "on_device"):
            if key in node.value:
                result[key] = self.expression(node.value[key], "condition", self.numbers)
        return result

    def launch(self) -> dict[str, Any]:
        if not (node := self.node.get("launch")):
            return {}
        result: dict[str, Any] = {}
        for key, value in node.value.items():
            names, what = (self.params, "a param") if key == "block" else (self.numbers, "a dimension or param")

            def one(item: Node, names: Collection[str] = names, what: str = what) -> Tree:
                text = isinstance(item.value, str)
                return self.expression(item, "integer", names, what, least=1) if text else int(item.value)

            result[key] = tuple(map(one, value.value)) if isinstance(value.value, list) else one(value)
        block = result["block"] if isinstance(node.value["block"].value, list) else (result["block"],)
        threads = 1
        for size in block:
            threads *= size if isinstance(size, int) else 1
        if threads > 1024:
            at = node.value["block"]
            raise self.document.error(
                at, f"a block of {threads} threads is too large", "a block has at most 1024 threads"
            )
        return result

    def code(self) -> dict[str, Any]:
        if (body := self.node.get("body")) is not None:
            if not any(line.strip() and not line.strip().startswith("#") for line in body.value.split("\n")):
                raise self.document.error(body, "the body is empty", "write statements, or use template")
            if body.style == "|":
                lines = tuple(range(body.line + 1, body.line + 2 + body.value.count("\n")))
                return {"body": body.value, "template": None, "body_lines": lines}
            where = line_places(self.document.lines, body)
            lines = tuple(places[0][0] for places in where)
            return {"body": body.value, "template": None, "body_lines": lines, "body_places": tuple(map(tuple, where))}
        template = self.node.value["template"]
        self.file(template, template.value, "template", 0)
        return {"body": None, "template": template.value}

    def file(self, node: Node, name: str, what: str, offset: int) -> str:
        """The path of a file under templates/ that a key names."""
        parts = name.split("/")
        if os.path.isabs(name) or ".." in parts or "\\" in name or not name or "" in parts or "." in parts:
            hint = "name a file under templates/, with forward slashes"
            raise self.document.error(node, f"not the path of a {what}: '{name}'", hint, offset)
        path = project_file(self.root, "templates", *parts)
        if os.path.isfile(path):
            return path
        if os.path.lexists(path):
            raise self.document.error(node, f"{what} '{name}' is no file: {path}", "write a file in its place", offset)
        if parts[0] == "templates" and os.path.isfile(project_file(self.root, *parts)):
            raise self.document.error(
                node, f"{what} '{name}' not found in templates/", f"write {'/'.join(parts[1:])}", offset
            )
        folder = os.path.join(self.root, "templates")
        there = [
            os.path.relpath(os.path.join(at, file), folder).replace(os.sep, "/")
            for at, _, files in os.walk(folder) for file in sorted(files)
        ]  # fmt: skip
        hint = near(name, there) or "there is no file in templates/"
        raise self.document.error(node, f"{what} '{name}' not found in templates/", hint, offset)

    def file_function(self, node: Node, text: str, what: str, offset: int = 0) -> bool:
        """Whether the text is `file.py:function`; if so, the file must be there and define it."""
        if not (match := FILE_FUNCTION.fullmatch(text.strip())):
            return False
        start = len(text) - len(text.lstrip())
        path = self.file(node, match[1], what, offset + start)
        source = read(path, yaml=False).text
        name = re.escape(match[2])
        if not re.search(rf"^(?:def\s+{name}\b|{name}\s*=|.*\bimport\b.*\b{name}\b)", source, re.MULTILINE):
            hint = near(match[2], re.findall(r"^def\s+(\w+)", source, re.MULTILINE)) or f"write def {match[2]}(…)"
            raise self.document.error(
                node, f"{match[1]} has no function '{match[2]}'", hint, offset + start + match.start(2)
            )
        return True

    def inputs(self) -> dict[str, dict[str, Any]] | str | None:
        node = self.node.get("inputs")
        if node is None:
            return None
        if isinstance(node.value, str):
            if not self.file_function(node, node.value, "file of inputs"):
                raise self.document.error(
                    node, f"expected FILE.py:FUNCTION, found '{node.value}'", "the file is beside the templates"
                )
            return node.value.strip()
        names, result = [p.name for p in self.signature.inputs], {}
        for name, drawn in node.value.items():
            if name not in names:
                raise self.document.error(node.keys[name], f"'{name}' is not an argument", near(name, names))
            result[name] = {
                key: self.expression(value, "number", self.numbers) if isinstance(value.value, str) else value.value
                for key, value in drawn.value.items()
            }
            low, high = result[name].get("low"), result[name].get("high")
            if isinstance(low, (int, float)) and isinstance(high, (int, float)) and not low <= high:
                raise self.document.error(drawn, f"low is {low}, above high, {high}", "exchange them")
        return result

    def unordered(self) -> tuple[str, ...]:
        outputs = [p.name for p in self.signature.outputs if p.is_array and not p.ellipsis]
        return self._arrays("unordered", outputs, "an output with a first axis of its own")

    def disjoint(self) -> tuple[str, ...]:
        arrays = [p.name for p in self.signature.parameters if p.is_array and p.writable]
        return self._arrays("disjoint", arrays, "an array that the kernel writes")

    def _arrays(self, key: str, names: list[str], what: str) -> tuple[str, ...]:
        """The parameters that a key lists."""
        for item in (node := self.node.get(key)) and node.value or ():
            if item.value not in names:
                raise self.document.error(item, f"'{item.value}' is not {what}", near(item.value, names))
        return tuple(item.value for item in node.value) if node else ()

    def sizes(self) -> dict[str, tuple[dict[str, int], ...]]:
        if not (node := self.node.get("sizes")):
            return {}
        symbols = self.signature.symbols
        for choices in node.value.values():
            for size in choices.value:
                for name, key in size.keys.items():
                    if name not in symbols:
                        raise self.document.error(key, f"'{name}' is not a dimension", near(name, symbols))
                for name in symbols:
                    # Behind `...` and `..., n` stands one shape: its number of rows is its number of elements.
                    if name not in size.value and (name, "rows" in size.value) != ("size", True):
                        hint = f"add {name}: 1000"
                        if any(p.name == name for p in self.signature.parameters):
                            hint = f"add {name}: 3; of what says a dimension the value is here, not in 'inputs'"
                        raise self.document.error(size, f"these sizes do not say '{name}'", hint)
        return {
            key: tuple({n: int(v.value) for n, v in size.value.items()} for size in choices.value)
            for key, choices in node.value.items()
        }

    def work(self) -> dict[str, Tree]:
        if not (node := self.node.get("work")):
            return {}
        return {
            key: self.expression(value, "number", self.numbers) if isinstance(value.value, str) else value.value
            for key, value in node.value.items()
        }

    def family_names(self) -> None:
        taken = dict.fromkeys(self.types, "a type variable") | dict.fromkeys(self.params, "a param")
        for member in self.node.value["family"].value.values():
            for name, key in member.keys.items():
                if name in taken:
                    raise self.document.error(
                        key, f"'{name}' is already the name of {taken[name]}", "choose another name"
                    )

    def _filled(self, node: Node, kernel: str, family: dict[str, Any]) -> str:
        """A text with a family's values put in."""
        if not family:
            return node.value
        return render_text(node.value, {**family, "kernel": kernel}, self.document.at(node))

    def doc(self, kernel: str, family: dict[str, Any]) -> str:
        if (node := self.node.get("doc")) is None:
            return ""
        text = self._filled(node, kernel, family).strip()
        if "\n" in text:
            raise self.document.error(node, "doc is more than one line", "shorten it")
        if wrong := NOT_TEXT.search(text):  # an escape in quotes can write it
            raise self.document.error(node, f"doc has the character U+{ord(wrong[0]):04X}", "delete it")
        return text

    def reference(self, kernel: str, family: dict[str, Any]) -> str | tuple[str, ...] | None:
        if (node := self.node.get("reference")) is None:
            return None
        signature = self.signature
        written = [p.name for p in signature.written]
        names = (*(p.name for p in signature.inputs), *self.numbers, "np")

        def one(item: Node, several: bool) -> str:
            text = self._filled(item, kernel, family)
            if FILE_FUNCTION.fullmatch(text.strip()) and several:
                hint = "alone it may, and returns a tuple"
                raise self.document.error(item, "FILE.py:FUNCTION does not stand in a list", hint)
            if self.file_function(item, text, "file of references"):
                return text.strip()

            def spot(offset: int) -> Position:
                return self.document.at(item, aligned(item.value, text, offset))

            checked = expressions.check(text, "reference", names, spot, "an argument, dimension or param")
            tree = expressions.parse(text).body
            count = len(tree.elts) if isinstance(tree, ast.Tuple) else None
            if several and count is not None or count not in (None, len(written)):
                found = "a tuple" if several else counted(count)
                raise self.document.error(item, f"expected one value for each of {', '.join(written)}, found {found}")
            return checked

        if isinstance(node.value, str):
            return one(node, False)
        if len(node.value) != len(written):
            message = f"expected one value for each of {', '.join(written)}, found {counted(len(node.value))}"
            raise self.document.error(node, message)
        return tuple(one(item, True) for item in node.value)
