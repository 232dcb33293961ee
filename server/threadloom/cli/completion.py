"""`threadloom completion bash|zsh|fish`: a script that completes commands, flags, choices and saved names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final, NamedTuple

from threadloom.cli.output import write
from threadloom.cli.parser import parser

NAMES: Final = "threadloom session list 2>/dev/null | cut -f1"  # in a pipe, the first column is the name
NAMED: Final = (
    "resume", "fork", "show", "tree", "agents", "archive", "unarchive", "delete", "session save", "session delete",
)  # fmt: skip
FILES: Final = {"FILE": "default", "PATH": "default", "DIR": "dirnames"}  # what a flag takes → how bash completes it


class Node(NamedTuple):
    """A command: its words, what it is for, what may follow it."""

    path: str  # "", "session", "session list"
    text: str
    words: list[tuple[str, str]]  # subcommands and flags with their help
    choices: dict[str, list[str]]  # what a flag takes
    files: dict[str, str]  # flags that take a file or a folder: how it is called


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    nodes = list(_nodes(parser(), "", ""))
    write({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](nodes))
    return 0


def _nodes(of: argparse.ArgumentParser, path: str, text: str) -> Iterator[Node]:
    words: list[tuple[str, str]] = []
    choices: dict[str, list[str]] = {}
    files: dict[str, str] = {}
    below: list[Node] = []
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {it.dest: it.help or "" for it in action._choices_actions}
            for name, made in action.choices.items():
                words.append((name, helps.get(name, "")))
                below += _nodes(made, f"{path} {name}".strip(), helps.get(name, ""))
            continue
        words += [(it, action.help or "") for it in action.option_strings]
        if action.metavar in FILES:
            files |= dict.fromkeys(action.option_strings, str(action.metavar))
        if action.choices:
            for it in action.option_strings or [""]:
                choices[it] = list(action.choices)
    yield Node(path, text, words, choices, files)
    yield from below


def _bash(nodes: list[Node]) -> str:
    words = "\n".join(f'    "{it.path}") words="{" ".join([name for name, _ in it.words] + it.choices.get("", []))}" ;;'
                      for it in nodes)  # fmt: skip
    choices = "\n".join(
        f'    "{it.path} {flag}") words="{" ".join(given)}" ;;'
        for it in nodes
        for flag, given in it.choices.items()
        if flag
    )
    files = "\n".join(
        f'    "{it.path} {flag}") compopt -o {FILES[kind]}; return ;;'
        for it in nodes
        for flag, kind in it.files.items()
    )
    named = "|".join(f'"{it}"' for it in NAMED)
    paths = "|".join(f'"{it.path}"' for it in nodes if it.path)
    return f"""\
# bash completion for threadloom: eval "$(threadloom completion bash)"
_threadloom() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" at="" words=""
  local named="" quoted="" try i it
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    try="${{at:+$at }}${{COMP_WORDS[i]}}"
    case "$try" in {paths}) at="$try" ;; esac
  done
  case "$at" in
{words}
  esac
  case "$at $before" in
{choices}
{files}
    *) case "$at" in {named}) [[ "$word" == -* ]] || named=1 ;; esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ -n "$named" ]]; then  # a name may have spaces: it is quoted here, unless it was begun with a quote
    [[ "$word" == [\\"\\']* ]] && quoted=1 word="${{word:1}}"
    while IFS= read -r it; do
      [[ -n "$quoted" ]] || printf -v it %q "$it"
      [[ "$it" == "$word"* ]] && COMPREPLY+=("$it")
    done < <({NAMES})
  fi
  [[ ${{#COMPREPLY[@]}} -gt 0 ]] || compopt -o default
}}
complete -F _threadloom threadloom"""


def _zsh(nodes: list[Node]) -> str:
    return f"""\
# zsh completion for threadloom: eval "$(threadloom completion zsh)"
autoload -U +X bashcompinit && bashcompinit
{_bash(nodes).split(chr(10), 1)[1]}"""


def _fish(nodes: list[Node]) -> str:
    lines = ["# fish completion for threadloom: threadloom completion fish | source", "complete -c threadloom -f"]
    tops = " ".join(name for name, _ in nodes[0].words if not name.startswith("-"))
    for node in nodes:
        seen = " ".join(f"__fish_seen_subcommand_from {it};" for it in node.path.split())
        when = f"{seen.rstrip(';').replace(';', '; and')}" if seen else f"not __fish_seen_subcommand_from {tops}"
        for name, text in node.words:
            flag = (
                f"-l {name[2:]}"
                if name.startswith("--")
                else f"-s {name[1:]}"
                if name.startswith("-")
                else f"-a {name}"
            )
            given = f" -x -a '{' '.join(node.choices[name])}'" if name in node.choices else ""
            if name in node.files:
                given = " -x -a '(__fish_complete_directories)'" if node.files[name] == "DIR" else " -r -F"
            lines.append(f"complete -c threadloom -n '{when}' {flag}{given} -d '{text.replace(chr(39), chr(8217))}'")
        if "" in node.choices:
            lines.append(f"complete -c threadloom -n '{when}' -a '{' '.join(node.choices[''])}'")
        if node.path in NAMED:
            lines.append(f"complete -c threadloom -n '{when}' -a '({NAMES})'")
    return "\n".join(lines)
