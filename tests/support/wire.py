"""A wire in the hands of a test: any bytes out, whatever comes in, with every message checked on the way."""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import Any

import anyio
import orjson

from threadloom_client import Transport

SECONDS = 20.0  # for a machine that is busy with something else

HELLO = {"clientInfo": {"name": "wire", "version": "1", "title": None}}


class Wire:
    """One raw connection."""

    def __init__(self, transport: Transport, good: str) -> None:
        self.transport = transport
        self._good = good  # a method that needs no params and answers at once
        self._frames: deque[Any] = deque()
        self._ids = count(1_000_000)  # away from those that tests choose

    async def send(self, *messages: Any) -> None:
        """Send messages in one go: bytes as they are, other values as JSON."""
        with anyio.fail_after(SECONDS):
            await self.transport.send([it if isinstance(it, bytes) else orjson.dumps(it) for it in messages])

    async def read(self, timeout: float = SECONDS) -> Any:
        """The next message, parsed."""
        with anyio.fail_after(timeout):
            while not self._frames:
                self._frames.extend(await self.transport.receive())
        return orjson.loads(self._frames.popleft())

    async def ask(self, method: str, params: Any = None, **rest: Any) -> Any:
        """Send a request and read the next message, which must be its answer."""
        identity = next(self._ids)
        await self.send({"id": identity, "method": method, "params": params, **rest})
        answer = await self.read()
        assert isinstance(answer, dict), answer
        assert answer.get("id") == identity, answer
        return answer

    async def initialize(self, *, tagged: bool = False, **capabilities: Any) -> Any:
        """Shake hands; the result."""
        tag = {"jsonrpc": "2.0"} if tagged else {}
        params = HELLO | ({"capabilities": capabilities} if capabilities else {})
        answer = await self.ask("initialize", params, **tag)
        await self.send({"method": "initialized", **tag})
        return answer["result"]

    async def is_alive(self) -> None:
        """The next thing the server says is the answer to a good request: nothing else was on its way."""
        answer = await self.ask(self._good)
        assert "result" in answer, answer
