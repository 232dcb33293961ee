"""The first moments of a server on pipes: what is answered before it is loaded, and what is left to it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from tests.support.processes import THREADLOOM, environment

from threadloom.cli.opening import Opening, open_pipes
from threadloom.config import Settings
from threadloom_protocol.jsonrpc import BARE, TAGGED

HELLO = b'{"id":7,"method":"initialize","params":{"clientInfo":{"name":"me","version":"1"}}}'
NEXT = b'{"method":"initialized"}\n{"id":8,"meth'


class Pipes:
    """A client's side of two pipes."""

    def __init__(self) -> None:
        self._theirs, self.ours = os.pipe()
        self.answers, self._sink = os.pipe()
        os.set_blocking(self.answers, False)

    def opened(self, sent: bytes) -> Opening:
        """What a server makes of this."""
        os.write(self.ours, sent)
        return open_pipes(Settings(Path("/home")), self._theirs, self._sink)

    def heard(self) -> bytes:
        """What it has answered."""
        with suppress(BlockingIOError):
            return os.read(self.answers, 65536)
        return b""

    def close(self) -> None:
        """Let go of them."""
        for it in (self._theirs, self.ours, self.answers, self._sink):
            os.close(it)


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    made = Pipes()
    yield made
    made.close()


def test_a_handshake_that_waits_is_answered_and_the_rest_is_handed_on(pipes: Pipes) -> None:
    opening = pipes.opened(HELLO + b"\n" + NEXT)
    assert opening.client is not None
    assert (opening.client.name, opening.envelope, opening.read) == ("me", BARE, NEXT)
    answer = orjson.loads(pipes.heard())
    assert answer["id"] == 7
    assert answer["result"]["codexHome"] == "/home"


def test_it_is_answered_in_kind(pipes: Pipes) -> None:
    opening = pipes.opened(HELLO.replace(b'"id"', b'"jsonrpc":"2.0","id"') + b"\r\n")
    assert opening.envelope is TAGGED
    assert orjson.loads(pipes.heard())["jsonrpc"] == "2.0"


@pytest.mark.parametrize(
    "sent",
    [
        HELLO,  # its end is still to come
        HELLO.replace(b'"name":"me",', b"") + b"\n",
        HELLO.replace(b"initialize", b"thread/list") + b"\n",
        HELLO.replace(b'"id":7,', b"") + b"\n",
        b"[" + HELLO + b"]\n",
        b"not JSON\n" + HELLO + b"\n",
        b"\n" + HELLO + b"\n",
    ],
)
def test_whatever_is_unusual_is_left_as_it_came(sent: bytes, pipes: Pipes) -> None:
    assert pipes.opened(sent)[2:] == (sent, None, BARE)
    assert pipes.heard() == b""


def test_nothing_is_waited_for(pipes: Pipes) -> None:
    assert pipes.opened(b"")[2:] == (b"", None, BARE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_comes_right_after_the_answer_ends_it_politely(number: int, tmp_path: Path) -> None:
    words = [*THREADLOOM, "app-server"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(tmp_path), cwd=tmp_path
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HELLO + b"\n")
        server.stdin.flush()
        assert orjson.loads(server.stdout.readline())["id"] == 7
        server.send_signal(number)
        assert server.wait(20) == 0
