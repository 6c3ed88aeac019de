"""Print a script by which a shell completes commands, options and files.

  pydotcompute completion bash > ~/.local/share/bash-completion/completions/pydotcompute
  pydotcompute completion zsh > ~/.zfunc/_pydotcompute          with ~/.zfunc in $fpath, before compinit
  pydotcompute completion fish > ~/.config/fish/completions/pydotcompute.fish

It needs shtab, of the extra 'completion'. While one types, 'pydotcompute completion kernels' says
which kernels there are.
"""

from __future__ import annotations

import argparse

from .arguments import add_common, print_json, project_root

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=(*SHELLS, "kernels"), help="the shell that is to read it; or names of kernels")
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    if options.shell == "kernels":
        found = kernels(project_root(options))
        print_json({"version": 1, "names": found}) if options.json else print("\n".join(found))
        return 0
    text = script(options.shell)
    if options.json:
        print_json({"version": 1, "shell": options.shell, "script": text})
    else:
        print(text)
    return 0


def kernels(root: str) -> list[str]:
    """The names of the kernels of a project. Raises DeclarationError."""
    from ..declare import load

    declaration = load(root, keep_going=True)
    return [*declaration.kernels, *declaration.refused]


def script(shell: str) -> str:
    """What a shell reads. Raises CompilerNotInstalledError where shtab is missing."""
    from . import COMMANDS, parser

    try:
        import shtab
    except ModuleNotFoundError:
        from ..artifact.remedies import install
        from ..errors import CompilerNotInstalledError

        told = install("completion", "shtab")
        raise CompilerNotInstalledError(f"completion needs shtab, which is not installed: {told}") from None
    whole = parser(*COMMANDS)
    for action in _actions(whole):
        if action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif isinstance(action.metavar, str) and action.metavar.startswith("FILE"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "KERNEL":
            action.complete = shtab.cmd("pydotcompute completion kernels 2>/dev/null")  # type: ignore[attr-defined]
    return str(shtab.complete(whole, shell))


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Every option and argument of a parser, and of those of its commands."""
    from ..docs.inspected import subparsers

    return [*parser._actions, *(action for sub in subparsers(parser).values() for action in _actions(sub))]
