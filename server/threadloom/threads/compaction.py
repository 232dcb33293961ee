"""What is left of a history that was condensed: where the work is, what the person said last, and a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from threadloom.agent.compaction import CHARACTERS, CUT, estimated
from threadloom.agent.history import text_of, user_item
from threadloom.agent.sampling import Item, Usage
from threadloom.threads.context.rules import Rules
from threadloom.threads.recall import CONTEXT, GOAL, INPUT, PARENT, REPORT, SUMMARY, Entry, Recall

KEPT: Final = 20_000  # tokens of what was said to the agent that stay word by word
SHARE: Final = 4  # they take no more than this part of what the model can read
SPOKEN: Final = frozenset({None, REPORT, PARENT})  # what is said to the agent, by whomever
DOUBT: Final = 2  # an estimate may be this far off

_LEAD: Final = (
    "What came before was condensed to make room. This is the summary of it, written by the model that did the work; "
    "go on from there, and do not do again what is already done.\n\n"
)


class Compaction:
    """See `agent.base.Compaction`: for one turn of one thread."""

    def __init__(
        self, recall: Callable[[], Recall], context: Callable[[], list[dict[str, Any]]], rules: Rules, since: int
    ) -> None:
        self.wanted = False  # somebody has asked for it while the turn ran
        self._recall = recall
        self._context = context  # what the model is told of its surroundings, from the beginning
        self._rules = rules
        self._since = since  # the seq that the turn began behind
        self._end = 0  # how much of the history goes into the summary

    @property
    def prompt(self) -> str:
        """See `agent.base.Compaction.prompt`."""
        return self._rules.compact_prompt

    def due(self, last: Usage) -> bool:
        """See `agent.base.Compaction.due`."""
        return self.wanted or self._over(last.input + last.output)

    def overdue(self, tokens: int) -> bool:
        """Whether so many were too many, and are still there: turns may have been taken back since."""
        return self._over(tokens) and self._over(DOUBT * estimated(self._recall().items))

    def _over(self, tokens: int) -> bool:
        limit = self._rules.limit
        return limit is not None and tokens > limit

    def part(self) -> Sequence[Item]:
        """See `agent.base.Compaction.part`: all but what has not been answered yet."""
        entries = self._recall().entries
        self.wanted = False
        self._end = self._behind(entries, _answered(entries))
        return [it.item for it in entries[: self._end]]

    def _behind(self, entries: Sequence[Entry], answered: int) -> int:
        """Also behind what earlier turns left unanswered, where that is too long to be put to a model again."""
        summary = max((at for at, it in enumerate(entries, 1) if it.kind == SUMMARY), default=0)
        begin = max(answered, summary)
        left = [it.item for it in entries[begin:] if it.seq <= self._since]
        return begin + len(left) if estimated(left) > self._room else answered

    @property
    def _room(self) -> int:
        """Tokens of what was said to the agent that can stay."""
        limit = self._rules.limit
        return KEPT if limit is None else min(KEPT, limit // SHARE)

    def replaced(self, summary: str) -> list[Item]:
        """See `agent.base.Compaction.replaced`."""
        entries = self._recall().entries
        before, waiting = entries[: self._end], entries[self._end :]
        return [
            {"@": "compact"},
            *self._context(),
            *self._said(before, goal=not any(it.kind == GOAL for it in waiting)),
            {"@": SUMMARY},
            user_item(_LEAD + summary),
            *_marked(it for it in waiting if it.kind != CONTEXT),
        ]

    def _said(self, entries: Sequence[Entry], *, goal: bool) -> list[Item]:
        """What was said to the agent, as far as there is room for the latest; and what asked for the goal last."""
        left = self._room
        asked = next((it for it in reversed(entries) if it.kind == GOAL), None) if goal else None
        kept: list[Item] = []
        for it in reversed(entries):
            words = text_of(it.item.get("content"))
            if not words or not left or not (it is asked or (it.kind in SPOKEN and it.item.get("role") == "user")):
                continue
            room = left * CHARACTERS
            message = user_item(words if len(words) <= room else f"{words[:room]}{CUT}")
            left = max(0, left - estimated([message]))
            kept = [*_marked([it._replace(item=message)]), *kept]
        return kept


def _answered(entries: Sequence[Entry]) -> int:
    """How far the model has answered: what comes behind is waiting for it."""
    for at in range(len(entries), 0, -1):
        it = entries[at - 1]
        if it.kind != INPUT and it.item.get("role") not in ("user", "developer"):
            return at
    return 0


def _marked(entries: Any) -> list[Item]:
    """Entries with their marks, as a record has them."""
    marked: list[Item] = []
    for it in entries:
        marked += [it.item] if it.kind is None else [{"@": it.kind}, it.item]
    return marked
