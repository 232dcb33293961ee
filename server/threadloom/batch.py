"""Batches, on jsonrpcserver: each element is answered by itself, with the same routes as a single message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import orjson
from jsonrpcserver import Error, Result, Success
from jsonrpcserver.main import dispatch_to_serializable
from jsonrpcserver.sentinels import NOCONTEXT

from threadloom.dispatcher import Outcome, Reply
from threadloom_protocol.errors import RpcError
from threadloom_protocol.jsonrpc import RequestId

Done = Callable[[bytes], None]


class Batch:
    """Answers that leave together, in the order of what they answer, once the last of them is there."""

    def __init__(self, identities: Sequence[RequestId | None], done: Done, *, tagged: bool) -> None:
        self._identities = identities
        self._outcomes: dict[int, Outcome] = {}
        self._done = done
        self._tagged = tagged

    def replies(self) -> Iterator[Reply]:
        """How each element is answered."""
        return (partial(self._take, place) for place in range(len(self._identities)))

    def _take(self, place: int, outcome: Outcome) -> None:
        self._outcomes[place] = outcome
        if len(self._outcomes) == len(self._identities):
            self._done(orjson.dumps(self._answers()))

    def _answers(self) -> list[dict[str, Any]]:
        # What was asked has gone its way already: jsonrpcserver is asked for what came of it, place by place.
        asked = [
            {"jsonrpc": "2.0", "id": identity, "method": "outcome", "params": [place]}
            for place, identity in enumerate(self._identities)
        ]
        answered = dispatch_to_serializable(
            asked, {"outcome": self._outcome}, context=NOCONTEXT, deserializer=_as_is, validator=_as_is
        )
        answers = cast(list[dict[str, Any]], answered)
        return answers if self._tagged else [_bare(it) for it in answers]

    def _outcome(self, place: int) -> Result:
        outcome = self._outcomes[place]
        if isinstance(outcome, RpcError):
            return Error(outcome.wire_code, outcome.message, *([] if outcome.data is None else [outcome.data]))
        return Success(orjson.Fragment(outcome if isinstance(outcome, bytes) else b"".join(outcome)))


def _as_is(value: Any) -> Any:
    return value


def _bare(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "jsonrpc"}
