"""A model on loopback that says what a test tells it to: HTTP/1.1 by hand, so that it can be rude in every way."""

from __future__ import annotations

import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import anyio
import orjson
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSListener

MOST: Final = 64 << 20  # bytes of a request's head or body


@dataclass(frozen=True)
class Request:
    """What came in."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]


class Hold:
    """A place in an answer where the model stops until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.open = anyio.Event()


class Hang:
    """The model sends nothing more; the connection stays until the client leaves."""


class Drop:
    """The model's server breaks the connection here."""


Step = bytes | Hold | Hang | Drop


@dataclass(frozen=True)
class Reply:
    """An answer: `body` goes out step by step, each in a write and (if chunked) a chunk of its own.

    `close` is what HTTP/1.0 does: no framing, the body ends with the connection. `first` comes before the head.
    """

    body: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    framing: Literal["chunked", "length", "close"] = "chunked"
    keep: bool = True  # the connection, for the next request
    first: Sequence[Step] = ()

    def head(self) -> bytes:
        """The head, as it goes out."""
        version = "1.0" if self.framing == "close" else "1.1"
        headers = dict(self.headers)
        if self.framing == "chunked":
            headers["transfer-encoding"] = "chunked"
        elif self.framing == "length":
            headers["content-length"] = str(sum(len(step) for step in self.body if isinstance(step, bytes)))
        if not self.keep:
            headers["connection"] = "close"
        lines = [f"HTTP/{version} {self.status} Spoken", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


Script = Reply | Callable[[Request], Reply]


class MockModel:
    """The server: what it was asked, and who has left."""

    def __init__(self, script: Iterable[Script], *, rest: Script | None = None, listing: Reply | None = None) -> None:
        self.url = ""
        self.requests: list[Request] = []  # all of them
        self.connections = 0
        self.ended = 0  # connections
        self.left: list[int] = []  # requests whose client was gone before the answer was whole
        self._script = deque(script)
        self._rest = rest  # what comes when the script is at its end
        self._listing = listing  # of GET …/models, which takes nothing from the script
        self._changed = anyio.Event()

    @property
    def posts(self) -> list[Request]:
        """The samplings."""
        return [request for request in self.requests if request.method == "POST"]

    @property
    def bodies(self) -> list[Any]:
        """What was posted."""
        return [request.json for request in self.posts]

    def add(self, *script: Script) -> None:
        """More to say."""
        self._script.extend(script)

    async def until(self, condition: Callable[[MockModel], bool], *, seconds: float = 5) -> None:
        """Wait for something to have happened here."""
        with anyio.fail_after(seconds):
            while not condition(self):
                await self._changed.wait()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def serve(self, stream: ByteStream) -> None:
        """One connection, request by request."""
        self.connections += 1
        async with stream:
            await self._serve(stream, BufferedByteReceiveStream(stream))
        self.ended += 1
        self._tell()

    async def _serve(self, stream: ByteStream, reader: BufferedByteReceiveStream) -> None:
        while (request := await _request(reader)) is not None:
            number = len(self.requests)
            self.requests.append(request)
            self._tell()
            try:
                if not await self._answer(stream, reader, self._next(request)):
                    return
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError, ssl.SSLError):
                self.left.append(number)
                self._tell()
                return

    def _next(self, request: Request) -> Reply:
        if request.method == "GET" and request.path.endswith("/models"):
            return self._listing or wrong(404, "no such page")
        script = self._script.popleft() if self._script else self._rest
        if script is None:
            return wrong(500, "the script of this test is at its end")
        return script(request) if callable(script) else script

    async def _answer(self, stream: ByteStream, reader: BufferedByteReceiveStream, reply: Reply) -> bool:
        """Whether the connection may be used again."""
        steps = [*reply.first, reply.head(), *(_framed(step, reply) for step in reply.body)]
        for step in steps:
            match step:
                case bytes():
                    await stream.send(step)
                case Hold():
                    step.reached.set()
                    await _open_or_gone(step.open, reader)
                case Hang():
                    await reader.receive(1)  # nothing comes but the end
                case Drop():
                    await anyio.aclose_forcefully(stream)
                    return False
        if reply.framing == "chunked":
            await stream.send(b"0\r\n\r\n")
        return reply.keep and reply.framing != "close"


