"""Options among the words of a command."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

Check = Callable[[Sequence[str]], bool]


def words(text: str) -> frozenset[str]:
    """A set of words, to be written without ceremony."""
    return frozenset(text.split())


def names(arg: str, short: str, long: Collection[str]) -> bool:
    """Whether a word is, or hides, one of these options: a letter in a bundle, or a long name, perhaps cut short."""
    if arg.startswith("--"):
        name = arg.partition("=")[0]
        return len(name) > 2 and any(full.startswith(name) for full in long)
    return arg.startswith("-") and any(letter in arg for letter in short)


def without(short: str, *long: str) -> Check:
    """A check that none of these options is there. It looks behind `--`, too, and may see one where there is none."""

    def check(args: Sequence[str]) -> bool:
        return not any(names(arg, short, long) for arg in args)

    return check


def operands(args: Sequence[str], valued: Collection[str] = ()) -> list[str]:
    """The words that are no options; `valued` are those whose value is the next word."""
    found: list[str] = []
    at = 0
    while at < len(args):
        arg = args[at]
        if arg == "--":
            return [*found, *args[at + 1 :]]
        if arg in valued:
            at += 1
        elif not arg.startswith("-") or arg == "-":
            found.append(arg)
        at += 1
    return found
