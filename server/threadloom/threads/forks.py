"""Forks: a new root thread that goes on from another one's history, by reference."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from threadloom.agent.history import ABORTED, unanswered
from threadloom.events import Emission
from threadloom.store.base import StoreError
from threadloom.store.rows import Base
from threadloom.threads import say
from threadloom.threads.birth import Birth
from threadloom.threads.endings import UNKNOWN, cut, ended
from threadloom.threads.journal import Journal
from threadloom.threads.latest import end_of
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.turn import TOKEN_USAGE_UPDATED, ThreadTokenUsageUpdatedNotification

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager


def fork(
    manager: Manager,
    source: Journal,
    *,
    settings: ThreadSettings | None = None,
    last_turn: str | None = None,
    before_turn: str | None = None,
    ephemeral: bool = False,
    config: Mapping[str, Any] = MappingProxyType({}),
    base_instructions: str | None = None,
    developer_instructions: str | None = None,
    **birth: Any,
) -> Thread:
    """A fork of a thread: of all of it, up to the end of a turn, or up to where a turn begins."""
    if last_turn is not None and before_turn is not None:
        raise InvalidRequest("`beforeTurnId` cannot be combined with `lastTurnId`")
    rest = source.state.rest
    base = _base(source, last_turn, before_turn)
    whole = last_turn is None and before_turn is None
    inherited = source.open_turn() if whole else None
    lost = UNKNOWN if inherited and manager.abandoned(source.id) else None
    return manager.start(
        Birth(
            settings=settings or rest.settings,
            base_instructions=base_instructions or rest.base_instructions,
            developer_instructions=developer_instructions or rest.developer_instructions,
            config={**rest.config, **config},
            name=rest.thread.name,
            preview=rest.thread.preview,
            ephemeral=ephemeral or rest.thread.ephemeral,
            base=base,
            forked_from=source.id,
            facts={"openTurn": inherited} if inherited else {},
            beginning=partial(frozen, source, manager.clock(), lost=lost) if inherited else None,
            usage=source.usage() if whole else _usage(source, base),
            compactions=[it for it in rest.compactions if it <= base.seq],
            **birth,
        )
    )


def _base(source: Journal, last_turn: str | None, before_turn: str | None) -> Base:
    if last_turn is None and before_turn is None:
        return Base(source.id, source.seq, source.end)
    turn_id = last_turn or before_turn or ""
    row = source.store.index.turn(source.id, turn_id)
    if row is None:
        raise InvalidRequest(f"turn not found: {turn_id}")
    if before_turn is not None:
        return source.store.before(source.id, row.seq)
    if row.status == "inProgress":
        if (end := end_of(source.store, source.id, row)) is None:
            raise InvalidRequest(f"turn {turn_id} is still in progress")
        return Base(row.thread_id, end.line.seq, end.line.offset + end.line.size)
    [ended] = source.store.lines([(row.thread_id, row.last)])
    if ended.method is None:
        raise StoreError(
            f"The record of the end of turn {turn_id} is damaged: fork from another turn, or from the end."
        )
    return Base(row.thread_id, ended.seq, ended.offset + ended.size)  # the log that it lies in, be it a base's


def _usage(source: Journal, base: Base) -> ThreadTokenUsageUpdatedNotification | None:
    """What the source had used where the fork begins: the last it told in a turn before."""
    end = base.seq
    while turns := source.store.index.turns(source.id, after=end + 1, limit=1, direction="desc"):
        lines = source.store.after(source.id, turns[0].seq, end)
        if told := [it for it in lines if it.method == TOKEN_USAGE_UPDATED.method]:
            return ThreadTokenUsageUpdatedNotification.model_validate(told[-1].params)
        end = turns[0].seq - 1
    return None


def frozen(source: Journal, at: int, thread_id: str, lost: str | None = None) -> list[Emission]:
    """The turn that is open in the source ends here, as if interrupted: its text so far belongs to the fork."""
    opened = source.state.turn
    assert opened is not None
    waiting = {it.item_id for it in source.state.rest.pending.values()}
    ends = [
        it._replace(event=it.event.model_copy(deep=True))
        for it in cut(thread_id, opened, at, waiting | opened.refused, lost)
    ]
    outputs = unanswered(source.history(), lost or ABORTED)
    return [
        *ends,
        say.turn_completed(thread_id, ended(opened, "interrupted", None, at))._replace(model=outputs or None),
    ]
