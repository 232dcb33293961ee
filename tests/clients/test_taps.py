"""What stands between a foreign client and our server passes everything on, and lets no lie through unseen."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import PIPE, Popen

import anyio
import orjson
import pytest
from anyio.abc import SocketStream
from tests.clients import recorded as records
from tests.clients.recorded import SHIM, Recorded
from tests.clients.relay import Side, relayed
from tests.support.conformance import Conformance
from tests.support.contract import Contract
from websockets.frames import Frame, Opcode

SECONDS = 20

HONEST = b'{"id":1,"result":{"userAgent":"x/0.166.0 (y) z (threadloom 1)","codexHome":"/h","platformFamily":"unix",'
HONEST += b'"platformOs":"linux","server":{"name":"threadloom","version":"1"},"sandbox":{"kind":"none"}}}'

LIAR = f"""\
import sys
for line in sys.stdin:
    print({HONEST.decode()!r}, flush=True)
    print('{{"method":"turn/completed","params":{{}}}}', flush=True)
print("bye", file=sys.stderr)
sys.exit(7)
"""


@pytest.fixture
def apart(conformance: Conformance) -> Conformance:
    """The contracts, with what is found fault with kept from the session's."""
    contracts: list[Contract] = list(conformance.contracts)
    return Conformance(lambda: contracts, lambda: conformance.codex)


def shim(folder: Path, program: str) -> Popen[bytes]:
    """A server behind the shim."""
    words = [sys.executable, "-I", str(SHIM), str(folder), sys.executable, "-c", program]
    return Popen(words, stdin=PIPE, stdout=PIPE, stderr=PIPE)


def test_the_shim_passes_lines_words_of_complaint_and_the_exit_code(tmp_path: Path) -> None:
    with shim(tmp_path, LIAR) as process:
        said, complained = process.communicate(b'{"id":1,"method":"initialize","params":{}}\n', timeout=SECONDS)
    assert said.splitlines()[0] == HONEST
    assert (complained, process.returncode) == (b"bye\n", 7)
    (record,) = (path for path in tmp_path.iterdir() if not path.suffix)
    assert [line[:1] for line in record.read_bytes().splitlines()] == [b">", b"<", b"<"]
    assert record.with_suffix(".code").read_text() == "7"
    assert record.with_suffix(".err").read_bytes() == b"bye\n"


def test_the_shim_passes_signals(tmp_path: Path) -> None:
    with shim(tmp_path, "import signal; print('ready', flush=True); signal.pause()") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        process.wait(SECONDS)
    (code,) = tmp_path.glob("*.code")
    assert code.read_text() == "-15"


def test_lines_as_long_as_pictures_come_through_whole(tmp_path: Path) -> None:
    line = b"x" * 20_000_000 + b"\n"
    with shim(tmp_path, "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())") as process:
        said, _ = process.communicate(line, timeout=SECONDS)
    assert said == line
    (record,) = (path for path in tmp_path.iterdir() if not path.suffix)
    assert record.read_bytes() == b">" + line + b"<" + line


def test_a_lie_on_a_pipe_is_found(tmp_path: Path, apart: Conformance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "THREADLOOM", [sys.executable, "-c", LIAR])
    recorded = Recorded(tmp_path)
    with Popen([recorded.executable], stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        process.communicate(b'{"id":1,"method":"initialize","params":{}}\n', timeout=SECONDS)
    recorded.judge(apart)
    assert recorded.codes() == [7]
    assert apart.messages == 2
    assert "turn/completed" in apart.violations[0]
    assert all("turn/completed" in it for it in apart.violations)


def frames(*texts: bytes, masked: bool) -> bytes:
    """Messages as frames, each cut in two, with a ping in between."""
    data = b""
    for text in texts:
        half = len(text) // 2
        for frame in (
            Frame(Opcode.TEXT, text[:half], fin=False),
            Frame(Opcode.PING, b"?"),
            Frame(Opcode.CONT, text[half:]),
        ):
            data += frame.serialize(mask=masked)
    return data


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_messages_are_heard_however_their_bytes_are_cut(masked: bool, size: int) -> None:
    texts = [b"one", b"", "zwölf".encode(), b"x" * 70_000]
    head = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" if masked else b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n"
    heard: list[bytes] = []
    side = Side(heard.append, masked=masked)
    data = head + frames(*texts, masked=masked)
    for at in range(0, len(data), size):
        side.feed(data[at : at + size])
    assert heard == texts


async def test_a_lie_on_a_socket_is_found_and_still_delivered(apart: Conformance) -> None:
    lie = b'{"method":"turn/completed","params":{}}'

    async def server(stream: SocketStream) -> None:
        async with stream:
            assert b"Host: 127.0.0.1:" in await stream.receive()
            await stream.send(b"HTTP/1.1 101 Switching\r\n\r\n" + frames(HONEST, lie, masked=False))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, server)
        async with relayed(f"ws://127.0.0.1:{port}", apart) as relay:
            host = relay.url.removeprefix("ws://")
            async with await anyio.connect_tcp("127.0.0.1", int(host.partition(":")[2])) as client:
                hello = orjson.dumps({"id": 1, "method": "initialize", "params": {}})
                await client.send(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() + frames(hello, masked=True))
                got = b""
                with anyio.fail_after(SECONDS):
                    while b'"params":{}}' not in got:
                        got += await client.receive()
        tasks.cancel_scope.cancel()
    assert apart.messages == 2
    assert apart.violations
    assert all("turn/completed" in it for it in apart.violations)
