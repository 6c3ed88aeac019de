"""Print a script by which a shell completes commands, options and files.

  pydotcompute completion bash > ~/.local/share/bash-completion/completions/pydotcompute
  pydotcompute completion zsh > ~/.zfunc/_pydotcompute          with ~/.zfunc in $fpath, before compinit
  pydotcompute completion fish > ~/.config/fish/completions/pydotcompute.fish

It needs shtab, of the extra 'completion'. While one types, 'pydotcompute completion kernels' and 'completion targets'
say which there are.
"""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import add_common, print_json, project_root

SHELLS = ("bash", "zsh", "fish")
NAMES = {"KERNEL": "kernels", "OLD": "kernels", "NEW": "kernels", "TARGET": "targets"}  # metavar → what is asked for
ASKING = {
    "bash": """\
FUNCTION() {
  local k at=.
  for k in "${!COMP_WORDS[@]}"; do
    [[ ${COMP_WORDS[k]} != -C && ${COMP_WORDS[k]} != --directory ]] || at=${COMP_WORDS[k + 1]}
  done
  compgen -W "$(pydotcompute completion WHAT -C "${at/#\\~/$HOME}" 2>/dev/null)" -- "$1"
}""",
    "zsh": """\
FUNCTION() {
  local k at=.
  local -a names
  for ((k = 1; k < $#words; k++)); do
    [[ $words[k] != -C && $words[k] != --directory ]] || at=$words[k+1]
  done
  names=(${(f)"$(pydotcompute completion WHAT -C ${~at} 2>/dev/null)"})
  compadd -a names
}""",
    "fish": """\
function FUNCTION
  set -l at .
  set -l words (commandline -opc)
  for k in (seq (count $words))
    contains -- $words[$k] -C --directory; and set at (string replace -r '^~' $HOME -- $words[(math $k + 1)])
  end
  pydotcompute completion WHAT -C $at 2>/dev/null
end""",
}
# Bash takes `cpu:x86-64` for three words, of which the last is completed.
WHOLE_WORDS = """
_pydotcompute_whole_words() {
  local word k at=-1 words=()
  for k in "${!COMP_WORDS[@]}"; do
    word=${COMP_WORDS[k]}
    if ((at > 0)) && [[ $word == :* || ${words[at]} == *: ]]; then words[at]+=$word; else words[++at]=$word; fi
    ((k == COMP_CWORD)) && local cword=$at
  done
  local COMP_WORDS=("${words[@]}") COMP_CWORD=$cword
  _shtab_pydotcompute "$@"
  word=${COMP_WORDS[COMP_CWORD]}
  [[ $COMP_WORDBREAKS != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
}
complete -o bashdefault -F _pydotcompute_whole_words pydotcompute
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=(*SHELLS, "kernels", "targets"), help="the shell that is to read it; or names")
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    if options.shell not in SHELLS:
        found = (kernels if options.shell == "kernels" else targets)(project_root(options))
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


def targets(root: str) -> list[str]:
    """The targets that a project declares, then the others that one may write. Raises DeclarationError."""
    import os

    from ..declare import load
    from ..targets.registry import every

    declared = load(root, keep_going=True).targets if os.path.exists(os.path.join(root, "kernels.yaml")) else ()
    return list(dict.fromkeys((*declared, *(name for target in every() for name in target.examples))))


def script(shell: str) -> str:
    """What a shell reads. Raises CompilerNotInstalledError where shtab is missing."""
    from . import COMMANDS, parser

    try:
        import shtab
    except ModuleNotFoundError:
        from ..artifact.remedies import not_installed
        from ..errors import CompilerNotInstalledError

        raise CompilerNotInstalledError(not_installed("completion", "shtab", "completion")) from None
    whole = parser(*COMMANDS)
    for action in _actions(whole):
        if action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif isinstance(action.metavar, str) and action.metavar.startswith("FILE"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in NAMES:
            action.complete = _asking(NAMES[action.metavar])  # type: ignore[attr-defined]
    return str(shtab.complete(whole, shell)) + (WHOLE_WORDS if shell == "bash" else "")


def _asking(what: str) -> dict[str, Any]:
    """What each shell does for the names of something: it asks anew whenever one types, about the folder of -C."""
    function = f"_pydotcompute_{what}"
    texts = {shell: text.replace("FUNCTION", function).replace("WHAT", what) for shell, text in ASKING.items()}
    return {"bash": function, "zsh": function, "fish": f"({function})", "preamble": texts}


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Every option and argument of a parser, and of those of its commands."""
    from ..docs.inspected import subparsers

    return [*parser._actions, *(action for sub in subparsers(parser).values() for action in _actions(sub))]
