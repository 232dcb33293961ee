"""What a server that listens says when it starts: where it is, how to get there, and a link for a browser."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.support import processes
from tests.support.processes import (
    ROOT,
    START_SECONDS,
    THREADLOOM,
    bound_by_modes,
    command,
    environment,
    listening,
    server_home,
)
from tests.support.sockets import dialled, request

from threadloom.cli.listen import announced
from threadloom.transports.auth import Gate
from threadloom.transports.listener import Address
from threadloom_client import connect
from threadloom_protocol.v2 import thread

TOKEN = "a-token-that-nobody-guesses-0123456789"
OPTIONS = ("--ws-auth", "capability-token", "--ws-token-file")


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    return str(path)


async def test_it_says_how_to_connect(tmp_path: Path) -> None:
    for listen in ("ws://127.0.0.1:0", f"unix://{tmp_path / 's'}"):
        async with listening(listen, tmp_path) as server:
            async with connect(server.url):  # by then it has said all that it says
                pass
            lines = server.log.text.splitlines()
            program = "threadloom" if shutil.which("threadloom") else THREADLOOM[0]
            assert lines == [f"listening on {server.url}", f"connect: {program} chat --connect {server.url}"]


def hint() -> str:
    """What a server on an address says of how to get there."""
    _, how = announced("ws://here", Gate())
    return how


def test_what_it_says_to_type_can_be_typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for started, typed in ((".venv/bin/threadloom", ".venv/bin/threadloom"), ("-c", "threadloom")):
        monkeypatch.setattr("sys.argv", [started])
        assert hint() == f"connect: {typed} chat --connect ws://here"
    (tmp_path / "threadloom").write_text("#!/bin/sh\n")
    (tmp_path / "threadloom").chmod(0o755)
    monkeypatch.setattr("sys.argv", [".venv/bin/threadloom"])
    assert hint() == "connect: threadloom chat --connect ws://here"


def refused(room: Path, *words: str) -> tuple[int, str]:
    """How a server that cannot start ends, and what it says."""
    done = subprocess.run(
        command(*words), env=environment(room), cwd=room, capture_output=True, text=True, timeout=START_SECONDS
    )
    return done.returncode, done.stderr


async def test_an_address_that_is_taken_is_told_with_a_way_out(tmp_path: Path) -> None:
    async with listening("ws://127.0.0.1:0", tmp_path) as server:
        code, said = await anyio.to_thread.run_sync(refused, tmp_path, "--listen", server.url)
    assert (code, said.count("\n")) == (1, 2)
    assert re.search(
        f"cannot listen on {server.url}: .*in use.*\nStop what listens there, or choose another port", said
    )


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon"])
def test_a_drain_that_is_no_time_is_refused(tmp_path: Path, seconds: str) -> None:
    code, said = refused(tmp_path, f"--drain={seconds}", "--listen", "off")
    assert code == 2
    assert f"--drain: takes a number from 0 on, not '{seconds}'" in said


def test_a_home_that_cannot_be_read_is_told_before_it_listens(tmp_path: Path) -> None:
    home = server_home(tmp_path)
    home.mkdir()
    home.chmod(0o300)
    done = subprocess.run(
        command("--listen", "ws://127.0.0.1:0"),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        preexec_fn=bound_by_modes,
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"threadloom: {home} cannot be the home: it cannot be read\nSet THREADLOOM_HOME to another folder.\n"
    )


async def test_a_browser_gets_in_by_the_link_it_prints(tmp_path: Path, token_file: str) -> None:
    async with listening("ws://127.0.0.1:0", tmp_path, *OPTIONS, token_file) as server:
        page = server.url.replace("ws", "http", 1)
        address = Address(server.url, int(server.url.rpartition(":")[2]))
        async with connect(server.url, token=TOKEN):
            pass
        [code] = re.findall(rf"^browser: {page}/\?link=(\S+) ", server.log.text, re.MULTILINE)
        async with dialled(address) as raw:
            await raw.send(request(target=f"/?link={code}"))
            head = await raw.head()
        assert head.status == 303
        cookie = head.headers["set-cookie"].partition(";")[0]
        async with dialled(address) as raw:
            assert (await raw.upgrade(("Cookie", cookie), ("Origin", page))).status == 101
        async with dialled(address) as raw:
            await raw.send(request(target=f"/?link={code}"))
            assert (await raw.head()).status == 403
        said = server.log.text
    assert said.count(code) == 1
    assert TOKEN not in said
    assert cookie.partition("=")[2] not in said


async def test_no_browser_reaches_a_socket_file(tmp_path: Path, token_file: str) -> None:
    async with listening(f"unix://{tmp_path / 's'}", tmp_path, *OPTIONS, token_file) as server:
        async with connect(server.url, token=TOKEN):
            pass
        assert "link=" not in server.log.text


async def test_make_run_is_on_the_offline_model_whatever_keys_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = await anyio.run_process(["make", "--no-print-directory", "--dry-run", "run"], cwd=ROOT)
    _, _, listen, _, *options = shlex.split(planned.stdout.decode().splitlines()[-1])
    assert listen == "--listen"
    (tmp_path / "threadloom").mkdir()
    (tmp_path / "threadloom" / "config.toml").write_text('model_provider = "openai"\nmodel = "gpt-5-codex"\n')
    with_key = environment(tmp_path) | {"OPENAI_API_KEY": "not-a-real-one"}
    monkeypatch.setattr(processes, "environment", lambda room: with_key)
    async with listening("ws://127.0.0.1:0", tmp_path, *options) as server, connect(server.url) as client:
        started = await client.request(thread.START, thread.ThreadStartParams(ephemeral=True))
    assert started.model_provider == "rehearsal"
