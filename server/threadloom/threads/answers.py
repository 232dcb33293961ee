"""What clients answer to the questions of threads: the first answer counts, a later one is told so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadloom.log import logger
from threadloom_protocol.errors import MethodNotFound
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
            self._fail(listener, thread, request_id, response.error)
        else:
            self._decide(listener, thread, request_id, response.result)

    def _decide(self, listener: Listener, thread: Thread, request_id: str, result: object) -> None:
        try:
            read = thread.requests.read(request_id, result)
        except ValueError as fault:
            log.warning("an answer does not fit its request", thread=thread.id, reason=str(fault))
            _reject(listener, thread.id, request_id, "invalid")
            return
        thread.requests.answer(request_id, read)

    def _fail(self, listener: Listener, thread: Thread, request_id: str, error: dict[str, object]) -> None:
        """A client that does not know the request has decided nothing; where all others failed, that is a refusal."""
        log.warning("a client could not answer", thread=thread.id, request=request_id, error=error.get("message"))
        knows = error.get("code") != MethodNotFound.code
        if self._manager.hub.questions.gave_up(listener, request_id, knows=knows):
            thread.requests.refuse(request_id)


def _reject(listener: Listener, thread_id: str | None, request_id: str, reason: RejectedReason) -> None:
    event = ServerRequestRejectedNotification(thread_id=thread_id, request_id=request_id, reason=reason)
    listener.publish(REJECTED, event.to_json())
