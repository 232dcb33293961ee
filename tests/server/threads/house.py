"""A server in this process, with its threads within reach: for what no client can bring about yet."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from tests.support.conformance import Conformance
from tests.support.places import MemoryPlace, running
from tests.support.talk import SECONDS, Talk, talking
from tests.support.wire import Wire

from threadloom.agent.base import Batch, TurnInput
from threadloom.threads.birth import Birth
from threadloom.threads.manager import Manager
from threadloom.threads.running import Running
from threadloom.threads.thread import Thread
from threadloom.transports.memory import pair
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.thread import ThreadStartParams
from threadloom_protocol.v2.values.content import TextUserInput


def words(text: str) -> list[Any]:
    """A person's words, as a thread takes them."""
    return [TextUserInput(text=text)]


class Stubborn:
    """An agent that does not stop when it is told to."""

    def __init__(self) -> None:
        self.let_go = anyio.Event()

    async def run(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """Nothing, until it is let go."""
        with anyio.CancelScope(shield=True):
            await self.let_go.wait()
        return
        yield


class House:
    """One server."""

    def __init__(self, place: MemoryPlace) -> None:
        self.place = place

    @property
    def threads(self) -> Manager:
        """All of them."""
        return self.place.app.threads

    @property
    def settings(self) -> ThreadSettings:
        """What threads start from."""
        return self.threads.defaults.settings(ThreadStartParams())

    def born(self, owner: str | None = None, **birth: Any) -> str:
        """A thread, announced; its id."""
        thread = self.threads.start(Birth(settings=self.settings, owner=owner, **birth))
        thread.announce()
        return thread.id

    def born_with(self, settings: ThreadSettings) -> str:
        """A thread with settings of its own, announced; its id."""
        thread = self.threads.start(Birth(settings=settings))
        thread.announce()
        return thread.id

    def thread(self, thread_id: str) -> Thread:
        """One of them."""
        return self.threads.get(thread_id)

    def speak(self, thread_id: str, text: str) -> Running:
        """Begin a turn."""
        running = self.thread(thread_id).start_turn(words(text))
        running.show()
        return running

    async def said(self, thread_id: str, text: str) -> None:
        """A whole turn."""
        with anyio.fail_after(SECONDS):
            await self.speak(thread_id, text).done.wait()

    @asynccontextmanager
    async def talking(self) -> AsyncIterator[Talk]:
        """A client."""
        async with talking(self.place) as talk:
            yield talk

    @asynccontextmanager
    async def stalling(self) -> AsyncIterator[Talk]:
        """A client behind a pipe that is soon full: what it does not read, the server cannot send."""
        ours, theirs = pair(buffer=8)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.place.app.serve, theirs)
            wire = Wire(ours, "thread/loaded/list")
            await wire.initialize(experimentalApi=True)
            yield Talk(wire)
            await ours.aclose()


@asynccontextmanager
async def house(home: Path, conformance: Conformance) -> AsyncIterator[House]:
    """A server with nothing in it."""
    async with running("memory", home, conformance) as place:
        assert isinstance(place, MemoryPlace)
        yield House(place)
