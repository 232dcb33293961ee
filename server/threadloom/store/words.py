"""Words to search for: as the index takes them, and as they are found in a text at hand."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

OPEN: Final = 3  # letters from which on the last word may be a beginning: shorter ones begin too many words

# Scripts that are written without spaces, or join particles to words: every sign of them is a word.
_ALONE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u309f\u30a1-\u30fa\u30fc-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_LETTER: Final = rf"[^\W_{_ALONE}]"
_SIGN: Final = re.compile(f"[{_ALONE}]")
_WORD: Final = re.compile(rf"[{_ALONE}]|{_LETTER}(?:{_LETTER}|[\u0300-\u036f])*")  # accents may come by themselves
_APART: Final = r"[\W_]+"
_NOTHING_BEFORE: Final = r"(?<![^\W_])"
_NOTHING_BEHIND: Final = r"(?![^\W_])"


class Words:
    """Words that stand one behind the other, whatever is between them; the last may be the beginning of one."""

    def __init__(self, term: str) -> None:
        self._words = [_folded(it) for it in _WORD.findall(unicodedata.normalize("NFC", term))]
        self._open = bool(self._words) and len(self._words[-1]) >= OPEN
        end = "" if self._open else _NOTHING_BEHIND
        pattern = _NOTHING_BEFORE + _APART.join(map(re.escape, self._words)) + end
        self._pattern = re.compile(pattern, re.IGNORECASE | re.ASCII)

    def __bool__(self) -> bool:
        return bool(self._words)

    @property
    def phrase(self) -> str:
        """As the index wants to be asked."""
        return f'"{" ".join(self._words)}"{" *" if self._open else ""}'

    def find(self, text: str) -> tuple[int, int] | None:
        """Where in a text they stand."""
        if text.isascii():
            match = self._pattern.search(text)
            return match.span() if match else None
        return self._find_folded(text)

    def _find_folded(self, text: str) -> tuple[int, int] | None:
        spans = [it.span() for it in _WORD.finditer(text)]
        words = [_folded(text[start:end]) for start, end in spans]
        many = len(self._words)
        for at in range(len(words) - many + 1):
            *whole, last = words[at : at + many]
            if whole == self._words[:-1] and (
                last == self._words[-1] or (self._open and last.startswith(self._words[-1]))
            ):
                return spans[at][0], spans[at + many - 1][1]
        return None


def literal(term: str) -> re.Pattern[str]:
    """A term as it is, whatever the case of its letters, its accents parts of them or written by themselves."""
    forms = dict.fromkeys([term, unicodedata.normalize("NFC", term), unicodedata.normalize("NFD", term)])
    return re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)


def caseless(text: str) -> str:
    """A text whatever the case of its letters, and whether its accents are parts of them or written by themselves."""
    return (
        text.lower() if text.isascii() else unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    )


def plain(text: str) -> str:
    """A text as the index takes it in: the words that are told apart here, where the index would see others."""
    return text if text.isascii() else " ".join(map(_folded, _WORD.findall(text)))


def _folded(word: str) -> str:
    """Without case and accents; a sign that stands alone is left as it is, for its marks make it another one."""
    if word.isascii() or _SIGN.match(word):
        return word.lower()
    return "".join(it for it in unicodedata.normalize("NFD", word.casefold()) if not unicodedata.combining(it))
