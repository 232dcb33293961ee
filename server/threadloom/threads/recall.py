"""What the model remembers of a thread: its history from the last compaction on, as the log tells it.

Marks among the items say what they are: `{"@": "context", "items": 2, …}` in front of two messages that nobody said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from threadloom.agent.sampling import Item
from threadloom.store.base import Store
from threadloom.store.rows import Base

# What stands in the history beside what was said and done.
CONTEXT: Final = "context"  # where the conversation takes place, and the instructions of that place
SKILL: Final = "skill"  # the text of a skill that a person asked for
BESIDE: Final = "beside"  # what a client added to what was said
INPUT: Final = "input"  # what a tool brought without having been called
GOAL: Final = "goal"  # what asks the model to go on
SUMMARY: Final = "summary"  # of what came before
REPORT: Final = "agentReport"  # what an agent that the thread owns has to tell
PARENT: Final = "parent"  # what the agent that owns the thread says to it
KINDS: Final = frozenset({CONTEXT, SKILL, BESIDE, INPUT, GOAL, SUMMARY, REPORT, PARENT})


class Entry(NamedTuple):
    """An item of the history, and where it comes from."""

    seq: int
    item: Item
    kind: str | None = None  # one of `KINDS`; none for what the user said, and what was done


class _Stretch:
    """What the model has had in view since a compaction, or from the beginning."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.entries: list[Entry] = []
        self.told: list[tuple[int, dict[str, Any]]] = []  # the marks of the context that it was given

    def cut(self, from_seq: int) -> None:
        """Take back what came from a seq on."""
        self.entries = [it for it in self.entries if it.seq < from_seq]
        self.told = [it for it in self.told if it[0] < from_seq]


class Recall:
    """The history in memory. Earlier stretches are let go of: a revert behind the last one needs the log again."""

    def __init__(self, since: int = 0) -> None:
        self._since = since  # it was read from here on
        self._stretches = [_Stretch(since)]

    @property
    def entries(self) -> list[Entry]:
        """What the model has in view."""
        return self._stretches[-1].entries

    @property
    def items(self) -> list[Item]:
        """The same, as it is sent."""
        return [it.item for it in self.entries]

    @property
    def kinds(self) -> list[str | None]:
        """What each of them is."""
        return [it.kind for it in self.entries]

    @property
    def told(self) -> dict[str, Any] | None:
        """The mark of the latest context that the model was given."""
        told = self._stretches[-1].told
        return told[-1][1] if told else None

    @property
    def whole(self) -> bool:
        """Whether it is all there: where it should begin with a compaction, that one was found."""
        return not self._since or len(self._stretches) > 1

    @property
    def lost(self) -> bool:
        """Whether a revert went back to where nothing is remembered."""
        return not self._stretches

    def take(self, seq: int, model: Iterable[dict[str, Any]]) -> None:
        """Take in the `model` part of one record."""
        kind, left = None, 0
        for it in model:
            match it.get("@"):
                case "revert":
                    self._revert(it["fromSeq"])
                case "compact":
                    self._stretches.append(_Stretch(seq))
                case _ if self.lost:
                    pass  # it is in the log, which is read again as soon as somebody asks
                case None:
                    self.entries.append(Entry(seq, it, kind if left > 0 else None))
                    left -= 1
                case str(name) if name in KINDS:
                    kind, left = name, it.get("items", 1)
                    if name == CONTEXT:
                        self._stretches[-1].told.append((seq, it))

    def _revert(self, from_seq: int) -> None:
        self._stretches = [it for it in self._stretches if it.since < from_seq]
        if self._stretches:
            self._stretches[-1].cut(from_seq)

    def settle(self) -> None:
        """Let go of what the model has no longer in view."""
        del self._stretches[:-1]


def recalled(store: Store, thread_id: str, compactions: Sequence[int], end: Base | None = None) -> Recall:
    """Read the history from the last compaction on; from an earlier one, where that record is damaged.

    Up to its end, or up to where a fork would leave it.
    """
    stop, cut = (None, None) if end is None else (end.seq, end.offset)
    for since in [*reversed(compactions), 0]:
        recall = Recall(since)
        seq = since
        for line in store.after(thread_id, max(0, since - 1), stop, cut, model=True):
            seq = line.seq or seq  # a line that only the model sees goes with the one before
            recall.take(seq, line.model or ())
        if recall.whole:
            break
    recall.settle()
    return recall