def _framed(step: Step, reply: Reply) -> Step:
    return b"%x\r\n%b\r\n" % (len(step), step) if isinstance(step, bytes) and reply.framing == "chunked" else step


async def _open_or_gone(opened: anyio.Event, reader: BufferedByteReceiveStream) -> None:
    """Until the gate is open; raises where the client leaves before."""

    async def watch() -> None:
        await reader.receive(1)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await opened.wait()
            tasks.cancel_scope.cancel()
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


async def _request(reader: BufferedByteReceiveStream) -> Request | None:
    try:
        head = await reader.receive_until(b"\r\n\r\n", MOST)
    except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError, ssl.SSLError):
        return None  # it is a client's right to leave between two requests
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.receive_exactly(size) if (size := int(headers.get("content-length", 0))) else b""
    return Request(method, target, headers, body)


@asynccontextmanager
async def mock_model(
    *script: Script, rest: Script | None = None, listing: Reply | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[MockModel]:
    """A model that answers its requests in the order of the script."""
    model = MockModel(script, rest=rest, listing=listing)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    model.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1"
    served: Any = TLSListener(listener, tls, standard_compatible=False) if tls else listener
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(served.serve, model.serve)
        yield model
        tasks.cancel_scope.cancel()


# ── what a model says ─────────────────────────────────────────────────────────────────────────────────────────────────


def sse(*events: Any, newline: bytes = b"\n", names: bool = True) -> bytes:
    """Events as a stream carries them; bytes go as they are, as the data of an event."""
    blocks = []
    for event in events:
        data = event if isinstance(event, bytes) else orjson.dumps(event)
        name = event.get("type") if names and isinstance(event, dict) else None
        lines = [*([b"event: " + name.encode()] if name else []), b"data: " + data]
        blocks.append(newline.join(lines) + newline * 2)
    return b"".join(blocks)


def wrong(status: int, message: str, *, code: str | None = None, **headers: str) -> Reply:
    """An error of the model's server, in the shape that OpenAI gives it."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = orjson.dumps({"error": error})
    return Reply([body], status, {"content-type": "application/json", **named}, framing="length")


def usage(spent: int = 10, made: int = 3, *, cached: int = 0, thought: int = 0) -> dict[str, Any]:
    """Tokens, as a response counts them."""
    return {
        "input_tokens": spent,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": spent + made,
    }


def completed(**rest: Any) -> dict[str, Any]:
    """The last event of a response."""
    return {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": usage()} | rest}


def delta(text: str, item_id: str = "msg_1", index: int = 0) -> dict[str, Any]:
    """A piece of a message."""
    where = {"item_id": item_id, "output_index": index, "content_index": 0}
    return {"type": "response.output_text.delta", **where, "delta": text}


def message(text: str, item_id: str = "msg_1", index: int = 0) -> dict[str, Any]:
    """A whole message."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": content}
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def call(name: str, arguments: Any, call_id: str = "call_1", index: int = 0) -> dict[str, Any]:
    """A whole call of a tool."""
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "status": "completed"}
    item["arguments"] = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def failed(message: str, code: str = "server_error") -> dict[str, Any]:
    """The response ends in a failure."""
    response = {"id": "resp_1", "status": "failed", "error": {"code": code, "message": message}}
    return {"type": "response.failed", "response": response}


def says(*pieces: str) -> Reply:
    """An ordinary answer over the Responses API."""
    text = "".join(pieces)
    return Reply([sse(*map(delta, pieces)), sse(message(text), completed())])


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A piece of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def calling(name: str, arguments: str, call_id: str = "call_1", index: int = 0) -> dict[str, Any]:
    """A whole call of a tool in a piece of a chat completion."""
    function = {"name": name, "arguments": arguments}
    return chunk(tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function}])


def chats(*pieces: str) -> Reply:
    """An ordinary answer over Chat Completions."""
    counted = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    chunks = [chunk(role="assistant", content=""), *(chunk(content=piece) for piece in pieces), chunk("stop")]
    last = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": counted}
    return Reply([sse(*chunks, last, b"[DONE]", names=False)])
