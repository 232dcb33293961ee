"""A conversation in plain JSON: requests, answers and notifications, all kept in the order in which they came."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.support.places import Place
from tests.support.wire import Wire

from threadloom_client import Transport

SECONDS = 20.0  # more than anything here takes on a machine that is busy with something else

Message = dict[str, Any]


def timeless(text: str) -> str:
    """What was told of an agent, whatever time it took."""
    return re.sub(r" in \d+s", " in N s", text)


class Refusal(Exception):
    """The server said no."""

    def __init__(self, error: Message) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Talk:
    """One client. Nothing is read but while it waits for something."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.log: list[Message] = []  # all that came: an answer has `id`, a notification `method`
        self._next = 0
        self._at = 0  # how much of the log `until` has gone through

    @property
    def transport(self) -> Transport:
        """What it runs over."""
        return self.wire.transport

    def forget(self) -> None:
        """Begin a new page."""
        self.log, self._at = [], 0

    async def read(self) -> Message:
        """The next message, whatever it is."""
        message: Message = await self.wire.read(SECONDS)
        self.log.append(message)
        return message

    async def send(self, method: str, params: Message) -> int:
        """Send a request, and do not wait."""
        self._next += 1
        await self.wire.send({"id": self._next, "method": method, "params": params})
        return self._next

    async def answer(self, identity: int) -> Any:
        """The result of a request; raises `Refusal`."""
        message = next((it for it in self.log if it.get("id") == identity), None)
        while message is None:
            found = await self.read()
            message = found if found.get("id") == identity else None
        if "error" in message:
            raise Refusal(message["error"])
        return message["result"]

    async def ask(self, method: str, params: Message | None = None, /, **more: Any) -> Any:
        """Send a request and wait for its result; raises `Refusal`."""
        return await self.answer(await self.send(method, (params or {}) | more))

    async def refused(self, method: str, /, **params: Any) -> Refusal:
        """Send a request that must be refused; the refusal."""
        try:
            result = await self.ask(method, params)
        except Refusal as refusal:
            return refusal
        raise AssertionError(f"{method} was answered with {result}")

    async def until(self, method: str, /, **members: Any) -> Message:
        """The params of the next notification of a method with these members, behind the last one found so."""
        while True:
            if self._at == len(self.log):
                await self.read()
            message = self.log[self._at]
            self._at += 1
            if fits(message, method, members):
                return dict(message["params"])

    async def question(self, /, **members: Any) -> Message:
        """The next question of the server whose params have these members, as it came."""
        while True:
            if self._at == len(self.log):
                await self.read()
            message = self.log[self._at]
            self._at += 1
            if "id" in message and fits(message, message.get("method", ""), members):
                return message

    async def reply(self, question: Message, result: Any) -> None:
        """Answer a question."""
        await self.wire.send({"id": question["id"], "result": result})

    async def decide(self, question: Message, decision: Any) -> None:
        """Answer a question about something that the agent wants to do."""
        await self.reply(question, {"decision": decision})

    async def start(self, **params: Any) -> Message:
        """A new thread, announced."""
        answer = await self.ask("thread/start", params)
        await self.until("thread/started")
        return dict(answer["thread"])

    async def begin(self, thread_id: str, text: str, **params: Any) -> str:
        """Start a turn; its id."""
        answer = await self.ask("turn/start", {"threadId": thread_id, "input": said(text), **params})
        return str(answer["turn"]["id"])

    async def turn(self, thread_id: str, text: str, **params: Any) -> Message:
        """A whole turn: as `turn/completed` has it."""
        turn_id = await self.begin(thread_id, text, **params)
        while True:
            ended = await self.until("turn/completed", threadId=thread_id)
            if ended["turn"]["id"] == turn_id:
                return dict(ended["turn"])

    def heard(self, *methods: str, since: int = 0, thread: str | None = None) -> list[Message]:
        """The notifications so far, of these methods or of all, with their params."""
        return [
            it
            for it in self.log[since:]
            if "method" in it
            and (not methods or it["method"] in methods)
            and (thread is None or of_thread(it) == thread)
        ]


def of_thread(message: Message) -> str | None:
    """The thread that a notification is about."""
    params = message["params"]
    return params.get("threadId") or params.get("thread", {}).get("id")


def fits(message: Message, method: str, members: Message) -> bool:
    """Whether this is such a notification."""
    if message.get("method") != method:
        return False
    params = message["params"]
    return all(params.get(name) == value for name, value in members.items())


def said(text: str) -> list[Message]:
    """A person's words."""
    return [{"type": "text", "text": text, "text_elements": []}]


def story(messages: Sequence[Message]) -> list[str]:
    """Notifications in short, deltas of a row as one: `method`, and the type of the item or status."""
    return list(_squeezed(_brief(it) for it in messages))


def _brief(message: Message) -> str:
    if "method" not in message:
        return "answer"
    params = message["params"]
    about = params.get("item", {}).get("type") or params.get("status", {}).get("type")
    return f"{message['method']} {about}" if about else str(message["method"])


def _squeezed(lines: Iterator[str]) -> Iterator[str]:
    last = ""
    for line in lines:
        if line != last or not line.endswith("/delta"):
            yield line
        last = line


def text_of(turn: Message) -> str:
    """What the agent said in a turn, all of it."""
    return "".join(it["text"] for it in turn["items"] if it["type"] == "agentMessage")


def streamed(messages: Sequence[Message]) -> str:
    """The text of the deltas among these."""
    return "".join(it["params"]["delta"] for it in messages if it.get("method") == "item/agentMessage/delta")


@asynccontextmanager
async def talking(place: Place, *, experimental: bool = True, **capabilities: Any) -> AsyncIterator[Talk]:
    """A client that has shaken hands, and leaves in peace."""
    async with place.wire(experimentalApi=experimental, **capabilities) as wire:
        yield Talk(wire)
