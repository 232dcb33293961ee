"""Searching what was said: threads by their words, and places in one; forks find what they took along."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from threadloom.store import listing, schema
from threadloom.store.messages import SEQS, SHELF, numbers
from threadloom.store.past import Ask, Past, Seek
from threadloom.store.rows import Hidden, Page, Query, Row, outside
from threadloom.store.words import Words, literal

MANY: Final = 1000  # threads that a word is in: where there are more, a page of the list is full soon, as a rule
STEP: Final = 64  # threads looked into at once
PATIENCE: Final = 4 * STEP  # threads of the list after which it is no rule
AROUND: Final = 60  # characters shown on each side of a match
FEW: Final = 100  # messages that are sooner looked through than asked for


class Matches(NamedTuple):
    """A page of threads, and the words around a match in each."""

    page: Page
    snippets: list[str]


class Occurrence(NamedTuple):
    """One place where something was said."""

    turn_id: str
    item_id: str
    seq: int  # of the message
    nth: int  # in the message, from 0
    snippet: str
    start: int  # of the match in the snippet, in UTF-16 code units
    end: int


class Texts:
    """Searches them. Takes its time: not for the loop."""

    def __init__(self, ask: Ask, seek: Seek, behind: Texts | None = None) -> None:
        self._ask = ask
        self._past: Past = Past(ask, seek, behind._past if behind else None)

    def find(self, query: Query, term: str) -> Matches:
        """Threads in which these words were said, one behind the other; the last may be the beginning of one."""
        words = Words(term)
        found: list[tuple[Row, str]] = []
        for row in self._likely(query, words.phrase) if words else self._rows(replace(query, only=())):
            snippet = self._snippet(row.thread_id, words)
            if snippet is not None:
                found.append((row, snippet))
            if len(found) > query.limit:
                break
        page = listing.page(query, [row for row, _ in found])
        return Matches(page, [snippet for _, snippet in found[: query.limit]])

    def _likely(self, query: Query, phrase: str) -> Iterator[Row]:
        """Threads that may have a match: all of the list at first, where too many have one to list them."""
        only = self._candidates(phrase, MANY)
        if only is None:
            for nth, row in enumerate(self._rows(query), 1):
                yield row
                if nth == PATIENCE:
                    query, only = replace(query, cursor=listing.behind(query, row)), self._candidates(phrase)
                    break
        if only is not None:
            yield from self._rows(replace(query, only=only))

    def _rows(self, query: Query) -> Iterator[Row]:
        query = replace(query, limit=STEP)
        while True:
            rows = [schema.to_row(values) for values in self._ask(*listing.statement(query))]
            page = listing.page(query, rows)
            yield from page.rows
            if page.next is None:
                return
            query = replace(query, cursor=page.next)

    def _candidates(self, phrase: str, most: int | None = None) -> list[str] | None:
        """The logs that have a match, and all forks that stand on them; none where there are more than `most`."""
        sql = "SELECT DISTINCT rowid / ? FROM texts WHERE texts MATCH ? LIMIT ?"
        shelves = [it for (it,) in self._ask(sql, (SEQS, phrase, -1 if most is None else most + 1))]
        if most is not None and len(shelves) > most:
            return None
        found = dict.fromkeys(self._among("SELECT thread_id FROM shelves WHERE no IN", shelves))
        newest = list(found)
        while newest:
            forks = self._among("SELECT thread_id FROM bases WHERE base IN", newest)
            newest = [it for it in forks if it not in found]
            found |= dict.fromkeys(newest)
        return list(found)

    def _among(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return [it for (it,) in self._ask(f"{sql} {listing.AMONG}", (listing.many(values),))]

    def _snippet(self, thread_id: str, words: Words) -> str | None:
        """What stands around the first match in a thread. A few messages are looked through, many are asked for."""
        for table in self._tables(thread_id):
            sql = f"SELECT text FROM messages WHERE {table.where.format('no')} LIMIT ?"  # noqa: S608 (our own names)
            texts = table.past._ask(sql, (*table.values, FEW + 1))
            if len(texts) > FEW:
                sql = (
                    "SELECT m.text FROM texts JOIN messages m ON m.no = texts.rowid "  # noqa: S608 (our own names)
                    f"WHERE texts MATCH ? AND {table.where.format('texts.rowid')} LIMIT 1"
                )
                texts = table.past._ask(sql, (words.phrase, *table.values))
            for (text,) in texts:
                if (span := words.find(text)) is not None:
                    return "".join(_around(text, *span))
        return None

    def occurrences(
        self, thread_id: str, term: str, after: tuple[int, int] | None = None, limit: int = 25
    ) -> list[Occurrence]:
        """Every place in a thread where something was said, in order, whatever the case of its letters."""
        pattern = literal(term)
        found: list[Occurrence] = []
        for table in reversed(list(self._tables(thread_id))):
            first = 0 if after is None else after[0]
            sql = (
                f"SELECT no % {SEQS}, turn_id, item_id, text FROM messages "  # noqa: S608 (our own names)
                f"WHERE {table.where.format('no')} AND no % {SEQS} >= ? ORDER BY no LIMIT ?"
            )
            while rows := table.past._ask(sql, (*table.values, first, STEP)):
                for seq, turn_id, item_id, text in rows:
                    for nth, match in enumerate(pattern.finditer(text)):
                        if after is None or (seq, nth) > after:
                            found.append(_occurrence(turn_id, item_id, seq, nth, match))
                        if len(found) == limit:
                            return found
                first = rows[-1][0] + 1
        return found

    def _tables(self, thread_id: str) -> Iterator[_Table]:
        """What of each log belongs to a history, its own first."""
        hidden: list[Hidden] = []
        for part in self._past._parts(thread_id):
            hidden += part.past._hidden(part)
            for (shelf,) in part.past._ask(SHELF, (part.thread_id,)):
                shown = outside(f"({{0}} % {SEQS})", hidden)
                yield _Table(part.past, f"{{0}} BETWEEN ? AND ? AND {shown}", numbers(shelf, part.limit))


class _Table(NamedTuple):
    past: Past
    where: str
    values: tuple[int, int]


def _occurrence(turn_id: str, item_id: str, seq: int, nth: int, match: re.Match[str]) -> Occurrence:
    before, said, behind = _around(match.string, *match.span())
    at = _units(before)
    return Occurrence(turn_id, item_id, seq, nth, before + said + behind, at, at + _units(said))


def _around(text: str, start: int, end: int) -> tuple[str, str, str]:
    """A match with what stands before and behind it."""
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    before = ("…" if first else "") + text[first:start]
    return before, text[start:end], text[end:last] + ("…" if last < len(text) else "")


def _units(text: str) -> int:
    """Its length as clients in JavaScript count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
