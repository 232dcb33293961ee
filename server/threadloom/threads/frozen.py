"""A thread as it was when it was saved: all that a fork of that point starts from, in one record of its log."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import orjson
from pydantic import Field

from threadloom.agent.sampling import Item
from threadloom.events import Emission
from threadloom.store.base import Store, StoreError
from threadloom.store.rows import Base, SavedRow
from threadloom.threads import forks
from threadloom.threads.birth import Birth
from threadloom.threads.marks import Mark
from threadloom.threads.recall import Recall, recalled
from threadloom.threads.replay import marks_of
from threadloom.threads.thread import Thread
from threadloom_protocol.model import Wire
from threadloom_protocol.v2 import V2
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.turn import ThreadTokenUsage, ThreadTokenUsageUpdatedNotification


class End(Wire):
    """A record that ends something which was open."""

    method: str
    params: dict[str, Any]
    model: list[dict[str, Any]] | None = None


class Frozen(Wire):
    """What a fork of a saved point starts from, beside the history itself."""

    settings: ThreadSettings
    base_instructions: str | None = None
    developer_instructions: str | None = None
    config: dict[str, Any] = Field(default_factory=dict)
    name: str | None = None
    preview: str = ""
    usage: ThreadTokenUsage | None = None
    usage_turn: str | None = None
    compactions: list[int] = Field(default_factory=list)
    open_turn: dict[str, Any] | None = None  # as a fork needs to know it
    ends: list[End] = Field(default_factory=list)  # what ends that turn, as if it had been interrupted there


def mark(thread: Thread, name: str, title: str | None, at: int) -> Mark:
    """The record that a thread is saved as it is now."""
    rest, opened = thread.state.rest, thread.open_turn()
    ends = forks.frozen(thread, at, thread.id) if opened is not None else []
    frozen = Frozen(
        settings=rest.settings,
        base_instructions=rest.base_instructions,
        developer_instructions=rest.developer_instructions,
        config=rest.config,
        name=title,
        preview=rest.thread.preview,
        usage=rest.usage,
        usage_turn=rest.usage_turn,
        compactions=list(rest.compactions),
        open_turn=opened,
        ends=[
            End(method=it.notification.method, params=orjson.loads(it.event.to_json()), model=it.model) for it in ends
        ],
    )
    seen = [*thread.history(), *_items(it.model for it in ends)]
    return {"@": "saved", "name": name, "at": at, "digest": digest(seen), "frozen": orjson.loads(frozen.to_json())}


def digest(history: Sequence[Item]) -> str:
    """What tells one history from another."""
    return hashlib.sha256(orjson.dumps(history, option=orjson.OPT_SORT_KEYS)).hexdigest()


def birth(store: Store, saved: SavedRow, **members: Any) -> Birth:
    """What a fork of a saved point is born with. Raises `StoreError` where the history is not what was saved."""
    [line] = store.lines([(saved.thread_id, saved.offset)])
    found = [it for it in marks_of(line.model) if it["@"] == "saved" and it["name"] == saved.name]
    if not found:
        raise _damaged(saved, "its record cannot be read")
    frozen = Frozen.model_validate(found[0]["frozen"])
    base = Base(saved.thread_id, line.seq, line.offset + line.size)
    seen = recalled(store, saved.thread_id, frozen.compactions, base).items
    if digest([*seen, *_items(it.model for it in frozen.ends)]) != found[0]["digest"]:
        raise _damaged(saved, "its history is not what was saved")
    return Birth(
        settings=frozen.settings,
        base_instructions=frozen.base_instructions,
        developer_instructions=frozen.developer_instructions,
        config=frozen.config,
        name=frozen.name,
        preview=frozen.preview,
        base=base,
        forked_from=saved.thread_id,
        facts={"openTurn": frozen.open_turn} if frozen.open_turn else {},
        beginning=partial(_beginning, frozen.ends) if frozen.ends else None,
        usage=_usage(saved.thread_id, frozen),
        compactions=frozen.compactions,
        **members,
    )


def _items(models: Iterable[list[dict[str, Any]] | None]) -> list[Item]:
    """What of records the model has in its history."""
    recall = Recall()
    for it in models:
        recall.take(0, it or ())
    return recall.items


def _beginning(ends: Sequence[End], thread_id: str) -> list[Emission]:
    return [it for end in ends for it in _emission(end, thread_id)]


def _emission(end: End, thread_id: str) -> list[Emission]:
    notification = V2.notification(end.method)
    if notification is None:
        return []
    event = notification.params.model_validate({**end.params, "threadId": thread_id})
    return [Emission(notification, event, end.model)]


def _usage(thread_id: str, frozen: Frozen) -> ThreadTokenUsageUpdatedNotification | None:
    if frozen.usage is None or frozen.usage_turn is None:
        return None
    return ThreadTokenUsageUpdatedNotification(thread_id=thread_id, turn_id=frozen.usage_turn, token_usage=frozen.usage)


def _damaged(saved: SavedRow, why: str) -> StoreError:
    return StoreError(
        f"The session saved as `{saved.name}` cannot be forked: {why}. The log of thread {saved.thread_id} is damaged; "
        'with `at: "head"` a fork starts from the end of what can be read.'
    )
