"""Work in another directory: nobody does it without the user's approval."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from threadloom.agent.floor import Question
from threadloom.agent.sampling import ToolCall
from threadloom.ids import uuid7
from threadloom.store.errors import StoreError
from threadloom.threads import say
from threadloom_protocol.v2 import approval
from threadloom_protocol.v2.values.item_parts import CommandExecutionStatus
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread


async def allowed(thread: Thread, turn_id: str, origin: list[str], call: ToolCall, directory: str) -> bool | None:
    """Ask in the turn of a thread whether an agent may work somewhere else; none where that ended before an answer."""
    # Of another thread, it may be: its id must not be taken for one of this thread's own calls.
    routed = call if thread.id == origin[0] else call._replace(call_id=f"{origin[0]}:{call.call_id}")
    known = thread.requests.of_call(routed.call_id)  # in an earlier life of the server
    item = CommandExecutionThreadItem(
        id=uuid7() if known is None else known.item_id,
        command=f"spawn_agent --working-directory {directory}",
        cwd=directory,
        status="inProgress",
        command_actions=[],
    )
    params = approval.CommandExecutionRequestApprovalParams(
        thread_id=thread.id,
        turn_id=turn_id,
        item_id=item.id,
        started_at_ms=thread.clock(),
        command=item.command,
        cwd=directory,
        available_decisions=["accept", "decline", "cancel"],
        origin=origin,
    )
    started, _ = say.whole_item(thread.id, turn_id, item, thread.clock())
    refusal = approval.CommandExecutionRequestApprovalResponse(decision="decline")
    answer: Any = None
    try:
        answer = await thread.requests.ask(routed, Question(approval.COMMAND, params, started, refusal))
    finally:
        if answer is None and routed is not call:  # the agent that asks ends, and not the turn that it was asked in
            with suppress(StoreError):
                thread.requests.take_back(routed)
                _end(thread, turn_id, item, "declined")
    yes = answer.decision in ("accept", "acceptForSession")
    asked = _end(thread, turn_id, item, "completed" if yes else "declined")
    if asked and answer.decision == "cancel" and thread.running is not None:
        thread.running.stop(by_user=True)
    return yes if asked or answer is not refusal else None


def _end(thread: Thread, turn_id: str, item: CommandExecutionThreadItem, status: CommandExecutionStatus) -> bool:
    """Show that nobody is asked any more, if that is open in the turn that it was asked in; whether it was."""
    opened = thread.state.turn
    if opened is None or all(it.id != item.id for it in opened.open_items()):
        return False
    ended = item.model_copy(update={"status": status})
    thread.emit(say.item_completed(thread.id, turn_id, ended, thread.clock()))
    return True
