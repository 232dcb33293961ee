"""Turns that outlive the process: suspended when the server stops, taken up again when their thread is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadloom.agent.history import unanswered
from threadloom.agent.sampling import ToolCall
from threadloom.events import Aside
from threadloom.log import logger
from threadloom.threads import endings, say
from threadloom.threads.attachments import attached
from threadloom.threads.inputs import WRITTEN
from threadloom.threads.lost import lost_item
from threadloom.threads.opened import OpenTurn
from threadloom_protocol.errors import InvalidRequest

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread

log = logger(__name__)


def suspend(thread: Thread) -> None:
    """The server stops: a turn that only waits for answers waits on in its next life. Others are interrupted."""
    running, opened = thread.running, thread.state.turn
    if running is None or opened is None or running.scope.cancel_called:  # what somebody has ended does not go on
        return
    if thread.requests.open:
        running.suspended = {it.id for it in opened.open_items()} <= thread.requests.waiting


def recover(thread: Thread) -> None:
    """Nobody runs the turn that is open: its process has gone. One that waits for an answer goes on from that."""
    _complete_lost(thread)
    opened = thread.state.turn
    if opened is None:
        _rest(thread)
        return
    called = {it["call_id"] for it in unanswered(thread.history())}
    if not any(it.call_id in called for it in thread.requests.calls):
        thread.turns.end("interrupted", lost=endings.UNKNOWN)
        return
    _give_up_lost(thread, opened)
    calls = [ToolCall(it.call_id, it.name, it.arguments, bool(it.freeform)) for it in thread.requests.calls]
    thread.turns.resume(opened, calls)


def _complete_lost(thread: Thread) -> None:
    """Commands that had outlived their turn have ended with the process."""
    if lost := [lost_item(thread.store, thread.id, it.item) for it in thread.state.rest.left.values()]:
        turns = {it.item.id: it.turn_id for it in thread.state.rest.left.values()}
        thread.emit(*(say.item_completed(thread.id, turns[it.id], it, thread.clock()) for it in lost))


def _rest(thread: Thread) -> None:
    """No turn is open; one that was about to begin may have been cut short."""
    if thread.state.rest.thread.status.type == "active":  # the power went before the turn was written
        thread.emit(say.idle(thread.id))
    if _unborn(thread):
        thread.spawn(_first_turn, thread)


def _unborn(thread: Thread) -> bool:
    """Whether what it was spawned for has not begun."""
    begun = thread.state.turn is not None or thread.state.rest.last_end is not None
    return not begun and bool(thread.header.facts.get("input"))


async def _first_turn(thread: Thread) -> None:
    """Begin what it was spawned for: its process went between its birth and its first turn."""
    content = WRITTEN.validate_python(thread.header.facts["input"])
    try:
        files = await attached(content, thread.state.rest.settings.cwd)
    except InvalidRequest as fault:  # gone since: its words are there
        log.warning("files of an agent's first input are gone", thread=thread.id, reason=fault.message)
        content, files = [it for it in content if it.type not in ("localImage", "skill")], {}
    if _unborn(thread) and thread.at_rest:
        by_parent = thread.header.facts.get("callId") is not None
        thread.start_turn(content, files=files, by_parent=by_parent).show()


def _give_up_lost(thread: Thread, opened: OpenTurn) -> None:
    """Steps that had begun are not begun again: nobody knows how far they came."""
    waiting = thread.requests.waiting
    lost = [
        it
        for it in endings.cut(thread.id, opened, thread.clock(), waiting | opened.refused, endings.UNKNOWN)
        if it.event.item.id not in waiting  # type: ignore[attr-defined]
    ]
    called = {it.call_id for it in thread.requests.calls}
    outputs = [it for it in unanswered(thread.history(), endings.UNKNOWN) if it["call_id"] not in called]
    if lost or outputs:
        thread.emit(*lost, *([Aside(outputs)] if outputs else ()))
