"""Which uses of git only read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from threadloom.exec.shell.options import Check, names, without, words

# Before the subcommand; the others change what git obeys (`-c`, `--exec-path`, `-C` …) or start a pager.
GLOBAL: Final = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"})
# They write files or start programs.
NEVER: Final = (
    "--output",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--exec",
    "--open-files-in-pager",
    "--upload-pack",
    "--ext-grep",
)
LISTING: Final = words("-a --all -r --remotes -v -vv --verbose -n --show-current")
LOOKS: Final = words("--sort --format --column --no-column --color --no-color")
# With these a name is a filter; without, it would be born.
FILTERS: Final = ("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")


def only_reads(args: Sequence[str]) -> bool:
    """Whether git, with these words behind it, only looks."""
    at = next((at for at, arg in enumerate(args) if arg not in GLOBAL), len(args))
    name, rest = "".join(args[at : at + 1]), args[at + 1 :]
    if name in ("--version", "version"):
        return not rest
    return name in SUBCOMMANDS and not any(names(arg, "", NEVER) for arg in rest) and SUBCOMMANDS[name](rest)


def _anyhow(args: Sequence[str]) -> bool:
    return True


def _lists(args: Sequence[str]) -> bool:
    """Lists branches or tags: nothing but options for listing, and names only where they are filters."""
    filtered = any(arg.partition("=")[0] in FILTERS for arg in args)
    options = [arg for arg in args if arg.startswith("-")]
    known = all(_for_listing(option) for option in options)
    return known and (filtered or len(options) == len(args))


def _for_listing(option: str) -> bool:
    name = option.partition("=")[0]
    return option in LISTING or name in LOOKS or name in FILTERS


def _tags(args: Sequence[str]) -> bool:
    return _lists(["--list" if arg == "-l" else arg for arg in args])


def _remote(args: Sequence[str]) -> bool:
    return list(args) in ([], ["-v"], ["--verbose"]) or (len(args) == 2 and args[0] == "get-url")


def _first(*words: str) -> Check:
    """The first word is one of these."""
    return lambda args: bool(args) and args[0] in words


def _reflog(args: Sequence[str]) -> bool:
    return not args or args[0] == "show" or args[0].startswith("-")


SUBCOMMANDS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(
        words(
            "blame cat-file check-ignore count-objects describe diff diff-index diff-tree for-each-ref log ls-files "
            "ls-tree merge-base name-rev rev-list rev-parse shortlog show show-ref status"
        ),
        _anyhow,
    ),
    "branch": _lists,
    "grep": without("O"),
    "reflog": _reflog,
    "remote": _remote,
    "stash": _first("list", "show"),
    "tag": _tags,
    "worktree": _first("list"),
}
