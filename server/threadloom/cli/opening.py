"""How `threadloom app-server` begins: what cannot wait is done before the rest of the server is loaded.

A client that starts a server shows nothing before its handshake is answered, and for that one answer little is needed.
Only a plain `initialize` that is on the pipe by now is answered here. Whatever else has come is handed on as it came,
and where anything is unusual, nothing has happened yet.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
from argparse import Namespace
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from threadloom.config import Settings, foreign, home, override
from threadloom.exec.choice import forced, pick
from threadloom.handshake import Client, greet, read
from threadloom_protocol.errors import RpcError
from threadloom_protocol.jsonrpc import BARE, TAGGED, Envelope, Request, classify

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CHUNK: Final = 64 * 1024

heard: Final[deque[int]] = deque()  # signals that came before there was a server to stop


class Opening(NamedTuple):
    """The pipes to the client, and what has happened on them."""

    source: int
    sink: int
    read: bytes  # and not taken yet
    client: Client | None = None  # whose handshake is answered
    envelope: Envelope = BARE


def run(arguments: Namespace) -> int:
    """Serve until the peer goes or a signal comes; the exit code."""
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: heard.append(number))
    try:
        settings = _settings(arguments)
    except (ValueError, OSError) as fault:
        return fail(str(fault), 2)
    if (why := _impossible(settings.home)) is not None:
        return fail(f"{settings.home} cannot be the home: {why}\nSet THREADLOOM_HOME to another folder.", 1)
    opening = open_pipes(settings, *claim_stdio()) if arguments.listen in ("stdio://", "stdio") else None
    from threadloom.cli.serve import serve  # late: it takes most of a start

    code = serve(arguments, settings, opening)
    for number in SIGNALS:  # the interpreter takes every handler away on its way out, and a late signal would kill it
        signal.signal(number, signal.SIG_IGN)
    return code


def fail(text: str, code: int) -> int:
    """Say why nothing comes of it."""
    print(f"threadloom: {text}", file=sys.stderr)  # noqa: T201 (a person reads this)
    return code


def _settings(arguments: Namespace) -> Settings:
    overrides = dict(map(override, arguments.config))
    for names, on in ((arguments.enable, True), (arguments.disable, False)):
        overrides |= {f"features.{name}": on for name in names}
    listens = not arguments.listen.startswith("stdio")
    settings = Settings(home(), overrides, arguments.drain, foreign(), arguments.strict_config, takes_up=listens)
    if settings.strict:
        from threadloom.config.load import check  # late: whoever does not ask for it does not wait for it

        check(settings)
    return settings


def _impossible(folder: Path) -> str | None:
    """Why there can be no such folder. One that is only read from still serves those who read."""
    if os.path.isdir(folder):
        return None if os.access(folder, os.R_OK | os.X_OK) else "it cannot be read"
    nearest = next(it for it in (folder, *folder.parents) if os.path.lexists(it))
    if not os.path.isdir(nearest):
        return f"{nearest} is no folder"
    return None if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} cannot be written to"


def open_pipes(settings: Settings, source: int, sink: int) -> Opening:
    """Answer the handshake, if it is there."""
    come = _waiting(source)
    line, end, rest = come.partition(b"\n")
    asked = _handshake(line) if end else None
    if asked is None:
        return Opening(source, sink, come)
    request, client, envelope = asked
    answer = orjson.dumps(greet(client, settings.home, pick(forced())[0]))
    try:
        os.write(sink, envelope.result(request.id, answer) + b"\n")  # the first into this pipe: there is room for it
    except OSError:
        return Opening(source, sink, come)
    return Opening(source, sink, rest, client, envelope)


def _waiting(source: int) -> bytes:
    """What has come so far."""
    kind = os.fstat(source).st_mode
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)) or not select.select([source], [], [], 0)[0]:
        return b""
    try:
        return os.read(source, CHUNK)
    except OSError:
        return b""


def _handshake(line: bytes) -> tuple[Request, Client, Envelope] | None:
    try:
        value = orjson.loads(line)
        request = classify(value)
        if isinstance(request, Request) and request.method == "initialize":
            return request, read(request.params), TAGGED if "jsonrpc" in value else BARE
    except (orjson.JSONDecodeError, RpcError):  # it gets its error from whoever gets every line
        pass
    return None


def claim_stdio() -> tuple[int, int]:
    """Keep the protocol's two pipes to ourselves: whatever else reads stdin finds nothing, and prints go to stderr."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink
