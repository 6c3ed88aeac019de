"""The man page, pydotcompute(1), from the parser of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable

from ..builder.settings import SETTINGS
from .inspected import subparsers


def man(parser: argparse.ArgumentParser, name: str, version: str) -> str:
    """The page of a program with commands, in the macros of man(7)."""
    about, _, streams = (parser.description or "").partition("\n")
    lines = [
        f'.TH {_quoted(name.upper())} 1 "" {_quoted(f"{name} {version}")} "User Commands"',
        ".SH NAME", f"{_text(name)} \\- {_text(about.rstrip('.'))}",
        ".SH SYNOPSIS", f".B {_text(name)}", ".I COMMAND", "[options]",
        ".SH DESCRIPTION", *_paragraphs(f"{about}\n{streams}"),
        ".SH COMMANDS",
    ]  # fmt: skip
    for command, sub in subparsers(parser).items():
        actions = subparsers(sub)
        lines += _command(command, sub, bool(actions))
        for action, inner in actions.items():
            lines += _command(f"{command} {action}", inner, False)
    lines += [".SH EXIT STATUS"]
    for code, when in re.findall(r"(\d+) ([^,\n]+)", (parser.epilog or "").partition("exit codes:")[2]):
        lines += [".TP", f".B {code}", _text(when)]
    lines += [".SH ENVIRONMENT"]
    for setting in SETTINGS:
        if setting.variable:
            lines += [".TP", f".B {_text(setting.variable)}", _text(setting.doc)]
    lines += [".SH SEE ALSO", f"{_text(name)} docs lists the pages of the documentation, which is part of the package."]
    return "\n".join(lines) + "\n"


def _command(name: str, parser: argparse.ArgumentParser, has_actions: bool) -> list[str]:
    lines = [f".SS {_quoted(name)}", *_paragraphs(parser.description or "")]
    if has_actions:
        return lines
    for action in parser._actions:
        if action.help is argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
            continue
        shown = action.help or ""
        if "%" in shown:
            shown %= {**vars(action), "prog": parser.prog}
        lines += [".TP", _head(action), _text(shown) or "\\&"]
    return lines


def _head(action: argparse.Action) -> str:
    """An option or an argument as it is written."""
    names = (action.metavar,) if isinstance(action.metavar, str) else action.metavar or (action.dest.upper(),)
    if action.choices is not None and not action.metavar:
        names = ("|".join(map(str, action.choices)),)
    value = " ".join(f"\\fI{_text(name)}\\fR" for name in names)
    if not action.option_strings:
        return value
    options = ", ".join(f"\\fB{_text(option)}\\fR" for option in action.option_strings)
    return options if action.nargs == 0 else f"{options} {value}"


def _paragraphs(text: str) -> Iterable[str]:
    """A description: what is indented stays as it is written."""
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        rows = part.split("\n")
        as_written = all(row.startswith("  ") for row in rows)
        yield ".PP"
        yield from [".nf", *map(_text, rows), ".fi"] if as_written else map(_text, (row.strip() for row in rows))


def _text(text: str) -> str:
    """A line of text, in which nothing means anything to roff."""
    line = " ".join(text.split("\n")).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def _quoted(text: str) -> str:
    return '"' + _text(text).replace('"', "\\(dq") + '"'
