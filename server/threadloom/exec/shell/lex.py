"""A shell script as tokens, as long as every word of it means what it says; else it is not plain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Terminals act on these, shells use some of them inside, and no file name that a person chose has them.
CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
BLANK: Final = re.compile(r"(?:[ \t]|\\\n)+|#[^\n]*")
OPERATOR: Final = re.compile(r"&&|\|\||[|;\n]")
# With what may not follow: here-documents, process substitution, `<>`, `>|`, `<&`.
REDIRECT: Final = re.compile(r"([0-9]*)(>&|>>|>|<)(?![<>(|&])")

RUN: Final = re.compile(r"[^ \t\n\\'\"`$|&;<>()]+")
ESCAPED: Final = re.compile(r"\\([^\n])")
SINGLE: Final = re.compile(r"'([^']*)'")
# A dollar that nothing follows is a dollar: the end of a pattern, as a rule.
DOUBLE: Final = re.compile(r'"((?:[^"\\$`]|\\.|\$(?=[" |)]))*)"', re.DOTALL)
DOLLAR: Final = re.compile(r"\$(?=[ \t\n]|\Z)")
# Inside double quotes, the others keep their backslash.
UNESCAPED: Final = re.compile(r'\\(?:([$`"\\])|\n)')

GLOB: Final = re.compile(r"[*?\[]")
TILDE: Final = re.compile(r"(?:^|[=:])~")
BRACES: Final = re.compile(r",|\.\.")


class NotPlain(Exception):
    """The script does something beyond running commands with the words that it shows."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the command gets it."""

    text: str
    raw: str
    expands: bool  # the shell may put file names in its place

    @property
    def bare(self) -> bool:
        """Whether nothing of it is quoted, so that it may be a word of the shell's own."""
        return self.text == self.raw


@dataclass(frozen=True, slots=True)
class Sign:
    """What stands between commands: `|`, `&&`, `||`, `;` or the end of a line."""

    text: str


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect that does no harm: to nowhere, to another output or from a file."""


Token = Word | Sign | Redirect


def tokens(script: str) -> Iterator[Token]:
    """The words, signs and redirects of a script, of which none does harm. Raises `NotPlain`."""
    if CONTROL.search(script):
        raise NotPlain
    at = 0
    while at < len(script):
        if blank := BLANK.match(script, at):
            at = blank.end()
        elif sign := OPERATOR.match(script, at):
            at = sign.end()
            yield Sign(sign[0])
        elif redirect := REDIRECT.match(script, at):
            at = _redirect(script, redirect)
            yield Redirect()
        else:
            word, at = _word(script, at)
            yield word


def _redirect(script: str, redirect: re.Match[str]) -> int:
    """Where a redirect ends, if it is one of the harmless."""
    at = redirect.end()
    if blank := BLANK.match(script, at):
        at = blank.end()
    target, at = _word(script, at)
    if target.expands or not _harmless(redirect[1], redirect[2], target.text):
        raise NotPlain
    return at


def _harmless(number: str, sign: str, target: str) -> bool:
    if sign == "<":
        # bash makes network connections of /dev/tcp/… and /dev/udp/…
        return number in ("", "0") and (target == "/dev/null" or not target.startswith("/dev/"))
    return number in ("", "1", "2") and (target in ("1", "2") if sign == ">&" else target == "/dev/null")


def _word(script: str, start: int) -> tuple[Word, int]:
    """The word that begins there, and where it ends."""
    at, text, bare = start, "", ""
    expands = False
    while at < len(script):
        if run := RUN.match(script, at):
            bare += run[0]
            text += run[0]
            expands = expands or bool(GLOB.search(run[0]) or TILDE.search(run[0]))
            at = run.end()
        elif quoted := ESCAPED.match(script, at) or SINGLE.match(script, at):
            text += quoted[1]
            at = quoted.end()
        elif double := DOUBLE.match(script, at):
            text += UNESCAPED.sub(lambda it: it[1] or "", script[at + 1 : double.end() - 1])
            at = double.end()
        elif DOLLAR.match(script, at):
            bare += "$"
            text += "$"
            at += 1
        elif script[at] in " \t\n|&;<>" and at > start:
            break
        else:
            raise NotPlain
    raw = script[start:at]
    if not raw or raw.startswith("#"):
        raise NotPlain  # nothing, or a comment, where a redirect wants a word
    if "{" in bare and (BRACES.search(bare) or script[at : at + 1] in ("<", ">")):
        raise NotPlain  # `{a,b}` is two words, `{name}>…` a redirect
    # zsh puts the path of a command in the place of `=command`.
    return Word(text, raw, (expands and raw != "[") or raw.startswith("=")), at
