"""Watches how threads stand in their tree: wakes who waits for it, and tells the clients of their owners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio

from threadloom.agent.collab.base import FINAL, TOLD
from threadloom.log import logger
from threadloom.store.errors import StoreError
from threadloom.threads import say
from threadloom_protocol.errors import InvalidRequest

if TYPE_CHECKING:
    from threadloom.threads.journal import Journal
    from threadloom.threads.manager import Manager
    from threadloom_protocol.v2.values.status import CollabAgentStatus

log = logger(__name__)

MESSAGE: Final = 160  # characters of an agent's last words that a line shows


class Observer:
    """One for all threads of a server."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._waits: dict[str, set[anyio.Event]] = {}

    @contextmanager
    def changing(self, ids: Sequence[str]) -> Iterator[anyio.Event]:
        """Set as soon as one of these threads stands otherwise than now."""
        event = anyio.Event()
        watched = set(ids)
        for it in watched:
            self._waits.setdefault(it, set()).add(event)
        try:
            yield event
        finally:
            for it in watched:
                self._waits[it].discard(event)
                if not self._waits[it]:
                    del self._waits[it]

    def changed(self, thread: Journal, before: CollabAgentStatus) -> None:
        """A thread stands otherwise than before, and has been shown to."""
        self.wake(thread.id)
        spawned = thread.state.rest.thread.spawn_config
        if thread.owner is None or spawned is None:
            return
        text = self._text(thread) if spawned.kind == "agent" else _session(thread, before)
        if text is not None:
            self._tell(thread.owner, thread, text)

    def wake(self, thread_id: str) -> None:
        """Whoever waits for a thread looks again how it stands."""
        for event in self._waits.get(thread_id, ()):
            event.set()

    def _text(self, thread: Journal) -> str:
        status = thread.state.agent_status
        call = thread.header.facts.get("callId")
        who = f"agent {thread.state.rest.thread.agent_role or 'default'} ({thread.id}) [{call or 'client'}]"
        if status not in FINAL:
            return f"{who} {TOLD[status]}"
        words = self._manager.branch(thread.id).standing(thread.id).message or ""
        return f"{who} {TOLD[status]} in {_time(thread.state.rest.took)}: {_line(words)}".rstrip()

    def _tell(self, owner: str, child: Journal, text: str) -> None:
        final = child.state.agent_status in FINAL
        try:
            self._manager.get(owner).emit(say.background(owner, text, final=final, child=child.id))
        except (StoreError, InvalidRequest) as fault:  # it is told or it is not: the child goes its way
            log.warning("an owner could not be told of its child", thread=owner, child=child.id, reason=str(fault))


def _session(thread: Journal, before: CollabAgentStatus) -> str | None:
    """What is said of a sub-session: how it ended, once."""
    if before in FINAL:
        return None
    match thread.state.agent_status:
        case "completed":
            return f"child session {thread.id} completed"
        case "errored":
            return f"child session {thread.id} failed"
        case "interrupted" | "shutdown":
            return f"child session {thread.id} cancelled"
        case _:
            return None


def _time(ms: int) -> str:
    minutes, seconds = divmod(max(0, ms) // 1000, 60)
    return f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MESSAGE else flat[: MESSAGE - 1] + "…"
