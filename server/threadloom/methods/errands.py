"""What `command/exec` and `process/spawn` have in common: limits, variables, input, the size of a terminal."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from threadloom.exec.base import Fence, LaunchError, Order, Process
from threadloom.exec.errands import Errand, Stream, Tell
from threadloom.routes import Context
from threadloom_protocol.errors import InternalError, InvalidParams, InvalidRequest
from threadloom_protocol.spec import ServerNotification

SECONDS: Final = 10.0  # that a command gets unless its client says otherwise
CAP: Final = 1024 * 1024  # bytes of each stream that count unless its client says otherwise


class Name(NamedTuple):
    """An errand, as its client calls it."""

    family: str  # the method that starts it
    key: str

    def __str__(self) -> str:
        return f"{self.family} {self.key!r}"


def checked(method: str, params: Any) -> None:
    """Raise for what no command can be started with."""
    if not params.command:
        raise InvalidRequest("command must not be empty")
    if (params.timeout_ms or 0) < 0:
        raise InvalidParams(f"{method}: timeoutMs must not be negative, and is {params.timeout_ms}")
    if params.size is not None:
        if not params.tty:
            raise InvalidParams(f"{method}: a size needs `tty: true`")
        checked_size(method, params.size)


def checked_size(method: str, size: Any) -> None:
    """Raise for a terminal without a place to write."""
    if not size.rows or not size.cols:
        raise InvalidParams(f"{method}: rows and cols must be more than 0")


def order(params: Any, cwd: str, variables: Mapping[str, str], fence: Fence) -> Order:
    """The command, with the variables that the client sets and without those that it unsets."""
    merged = {**variables, **(params.env or {})}
    if params.tty:
        merged.setdefault("TERM", "xterm-256color")
    env = {name: value for name, value in merged.items() if value is not None}
    size = (params.size.rows, params.size.cols) if params.size is not None else (24, 80)
    return Order(params.command, cwd, env, fence, tty=params.tty, size=size, stdin=params.tty or params.stream_stdin)


def teller(ctx: Context, notification: ServerNotification[Any], **name: str) -> Tell:
    """Tells a client what its command prints, as fast as the client reads."""

    async def tell(stream: Stream, data: bytes, full: bool) -> None:
        await ctx.peer.room()
        text = base64.b64encode(data).decode()
        event = notification.params(**name, stream=stream, delta_base64=text, cap_reached=full)
        ctx.peer.publish(notification, event.to_json())

    return tell


async def started(ctx: Context, errand: Errand) -> None:
    """Start it, or tell the client why not."""
    try:
        await errand.start(ctx.errands.host)
    except LaunchError as fault:
        raise InternalError(f"the command could not be started: {fault}") from None


def unused(ctx: Context, name: Name) -> None:
    """Raise where something of that name runs for this client."""
    if ctx.errands.get(ctx.peer, name) is not None:
        raise InvalidRequest(f"{name} runs already")


async def found(ctx: Context, name: Name) -> tuple[Errand, Process]:
    """What runs under that name."""
    errand = ctx.errands.get(ctx.peer, name)
    process = await errand.process() if errand is not None else None
    if errand is None or process is None:
        raise InvalidRequest(f"no {name} runs")
    return errand, process


async def typed(ctx: Context, method: str, name: Name, params: Any) -> None:
    """Hand the client's input on, close it, or both."""
    if params.delta_base64 is None and not params.close_stdin:
        raise InvalidParams(f"{method} needs deltaBase64 or closeStdin")
    data = _decoded(params.delta_base64 or "")
    errand, process = await found(ctx, name)
    if not errand.order.stdin:
        raise InvalidRequest(f"{name} takes no input: it was started without streamStdin")
    try:
        if data:
            await process.write(data)
    except BrokenPipeError:
        raise InvalidRequest(f"{name} takes no more input") from None
    if params.close_stdin:
        await process.close_stdin()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as fault:  # of base64, or of a text that is not even ASCII
        raise InvalidParams(f"deltaBase64 is not base64: {fault}") from None


async def resized(ctx: Context, method: str, name: Name, size: Any) -> None:
    """Tell a terminal its new size."""
    checked_size(method, size)
    errand, process = await found(ctx, name)
    if not errand.order.tty:
        raise InvalidRequest(f"{name} has no terminal")
    process.resize(size.rows, size.cols)
