"""The work of a turn: what was said is answered, and a history that has grown too long is condensed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from threadloom.agent.base import Batch
from threadloom.agent.sampling import ToolCall

if TYPE_CHECKING:
    from threadloom.threads.running import Running
    from threadloom.threads.thread import Thread


async def answer(thread: Thread, running: Running, resumed: Sequence[ToolCall] = ()) -> None:
    """Have the input answered."""
    turn, agent = thread.briefing.turn(running), thread.agent
    turn.resumed = resumed
    if _too_long(thread, running) and not resumed:
        await _relay(thread, running, agent.compact(turn))
    await _relay(thread, running, agent.run(turn))
    await heed(thread, running)


async def condense(thread: Thread, running: Running) -> None:
    """Have the history condensed, and what was said meanwhile answered."""
    await _relay(thread, running, thread.agent.compact(thread.briefing.turn(running)))
    running.compaction.wanted = False  # who has asked for it meanwhile has it
    await heed(thread, running)


async def heed(thread: Thread, running: Running) -> None:
    """Do what was asked for in a turn that was about something else, as long as there is anything."""
    while running.compaction.wanted or running.steering.waiting:
        await checkpoint()  # one that is to end does so here, though its agent may mind no end
        turn, agent = thread.briefing.turn(running), thread.agent
        await _relay(thread, running, agent.compact(turn) if running.compaction.wanted else agent.run(turn))


async def _relay(thread: Thread, running: Running, batches: AsyncGenerator[Batch, None]) -> None:
    """Record what comes. The model is asked at once, while whoever asked for the turn is still being answered."""
    async with aclosing(batches):
        async for batch in batches:
            await running.once_shown()
            thread.emit(*thread.goals.counted(batch))


def _too_long(thread: Thread, running: Running) -> bool:
    """Whether the last answer filled the window, and what did so is still there."""
    used = thread.state.rest.usage
    return used is not None and running.compaction.overdue(used.last.total_tokens)
