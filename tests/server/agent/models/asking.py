"""Asking a model that a test has scripted, and what comes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
from hypothesis import HealthCheck, settings
from tests.support.counts import count
from tests.support.mock_model import MockModel, Reply, Script, chats, chunk, delta, mock_model, says, sse

from threadloom.agent.models import chat, responses
from threadloom.agent.models.provider import Provider
from threadloom.agent.models.remote import Remote
from threadloom.agent.models.sse import Splitter
from threadloom.agent.sampling import Item, Model, ModelEvent, Sampling, TextDelta

SECONDS = 30
WIRES = ("responses", "chat")
MANY = settings(max_examples=count(500), deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


def spoken(wire_api: str, *pieces: str) -> Reply:
    """An ordinary answer."""
    return chats(*pieces) if wire_api == "chat" else says(*pieces)


def piece(wire_api: str, text: str) -> bytes:
    """A piece of one."""
    return sse(chunk(content=text), names=False) if wire_api == "chat" else sse(delta(text))


def user(text: str) -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def sampling(*history: Item, **rest: Any) -> Sampling:
    asked: dict[str, Any] = {"model": "m", "effort": None, "instructions": [], "tools": []} | rest
    return Sampling(history=history or [user("hello")], **asked)


@asynccontextmanager
async def remote(url: str, *, sleeps: list[float] | None = None, **provider: Any) -> AsyncIterator[Remote]:
    """A model at that place; its waits are written down and not waited."""

    async def sleep(seconds: float) -> None:
        if sleeps is not None:
            sleeps.append(seconds)
        await anyio.lowlevel.checkpoint()

    given: dict[str, Any] = {"request_max_retries": 0, "stream_max_retries": 0} | provider
    model = Remote(Provider("mock", base_url=url, **given), sleep=sleep, chance=lambda: 0.5)
    try:
        await model.warm()
        with anyio.fail_after(SECONDS):
            yield model
    finally:
        await model.aclose()


@asynccontextmanager
async def scripted(
    *script: Script, rest: Script | None = None, **provider: Any
) -> AsyncIterator[tuple[MockModel, Remote]]:
    """A server with a script, and a model that asks it."""
    async with mock_model(*script, rest=rest) as server, remote(server.url, **provider) as model:
        yield server, model


async def ask(model: Model, asked: Sampling | None = None) -> list[ModelEvent]:
    """All that the model says."""
    events: list[ModelEvent] = []
    async with aclosing(model.stream(asked or sampling())) as batches:
        async for batch in batches:
            events += batch
    return events


def merged(events: Iterable[ModelEvent]) -> list[ModelEvent]:
    """The same with neighbouring pieces of text as one: how they are cut is the server's business."""
    result: list[ModelEvent] = []
    for event in events:
        if isinstance(event, TextDelta) and result and isinstance(result[-1], TextDelta):
            result[-1] = TextDelta(result[-1].text + event.text)
        else:
            result.append(event)
    return result


def decoded(
    pieces: Iterable[bytes], *, wire_api: str = "responses", framed: bool = True, done: bool = True
) -> list[ModelEvent]:
    """What a decoder makes of an answer that comes in these pieces."""
    decoder = chat.Decoder() if wire_api == "chat" else responses.Decoder()
    splitter, batch = Splitter(), list[ModelEvent]()
    for piece in pieces:
        for name, data in splitter.feed(piece):
            if not decoder.done:
                decoder.take(name, data, batch)
    if not decoder.done:
        for name, data in splitter.end():
            decoder.take(name, data, batch)
        if not decoder.done:
            decoder.end(framed, batch)
    assert decoder.done is done
    return batch


def cut(data: bytes, places: Sequence[int]) -> Iterator[bytes]:
    """The same bytes in pieces."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return (data[begin:end] for begin, end in pairwise(edges))
