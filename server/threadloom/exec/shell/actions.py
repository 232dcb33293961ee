"""What a command is about, for people: it reads a file, lists files, searches, or who knows."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from threadloom.exec.shell.line import shell_line
from threadloom.exec.shell.options import operands, words
from threadloom.exec.shell.parse import Command, parse, unwrap
from threadloom.exec.shell.safe import CHECKS, RANGE, is_safe_command, program
from threadloom_protocol.v2.values.item_parts import (
    CommandAction,
    ListFilesCommandAction,
    ReadCommandAction,
    SearchCommandAction,
    UnknownCommandAction,
)

# Options whose value is the next word, by command.
VALUED: Final[Mapping[str, frozenset[str]]] = {
    name: words(options)
    for name, options in {
        "bat": "-l --language -H -r --line-range --style --theme",
        "fd": "-d --max-depth -t --type -e --extension -E --exclude -g -S -c --color -j --threads",
        "git grep": "-A -B -C -e -f -m --max-count --max-depth --threads",
        "git ls-files": "-x --exclude -X --exclude-from",
        "grep": "-A -B -C -D -d -e -f -m --regexp --file --max-count --include --exclude --exclude-dir",
        "head": "-n -c --lines --bytes",
        "ls": "-I -T -w --ignore --hide --width --tabsize --block-size",
        "nl": "-b -d -f -h -i -l -n -s -v -w",
        "rg": "-A -B -C -E -M -T -d -e -f -g -j -m -r -t --after-context --before-context --color --colors --context "
        "--encoding --engine --file --glob --iglob --ignore-file --max-columns --max-count --max-depth --max-filesize "
        "--regexp --replace --sort --sortr --threads --type --type-add --type-not",
        "tail": "-n -c -s --lines --bytes --pid --sleep-interval",
        "tree": "-H -I -L -P -T -o --charset --filelimit --sort --timefmt",
    }.items()
}
PATTERNS: Final = ("-e", "--regexp")
FIND_NAMES: Final = words("-name -iname -path -ipath -wholename -iwholename -regex -iregex")
# They say or shape something and are about nothing of their own.
SPEAKERS: Final = frozenset({"echo", "printf", "true", "pwd", "sleep", ":"})
FILTERS: Final = words("cat column cut fold head nl rev sed sort tac tail tr uniq wc")
# Folders that say little about what is in them.
DULL: Final = frozenset({"build", "dist", "node_modules", "src"})
AWK_ACTS: Final = re.compile(r"system|getline|\||>\s*[\"'/a-z]")


def actions(argv: Sequence[str], cwd: str) -> list[CommandAction]:
    """What a command does, step by step; one unknown action as soon as one of its steps is not understood."""
    script = unwrap(argv)
    commands = [Command(tuple(argv))] if script is None else parse(script) or []
    whole = shell_line(argv) if script is None else script
    found: list[CommandAction] = []
    here: str | None = cwd
    for command in commands:
        if command.argv[:1] == ("cd",):
            here = _moved(here, command)
            continue
        step = _understood(command, here)
        if step is None:
            return [UnknownCommandAction(command=whole)]
        found += step
    return found or [UnknownCommandAction(command=whole)]


def _moved(here: str | None, command: Command) -> str | None:
    """Where one is after `cd`; none where only the shell knows."""
    match command.argv[1:]:
        case (folder,) if here is not None and not command.expands and not folder.startswith("-"):
            return os.path.join(here, folder)
        case _:
            return None


def _understood(command: Command, here: str | None) -> list[CommandAction] | None:
    """The actions of one command, none of them for a mere helper; None if it is not understood."""
    name = program(command.argv[0]) if command.argv else None
    if name is None or not _harmless(name, command):
        return None
    if name in SPEAKERS or (
        command.piped and name in FILTERS and is_safe_command(command) and not _files(name, command)
    ):
        return []
    name, args = _subcommand(name, command.argv[1:])
    line = shell_line(command.argv)
    if name in READERS:
        files = READERS[name](args)
        return _reads(line, files, here) if files and not command.expands else None
    if action := _looks(name, args, line):
        return [action]
    return None


def _harmless(name: str, command: Command) -> bool:
    """Whether it does nothing beside what it is known for: `find -exec` is no search."""
    return name not in CHECKS or CHECKS[name](command.argv[1:])


def _files(name: str, command: Command) -> list[str]:
    return READERS[name](command.argv[1:]) if name in READERS else []


def _subcommand(name: str, args: Sequence[str]) -> tuple[str, Sequence[str]]:
    """`git grep x` as `git grep` with its words."""
    if name != "git":
        return {"fdfind": "fd", "egrep": "grep", "fgrep": "grep"}.get(name, name), args
    rest = [arg for arg in args if arg != "--no-pager"]
    return f"git {''.join(rest[:1])}", rest[1:]


def _reads(line: str, files: Sequence[str], here: str | None) -> list[CommandAction] | None:
    if here is None and not all(os.path.isabs(file) for file in files):
        return None
    return [
        ReadCommandAction(command=line, name=_short(file), path=os.path.normpath(os.path.join(here or "/", file)))
        for file in files
    ]


def _looks(name: str, args: Sequence[str], line: str) -> CommandAction | None:
    """A list of files or a search."""
    found = operands(args, VALUED.get(name, ()))
    if name in ("ls", "tree", "git ls-files") or (name == "rg" and "--files" in args):
        return ListFilesCommandAction(command=line, path=_first(found))
    if name == "fd":
        return _search(line, found) if found else ListFilesCommandAction(command=line)
    if name in ("rg", "grep", "git grep"):
        return _search(line, [*_patterns(args), *found])
    return _find(args, line) if name == "find" else None


def _patterns(args: Sequence[str]) -> list[str]:
    """What is asked for by an option instead of by the first word."""
    return [value for option, value in pairwise(args) if option in PATTERNS][:1]


def _search(line: str, asked: Sequence[str]) -> CommandAction:
    """What is searched for, then where."""
    return SearchCommandAction(command=line, query=asked[0] if asked else None, path=_first(asked[1:]))


def _find(args: Sequence[str], line: str) -> CommandAction:
    path = _first([arg for arg in args[:1] if not arg.startswith(("-", "(", "!"))])
    for option, value in pairwise(args):
        if option in FIND_NAMES:
            return SearchCommandAction(command=line, query=value, path=path)
    return ListFilesCommandAction(command=line, path=path)


def _first(paths: Sequence[str]) -> str | None:
    return _short(paths[0]) if paths else None


def _short(path: str) -> str:
    """The last part of a path that says something."""
    parts = [part for part in path.split("/") if part]
    return next((part for part in reversed(parts) if part not in DULL), path.rstrip("/") or path)


def _sed_files(args: Sequence[str]) -> list[str]:
    prints = len(args) > 2 and args[0] == "-n" and RANGE.fullmatch(args[1])
    return list(args[2:]) if prints and not any(arg.startswith("-") for arg in args[2:]) else []


def _awk_files(args: Sequence[str]) -> list[str]:
    program, *files = operands(args, ("-F",)) or [""]
    return files if "-f" not in args and not AWK_ACTS.search(program) else []


def _reader(name: str) -> Callable[[Sequence[str]], list[str]]:
    return lambda args: [word for word in operands(args, VALUED.get(name, ())) if word != "-"]


READERS: Final[Mapping[str, Callable[[Sequence[str]], list[str]]]] = {
    **{name: _reader(name) for name in words("cat bat batcat less more head tail nl tac")},
    "awk": _awk_files,
    "sed": _sed_files,
}
