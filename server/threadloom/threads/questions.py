"""What threads have asked their clients: whom, who can decide, and who has to hear that it is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from threadloom.threads.hub import Listener

MAX_RESOLVED: Final = 10_000  # questions remembered after their answer, for those who answer late


class Open(NamedTuple):
    """A question that waits for its answer, encoded."""

    method: str
    body: bytes


@dataclass(slots=True)
class Audience:
    """The connections that a question was put to, as far as they are there."""

    all: set[Listener] = field(default_factory=set)
    failed: set[Listener] = field(default_factory=set)

    def drop(self, listener: Listener) -> None:
        """One was not asked, after all."""
        self.all.discard(listener)
        self.failed.discard(listener)


class Questions:
    """The open questions of all threads. They belong to their threads: here is only who was asked."""

    def __init__(self) -> None:
        self._open: dict[str, dict[str, Open]] = {}  # by thread and by the id of the request
        self._audiences: dict[str, Audience] = {}  # by the id of the request, until all have heard that it is over
        self.resolved: dict[str, str] = {}  # the threads of questions that need no answer any more, the latest of them

    def add(self, thread_id: str, request_id: str, question: Open) -> None:
        """A thread asks."""
        self._open.setdefault(thread_id, {})[request_id] = question
        self._audiences[request_id] = Audience()

    def put(self, listener: Listener, thread_id: str) -> None:
        """Ask a connection what it was not asked yet."""
        for request_id, question in self._open.get(thread_id, {}).items():
            asked = self._audiences[request_id].all
            if listener not in asked:
                asked.add(listener)
                listener.put(request_id, question.method, question.body)

    def forget(self, listener: Listener, thread_id: str) -> bool:
        """A connection left a thread, or begins with it anew; whether anything is open there."""
        for request_id in self._open.get(thread_id, ()):
            self._audiences[request_id].drop(listener)
        return thread_id in self._open

    def leave(self, listener: Listener) -> None:
        """A connection has gone."""
        for audience in self._audiences.values():
            audience.drop(listener)

    @property
    def askers(self) -> list[str]:
        """The threads that wait for an answer."""
        return list(self._open)

    def asker(self, request_id: str) -> str | None:
        """The thread that waits for this answer."""
        return next((thread_id for thread_id, known in self._open.items() if request_id in known), None)

    def gave_up(self, listener: Listener, request_id: str) -> bool:
        """A connection could not decide; whether nobody can of those who were asked. Others may answer all the same."""
        audience = self._audiences[request_id]
        audience.failed.add(listener)
        return bool(audience.all) and audience.all <= audience.failed

    def withdraw(self, thread_id: str, request_id: str | None = None) -> None:
        """A question of a thread, or all of them, need no answer any more."""
        known = self._open.get(thread_id, {})
        for it in list(known) if request_id is None else [request_id]:
            known.pop(it, None)
            self.resolved[it] = thread_id
        if not known:
            self._open.pop(thread_id, None)
        while len(self.resolved) > MAX_RESOLVED:
            self.resolved.pop(next(iter(self.resolved)))

    def over(self, request_id: str) -> set[Listener]:
        """Everybody who was asked, for the news that it is over: once."""
        audience = self._audiences.pop(request_id, None)
        return set() if audience is None else audience.all
