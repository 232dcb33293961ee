"""Commands that are hard to undo, so that even a trusting person wants to be asked: rather one too many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from threadloom.exec.shell.options import Check, names, words
from threadloom.exec.shell.parse import SHELLS, Command, parse
from threadloom.exec.shell.safe import is_safe_command

ALWAYS: Final = words(
    "dd doas fdisk halt killall mkswap mount parted pkexec pkill poweroff reboot sfdisk shred shutdown su sudo umount "
    "wipefs"
)
# They run the command that they are given; in a script that is not plain, the words of the shell do.
CARRIERS: Final = words(
    "! builtin busybox chroot command do elif else env exec find flock function if ionice nice nohup parallel setsid "
    "stdbuf strace then time timeout until watch while xargs"
)
# Where the commands of a script that is not plain may begin.
BORDERS: Final = re.compile(r"[;&|(){}\n`]")
# What writes over a disk, and a function that calls itself twice.
RAW: Final = re.compile(r">\s*/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mem)|:\s*\(\)\s*\{")
DEEP: Final = 5  # scripts within scripts; beyond that, somebody hides something
LONG: Final = 1000  # words behind a command that runs them, each of which is looked at with all that follow


def is_dangerous(argv: Sequence[str]) -> bool:
    """Whether a command destroys what cannot be had back, or takes more rights than it was given."""
    return not is_safe_command(Command(tuple(argv))) and _any_of(argv, DEEP)


def _any_of(argv: Sequence[str], depth: int) -> bool:
    """Where something else runs what stands behind it, every tail of the command counts."""
    if not argv:
        return False
    carrier = "=" in argv[0] or PurePosixPath(argv[0]).name in CARRIERS
    if carrier and len(argv) > LONG:
        return True
    return any(_begins_dangerously(argv[at:], depth) for at in range(len(argv) if carrier else 1))


def _begins_dangerously(argv: Sequence[str], depth: int) -> bool:
    name, args = PurePosixPath(argv[0]).name, argv[1:]
    if name in ALWAYS or name.startswith("mkfs"):
        return True
    if name in SHELLS:
        return _shell(args, depth)
    return name in CHECKS and CHECKS[name](args)


def _shell(args: Sequence[str], depth: int) -> bool:
    scripts = [script for option, script in pairwise(args) if re.fullmatch(r"-\w*c", option)]
    return any(not depth or _script(script, depth - 1) for script in scripts)


def _script(script: str, depth: int) -> bool:
    return RAW.search(script) is not None or any(
        _any_of(argv, depth) or (piped and _fed_to_a_shell(argv)) for argv, piped in _commands(script)
    )


def _fed_to_a_shell(argv: Sequence[str]) -> bool:
    """`curl … | sh` runs what nobody has read."""
    return PurePosixPath(argv[0]).name in SHELLS and all(arg.startswith("-") for arg in argv[1:])


def _commands(script: str) -> Iterator[tuple[Sequence[str], bool]]:
    """The commands of a script; roughly, where it is not plain."""
    commands = parse(script)
    if commands is not None:
        yield from ((command.argv, command.piped) for command in commands if not is_safe_command(command))
        return
    for piece in BORDERS.split(script):
        if argv := [word.strip("\"'").lstrip("\\") for word in piece.split()]:
            yield argv, "|" in script


def _rm(args: Sequence[str]) -> bool:
    return any(names(arg, "rRf", ("--recursive", "--force")) for arg in args)


def _recursive(args: Sequence[str]) -> bool:
    return any(names(arg, "R", ("--recursive",)) for arg in args)


def _find(args: Sequence[str]) -> bool:
    return "-delete" in args


def _git(args: Sequence[str]) -> bool:
    for at, arg in enumerate(args):
        if arg in GIT:
            return GIT[arg](args[at + 1 :])
    return False


def _says(*words: str) -> Check:
    """One of these words is there."""
    return lambda args: any(arg.partition("=")[0] in words for arg in args)


def _clean(args: Sequence[str]) -> bool:
    return any(names(arg, "f", ("--force",)) for arg in args)


def _push(args: Sequence[str]) -> bool:
    forced = ("--force", "--force-with-lease", "--delete", "--mirror", "--prune")
    return any(names(arg, "fd", forced) or arg.startswith(("+", ":")) for arg in args)


GIT: Final[Mapping[str, Check]] = {
    "branch": _says("-D", "-d", "--delete", "-f", "--force", "-M"),
    "checkout": _says("--", ".", "-f", "--force"),
    "clean": _clean,
    "filter-branch": lambda args: True,
    "push": _push,
    "reflog": _says("expire", "delete"),
    "reset": _says("--hard", "--merge"),
    "restore": lambda args: "--staged" not in args or "--worktree" in args,
    "rm": _clean,
    "stash": _says("drop", "clear"),
    "switch": _says("-f", "--force", "--discard-changes"),
    "update-ref": _says("-d"),
}
CHECKS: Final[Mapping[str, Check]] = {
    "chgrp": _recursive,
    "chmod": _recursive,
    "chown": _recursive,
    "crontab": _says("-r"),
    "find": _find,
    "git": _git,
    "kill": _says("-1"),
    "rm": _rm,
    "truncate": lambda args: True,
}
