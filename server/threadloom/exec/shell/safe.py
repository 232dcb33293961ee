"""Commands that only read, so that they may run unasked: a list of those that are known, and no guessing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from threadloom.exec.shell import git
from threadloom.exec.shell.options import Check, operands, without, words
from threadloom.exec.shell.parse import Command, parse, unwrap

# Where a command may be named by its path. Anywhere else, a file with a harmless name may be anything.
FOLDERS: Final = frozenset(
    {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"}
)
# Whatever they are given: no option of theirs writes a file or starts a program.
ANYHOW: Final = words(
    "b2sum basename cat cd cksum cmp column comm cut df dirname du echo egrep expand expr false fgrep fold free "
    "grep groups head id join jq ls md5sum nl nproc od paste printenv ps pwd readlink realpath rev seq sha1sum "
    "sha224sum sha256sum sha384sum sha512sum stat strings tac tail tr true type uname unexpand uptime wc which whoami"
)
# Signs that look like the dash of an option. No command takes them for one; a reader does.
DASHES: Final = tuple("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")
DATE: Final = words("-u -R -I -d --utc --universal --date --rfc-email --rfc-3339 --iso-8601")
RANGE: Final = re.compile(r"(\d+|\$)(,(\d+|\$))?p")
# What `printf` puts in the place of a value: flags, then how. Text alone needs no number.
CONVERSION: Final = re.compile(r"%([-+ #0'\d.*hlLjzt]*)(.)", re.DOTALL)
TEXTUAL: Final = "sbcq%"
ASSIGNS: Final = re.compile(r"=|\+\+|--")


def is_safe(argv: Sequence[str], *, elsewhere: bool = False) -> bool:
    """Whether a command, or every command of the script in it, is known to read and no more.

    `elsewhere`: it runs outside the thread's own folder, where git would obey a configuration that nobody vouched for.
    """
    script = unwrap(argv)
    if script is None:
        return is_safe_command(Command(tuple(argv)), elsewhere=elsewhere)
    commands = parse(script) if program(argv[0]) else None
    if commands is None:
        return False
    elsewhere = elsewhere or any(command.argv[0] == "cd" for command in commands)
    return all(is_safe_command(command, elsewhere=elsewhere) for command in commands)


def is_safe_command(command: Command, *, elsewhere: bool = False) -> bool:
    """Whether a simple command is known to read and no more."""
    name = program(command.argv[0]) if command.argv else None
    args = command.argv[1:]
    if name is None or any(arg.startswith(DASHES) for arg in args):
        return False
    if name in ANYHOW:
        return True
    # A pattern may stand for a file that is named like an option, or for two where one is meant.
    if command.expands or (name == "git" and elsewhere):
        return False
    return name in CHECKS and CHECKS[name](args)


def program(word: str) -> str | None:
    """The name of a program that is found by its name, or by its path in one of the usual folders."""
    path = PurePosixPath(word)
    return path.name if "/" not in word or str(path.parent) in FOLDERS else None


def _nothing(args: Sequence[str]) -> bool:
    return not args


def _date(args: Sequence[str]) -> bool:
    """To show a time, not to set it."""
    options = [arg.partition("=")[0] for arg in args if arg.startswith("-")]
    shown = operands(args, ("-d", "--date"))
    return all(option in DATE for option in options) and all(arg.startswith("+") for arg in shown)


def _find(args: Sequence[str]) -> bool:
    return not any(arg.startswith(("-exec", "-ok", "-delete", "-fls", "-fprint")) for arg in args)


def _uniq(args: Sequence[str]) -> bool:
    """Its second operand is the file that it writes."""
    return "--" not in args and sum(not arg.startswith("-") or arg == "-" for arg in args) <= 1


def _sed(args: Sequence[str]) -> bool:
    """To print lines by their numbers: other scripts write files and start programs."""
    return (
        len(args) >= 2
        and args[0] == "-n"
        and RANGE.fullmatch(args[1]) is not None
        and not any(arg.startswith("-") for arg in args[2:])
    )


def _builtin(args: Sequence[str]) -> bool:
    """Where bash and zsh calculate with an argument, or set the variable that it names, what is in it is run."""
    return not any(arg.startswith(("-v", "-R")) or "$" in arg or "`" in arg for arg in args)


def _printf(args: Sequence[str]) -> bool:
    """Not where `%n` sets the variable that a value names, nor where zsh calculates with one that sets some."""
    text, *values = [arg for arg in args if arg != "--"] or [""]
    found = CONVERSION.findall(text)
    calculates = any(kind not in TEXTUAL or "*" in flags for flags, kind in found)
    sets = any(kind == "n" for _, kind in found) or (calculates and any(map(ASSIGNS.search, values)))
    return _builtin(args) and not sets


def _command(args: Sequence[str]) -> bool:
    """To say what a name stands for."""
    return len(args) == 2 and args[0] in ("-v", "-V")


CHECKS: Final[Mapping[str, Check]] = {
    "[": _builtin,
    "arch": _nothing,  # macOS runs what follows it
    "base32": without("o", "--output"),
    "base64": without("o", "--output"),
    "command": _command,
    "date": _date,
    "diff": without("l", "--paginate"),
    "env": _nothing,
    "fd": without("xXl", "--exec", "--exec-batch", "--list-details"),
    "fdfind": without("xXl", "--exec", "--exec-batch", "--list-details"),
    "file": without("CzZ", "--compile", "--uncompress", "--uncompress-noreport"),
    "find": _find,
    "git": git.only_reads,
    "hostname": _nothing,
    "printf": _printf,
    "rg": without("z", "--pre", "--search-zip", "--hostname-bin"),
    "sed": _sed,
    "shuf": without("o", "--output"),
    "sort": without("oT", "--output", "--temporary-directory", "--compress-program"),
    "test": _builtin,
    "tree": without("oR", "--output"),
    "uniq": _uniq,
}
