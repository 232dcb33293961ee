"""What a turn asks of the person: approvals by a key, questions by a line. First come, first asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from threadloom.digits import number
from threadloom_client import Client
from threadloom_client.handlers import asked_as
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import approval, ask

DECISIONS: Final = {"y": "accept", "a": "acceptForSession", "n": "decline", "escape": "cancel"}
WORDS: Final = {
    "accept": "yes",
    "acceptForSession": "yes, and do not ask again for the like",
    "decline": "no, go on without",
    "cancel": "no, and end the turn",
}


@dataclass(eq=False)
class Ask:
    """One question that is open."""

    request_id: str | int
    params: Any
    answer: Any = None  # a decision, or the answers by the ids of their questions
    done: anyio.Event = field(default_factory=anyio.Event)

    @property
    def question(self) -> ask.ToolRequestUserInputQuestion | None:
        """The next one to be answered with a line; None where a key decides."""
        if not isinstance(self.params, ask.ToolRequestUserInputParams):
            return None
        given = self.answer or {}
        return next((it for it in self.params.questions if it.id not in given), None)

    @property
    def keys(self) -> dict[str, str]:
        """Which key gives which decision."""
        offered = getattr(self.params, "available_decisions", None)
        return {key: it for key, it in DECISIONS.items() if offered is None or it in offered}


class Asks:
    """The questions that are open on this connection."""

    def __init__(self, changed: Callable[[], None], asked: Callable[[Ask], None]) -> None:
        self._changed = changed
        self._asked = asked
        self.open: list[Ask] = []

    @property
    def first(self) -> Ask | None:
        """The one to be answered now."""
        return self.open[0] if self.open else None

    def listen(self, client: Client) -> None:
        """Take the questions of a connection."""
        client.on_request(approval.COMMAND, self._command)
        client.on_request(approval.FILE_CHANGE, self._file_change)
        client.on_request(ask.USER_INPUT, self._user_input)

    async def _command(
        self, params: approval.CommandExecutionRequestApprovalParams
    ) -> approval.CommandExecutionRequestApprovalResponse:
        return approval.CommandExecutionRequestApprovalResponse(decision=await self._answered(params))

    async def _file_change(
        self, params: approval.FileChangeRequestApprovalParams
    ) -> approval.FileChangeRequestApprovalResponse:
        return approval.FileChangeRequestApprovalResponse(decision=await self._answered(params))

    async def _user_input(self, params: ask.ToolRequestUserInputParams) -> ask.ToolRequestUserInputResponse:
        answers = await self._answered(params)
        given = {it: ask.ToolRequestUserInputAnswer(answers=words) for it, words in answers.items()}
        return ask.ToolRequestUserInputResponse(answers=given)

    async def _answered(self, params: Any) -> Any:
        it = Ask(asked_as.get(), params)
        self.open.append(it)
        self._asked(it)
        self._changed()
        try:
            await it.done.wait()
        finally:  # also where the connection is lost: who reconnects is asked again
            self.open.remove(it)
            self._changed()
        if it.answer is None:
            raise InvalidRequest("answered elsewhere")  # the server has no use for it any more, and says so
        return it.answer

    def press(self, key: str) -> Ask | None:
        """A key that decides; the question it has decided."""
        it = self.first
        if it is None or it.question is not None or key not in it.keys:
            return None
        it.answer = it.keys[key]
        it.done.set()
        return it

    def line(self, text: str) -> str | None:
        """A line that answers the question at hand; what it says there, None where there was no question."""
        it = self.first
        if it is None or (question := it.question) is None:
            return None
        options = question.options or []
        at = number(text) or 0
        chosen = options[at - 1].label if 0 < at <= len(options) else text
        it.answer = {**(it.answer or {}), question.id: [chosen] if chosen else []}
        if it.question is None:
            it.done.set()
        self._changed()
        return f"{question.question} {chosen or 'no answer'}"

    def resolved(self, request_id: str | int) -> None:
        """Somebody has answered."""
        for it in self.open:
            if it.request_id == request_id:
                it.done.set()
