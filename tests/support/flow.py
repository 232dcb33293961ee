"""One connection under the check: what its client has asked and wished for, and what its server says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson
from tests.support.conformance import Conformance
from tests.support.contract import Role


@dataclass(slots=True)
class Questions:
    """What was asked under one id, and how many answers are due: tests may use an id more than once."""

    methods: list[str] = field(default_factory=list)
    due: int = 0

    def ask(self, method: str) -> None:
        """One more."""
        self.methods.append(method)
        self.due += 1


class Flow:
    """One connection: an answer is judged by its question, all of it by the handshake."""

    def __init__(self, to: Conformance) -> None:
        self.to = to
        self._asked: dict[Any, Questions] = {}
        self._greetings: dict[Any, dict[str, Any]] = {}
        self._greeting: dict[str, Any] | None = None

    def sent(self, frame: bytes) -> None:
        """Take note of what a client says, whether or not it makes sense."""
        try:
            value = orjson.loads(frame)
        except orjson.JSONDecodeError:
            return
        for message in value if isinstance(value, list) else [value]:
            if isinstance(message, dict) and type(message.get("id")) in (int, str) and not _is_answer(message):
                self._note(message["id"], message)

    def _note(self, identity: Any, message: dict[str, Any]) -> None:
        method = message.get("method")
        self._asked.setdefault(identity, Questions()).ask(method if isinstance(method, str) else "")
        if method == "initialize":
            self._greetings[identity] = message

    def received(self, frame: object) -> None:
        """Judge what a server says."""
        self.to.messages += 1
        try:
            value = orjson.loads(frame)  # type: ignore[arg-type]
        except orjson.JSONDecodeError:
            self.to.violate("not JSON", repr(frame))
            return
        if value == [] or not isinstance(value, list | dict):
            self.to.violate("neither a message nor a batch of answers", value)
            return
        for message in value if isinstance(value, list) else [value]:
            self._judge(message)

    def _judge(self, message: Any) -> None:
        match message:
            case {"id": bool()}:
                self.to.violate("an id is a string or an integer", message)
                return
            case {"method": str(method), "id": int() | str(), "params": dict(params), **rest}:
                self.to.check(Role.REQUEST, method, params, message)
            case {"method": str(method), "params": dict(params), **rest} if "id" not in message:
                self.to.check(Role.NOTIFICATION, method, params, message)
                self._wanted(method, message)
            case {"id": int() | str() as identity, "result": result, **rest}:
                self._answered(identity, result, message)
            case {"id": int() | str() | None as identity, "error": {"code": int(), "message": str(), **more}, **rest}:
                self._settle(identity, message)
                rest |= {name: value for name, value in more.items() if name != "data"}
            case _:
                self.to.violate("no message of JSON-RPC", message)
                return
        if rest.keys() - {"jsonrpc"} or rest.get("jsonrpc", "2.0") != "2.0":
            self.to.violate(f"members that no message has: {rest}", message)
        if self._greeting is not None and ("jsonrpc" in message) is not ("jsonrpc" in self._greeting):
            self.to.violate("jsonrpc is not answered in kind", message)

    def _answered(self, identity: Any, result: Any, message: Any) -> None:
        questions = self._settle(identity, message)
        if questions is None:
            return
        fitting = (it for it in questions.methods if self.to.fits(Role.RESULT, it, result))
        method = next(fitting, questions.methods[0])
        self.to.check(Role.RESULT, method, result, message)
        if method == "initialize" and self._greeting is None:
            self._greeting = self._greetings[identity]

    def _settle(self, identity: Any, message: Any) -> Questions | None:
        """The questions that an answer belongs to; where nothing is due, it should not have come."""
        if identity is None:
            return None
        questions = self._asked.get(identity)
        if questions is None:
            self.to.violate("an answer to nothing that was asked", message)
            return None
        questions.due -= 1
        if not questions.due:
            del self._asked[identity]
        return questions

    def _wanted(self, method: str, message: Any) -> None:
        if self._greeting is None:
            return
        able = (self._greeting.get("params") or {}).get("capabilities") or {}
        if method in (able.get("optOutNotificationMethods") or []):
            self.to.violate(f"{method} was opted out of", message)
        contract = self.to.contract(Role.NOTIFICATION, method)
        if contract and method in contract.experimental and not able.get("experimentalApi"):
            self.to.violate(f"{method} is experimental, and was not asked for", message)


def _is_answer(message: dict[str, Any]) -> bool:
    return "method" not in message and ("result" in message or "error" in message)
