"""What clients answer to the questions of threads: the first answer counts, a later one is told so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadloom.log import logger
from threadloom_protocol.v2.stream import REJECTED, RejectedReason, ServerRequestRejectedNotification

if TYPE_CHECKING:
    from threadloom.threads.hub import Listener
    from threadloom.threads.manager import Manager
    from threadloom.threads.thread import Thread
    from threadloom_protocol.jsonrpc import Response

log = logger(__name__)


class Answers:
    """The way of an answer from a connection to its thread."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def take(self, listener: Listener, response: Response) -> None:
        """Take an answer; whoever gave it is told where it is of no use."""
        request_id = str(response.id)
        questions = self._manager.hub.questions
        asker = questions.asker(request_id)
        thread = None if asker is None else self._manager.loaded.get(asker)
        if thread is None or request_id not in thread.requests.open:
            known = questions.resolved.get(request_id)
            _reject(listener, known, request_id, "unknown" if known is None else "alreadyResolved")
        elif response.error is not None:
            self._fail(listener, thread, request_id, response.error.get("message"))
        else:
            self._decide(listener, thread, request_id, response.result)

    def _decide(self, listener: Listener, thread: Thread, request_id: str, result: object) -> None:
        try:
            read = thread.requests.read(request_id, result)
        except ValueError as fault:
            _reject(listener, thread.id, request_id, "invalid")
            self._fail(listener, thread, request_id, str(fault))  # as it is, it will hardly say it any better
            return
        thread.requests.answer(request_id, read)

    def _fail(self, listener: Listener, thread: Thread, request_id: str, reason: object) -> None:
        """One that failed, or knows no such request, has decided nothing; where all did, that is a refusal."""
        log.warning("a client could not answer", thread=thread.id, request=request_id, reason=reason)
        if self._manager.hub.questions.gave_up(listener, request_id):
            thread.requests.refuse(request_id)


def _reject(listener: Listener, thread_id: str | None, request_id: str, reason: RejectedReason) -> None:
    event = ServerRequestRejectedNotification(thread_id=thread_id, request_id=request_id, reason=reason)
    listener.publish(REJECTED, event.to_json())
