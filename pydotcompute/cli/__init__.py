"""The command line: picks a command's file, runs it, turns errors into one line and an exit code.

0: done. 1: something failed. 2: the command was not understood. 130: interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from _thread import interrupt_main, start_new_thread
from codecs import register_error
from contextlib import contextmanager, nullcontext
from typing import Any, Iterator, NoReturn

COMMANDS = {
    "init": "write the first files of a project, or of a package",
    "build": "compile every kernel that is not up to date",
    "check": "hold the built artifacts to their references",
    "bench": "measure calls, starts, kernels, functions, builds and devices",
    "backends": "show what this machine can run kernels on",
    "show": "show what becomes of a kernel, down to its instructions",
    "report": "write one page that shows the project from the inside",
    "diff": "compare two artifacts, down to their instructions",
    "explain": "why the artifacts of a kernel are, or are not, up to date",
    "schema": "print the JSON Schema of kernels.yaml",
    "config": "show every setting and where its value comes from",
    "cache": "look into the kernel cache, verify it, clear it",
    "docs": "show the documentation; write it as a site, or a man page",
    "completion": "print what makes a shell complete commands and options",
}
DESCRIPTION = """\
Ahead-of-time kernels for Python: declare them in kernels.yaml, build them, import them.
Results go to stdout, everything else to stderr."""
EPILOG = """\
'pydotcompute COMMAND --help' describes a command.
exit codes: 0 done, 1 something failed, 2 the command was not understood, 130 interrupted"""


class UsageError(Exception):
    """The command line asks for something that there is not; exit code 2."""


def main(arguments: list[str] | None = None) -> int:
    """Run the program; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    told = sys.unraisablehook

    def unraisable(what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):  # heard where nothing can be raised: again, where it can
            start_new_thread(interrupt_main, ())
        elif not issubclass(what.exc_type, MemoryError):  # of no memory one line says enough, see _report
            told(what)

    sys.unraisablehook = unraisable
    try:
        with _stream("stdout"), _stream("stderr"):
            return _ended(given)
    finally:
        sys.unraisablehook = told


def _shown(error: UnicodeError) -> tuple[str | bytes, int]:
    """What stands for a character that an encoding does not have: the byte of a name that it was made of, or a sign."""
    assert isinstance(error, UnicodeEncodeError)
    number = ord(error.object[error.start])
    return bytes([number - 0xDC00]) if 0xDC80 <= number <= 0xDCFF else "?", error.start + 1


# How stdout encodes in the locales C and POSIX, and how it does then.
ESCAPED, SHOWN = "surrogateescape", "pydotcompute.shown"
register_error(SHOWN, _shown)


@contextmanager
def _stream(name: str) -> Iterator[None]:
    """An output that takes whatever is printed: nowhere where it is closed, which Python says by None, and with a sign
    in the place of each character that its encoding does not have."""
    given = getattr(sys, name)
    if isinstance(given, io.TextIOWrapper) and given.errors in (others := {"strict": "replace", ESCAPED: SHOWN}):
        given.reconfigure(errors=others[given.errors])
    with open(os.devnull, "w", encoding="utf-8") if given is None else nullcontext(given) as stream:
        setattr(sys, name, stream)
        try:
            yield
        finally:
            setattr(sys, name, given)


def _ended(given: list[str]) -> int:
    """Run the program, and say why it ended where it did; returns the exit code."""
    try:
        code = _run(given)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _end("interrupted", 130)
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except SystemExit as error:  # argparse, for --help and for mistakes
        return error.code if isinstance(error.code, int) else 2
    except Exception as error:
        if _is_interruption(error):
            return _end("interrupted", 130)
        return _report(error)


def _is_interruption(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it: Python 3.11 where it makes a class, and packages that are imported, give it on as
    an exception of their own."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _run(given: list[str]) -> int:
    named = next((word for word in given if not word.startswith("-")), None)
    described = parser(named)  # only what is asked for is imported: the other commands are one line of help
    if named is not None and named not in COMMANDS:
        _unknown(described, named)
    options = described.parse_args(given)
    if options.command is None:
        described.print_help(sys.stderr)
        return 2
    from .terminal import be_quiet

    be_quiet(getattr(options, "quiet", False))
    return _module(options.command).run(options)


def parser(*described: str | None) -> argparse.ArgumentParser:
    """The parser of the program, with the options of these commands; of the others it knows the summary."""
    whole = argparse.ArgumentParser(
        "pydotcompute", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    whole.add_argument("-V", "--version", action=_Version, nargs=0, help="print the version and stop")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        if name not in described:
            commands.add_parser(name, help=summary, add_help=False)
            continue
        module = _module(name)
        sub = commands.add_parser(
            name, help=summary, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_arguments(sub)
    return whole


def _module(name: str):
    from importlib import import_module

    return import_module(f".{name}", __name__)


def _unknown(parser: argparse.ArgumentParser, name: str) -> NoReturn:
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(COMMANDS)}"
    parser.error(f"no command '{name}'; {hint}")


class _Version(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        from .. import __version__

        print(f"pydotcompute {__version__}")
        parser.exit()


def _report(error: Exception) -> int:
    from ..builder.build import BuildError
    from ..builder.bundle import BundleError
    from ..builder.settings import SettingError
    from ..errors import (
        ArchiveError,
        CompilerNotInstalledError,
        DeclarationError,
        KernelNotBuiltError,
        is_out_of_memory,
    )

    if isinstance(error, (UsageError, SettingError)):
        return _end(f"pydotcompute: {error}", 2)
    ours = (ArchiveError, DeclarationError, BuildError, BundleError, CompilerNotInstalledError, KernelNotBuiltError)
    if isinstance(error, ours):
        return _end(str(error), 1)
    if isinstance(error, ModuleNotFoundError) and error.name in ("yaml", "jinja2", "diskcache", "numba", "llvmlite"):
        from ..artifact.remedies import install

        told = install("build", {"yaml": "pyyaml"}.get(error.name, error.name))
        return _end(f"building needs {error.name}, which is not installed: {told}", 1)
    if isinstance(error, OSError) and error.errno:
        return _end(f"{error.filename or 'pydotcompute: a file'}: {error.strerror}", 1)
    if is_out_of_memory(error):
        return _end("pydotcompute: not enough memory", 1)
    if isinstance(error, ImportError) and (error.path or "").endswith(".so"):  # no memory, no more open files
        return _end(f"pydotcompute: {error}", 1)
    if os.environ.get("PYDOTCOMPUTE_DEBUG"):
        raise error
    what = " ".join(str(error).split())[:300]
    return _end(f"internal error: {type(error).__name__}: {what} (PYDOTCOMPUTE_DEBUG=1 shows where)", 1)


def _end(line: str, code: int) -> int:
    print(line, file=sys.stderr, flush=True)
    return code
