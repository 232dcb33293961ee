"""Work in another directory: nobody does it without the user's approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadloom.agent.floor import Question
from threadloom.agent.sampling import ToolCall
from threadloom.ids import uuid7
from threadloom.threads import say
from threadloom_protocol.v2 import approval
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread


async def allowed(thread: Thread, turn_id: str, origin: list[str], call: ToolCall, directory: str) -> bool:
    """Ask in the turn of a thread whether an agent may work somewhere else."""
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
    answer = await thread.requests.ask(routed, Question(approval.COMMAND, params, started, refusal))
    yes = answer.decision in ("accept", "acceptForSession")
    if thread.state.turn is not None and thread.state.turn.turn.id == turn_id:
        ended = item.model_copy(update={"status": "completed" if yes else "declined"})
        thread.emit(say.item_completed(thread.id, turn_id, ended, thread.clock()))
        if answer.decision == "cancel" and thread.running is not None:
            thread.running.stop(by_user=True)
    return yes
