"""What every thread stands on: the hub and the tasks, who answers, and who hears of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio.abc import TaskGroup

from threadloom.agent.base import Agent, Tool
from threadloom.agent.collab.base import Tree
from threadloom.threads.context.rules import Ruling, standard
from threadloom.threads.hub import Hub
from threadloom.threads.journal import Journal, now
from threadloom_protocol.v2.values.status import CollabAgentStatus

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread


async def _nothing(thread_id: str) -> None:
    return None


@dataclass(slots=True)
class Ground:
    """The same for all threads of a process."""

    hub: Hub
    tasks: TaskGroup
    agent: Agent
    tools: dict[str, Tool]
    clock: Callable[[], int] = now
    rules: Ruling = standard
    origin: Callable[[str], Sequence[str]] = lambda thread_id: [thread_id]  # a thread and its owners, up to the root
    branch: Callable[[str], Tree] | None = None  # the tree, seen from a thread
    changed: Callable[[Journal, CollabAgentStatus], None] = lambda thread, before: None  # it stands otherwise now
    ended: Callable[[Thread], None] = lambda thread: None  # a turn of it is over
    interrupted: Callable[[str], Awaitable[None]] = _nothing  # ends what does not outlive a turn
    stopping: bool = False  # turns may end, but none begins by itself any more
