"""Commands and processes that clients run themselves: to their end, as they print, and no longer than they listen."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.places import Place
from tests.support.talk import SECONDS, Message, Talk, talking

EXEC = "command/exec"
OPEN = {"type": "dangerFullAccess"}
# No command here depends on a fence unless a test says so; those are in test_fence.
SHELL = ("/bin/sh", "-c")


def shell(script: str, **more: Any) -> Message:
    return {"command": [*SHELL, script], "sandboxPolicy": OPEN, **more}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def printed(messages: list[Message], stream: str = "stdout") -> str:
    pieces = [it["params"]["deltaBase64"] for it in messages if it["params"]["stream"] == stream]
    return b"".join(map(base64.b64decode, pieces)).decode()


async def until_printed(talk: Talk, text: str, **name: str) -> None:
    """Read on until a command has printed that."""
    method = "command/exec/outputDelta" if "processId" in name else "process/outputDelta"
    heard: list[Message] = []
    while text not in printed(heard):
        heard.append({"params": await talk.until(method, **name)})


async def gone(pid: int) -> None:
    """Return once nothing of a process is left."""
    with anyio.fail_after(SECONDS):
        while os.path.exists(f"/proc/{pid}"):  # noqa: ASYNC110, ASYNC240 - there is no event for somebody else's child
            await anyio.sleep(0.01)


# ── to the end ────────────────────────────────────────────────────────────────────────────────────────────────────────


ENDS: list[tuple[str, Message, tuple[int, str, str]]] = [
    ("both streams and the code", shell("echo out; echo err >&2; exit 3"), (3, "out\n", "err\n")),
    ("a signal counts from 128", shell("kill -9 $$"), (137, "", "")),
    ("a timeout is 124, and what came before counts", shell("echo hi; sleep 60", timeoutMs=300), (124, "hi\n", "")),
    ("no time at all", shell("sleep 60", timeoutMs=0), (124, "", "")),
    ("there is nothing to read", shell("cat"), (0, "", "")),
    ("a cap for each stream", shell("echo 1234567; echo abcdefg >&2", outputBytesCap=5), (0, "12345", "abcde")),
    ("a cap of nothing", shell("echo 1234567", outputBytesCap=0), (0, "", "")),
    ("a variable set and one unset", shell("echo $A-$HOME", env={"A": "b", "HOME": None}), (0, "b-\n", "")),
    ("what is no text", shell(r"printf '\377ok'"), (0, "\ufffdok", "")),
    ("what it leaves behind is not waited for", shell("sleep 60 & echo up"), (0, "up\n", "")),
]


@pytest.mark.parametrize(("params", "end"), [it[1:] for it in ENDS], ids=[it[0] for it in ENDS])
async def test_a_command_runs_to_its_end(talk: Talk, params: Message, end: tuple[int, str, str]) -> None:
    answer = await talk.ask(EXEC, params)
    assert (answer["exitCode"], answer["stdout"], answer["stderr"]) == end


async def test_a_command_runs_where_it_is_told(talk: Talk, tmp_path: Path) -> None:
    assert (await talk.ask(EXEC, shell("pwd", cwd=str(tmp_path))))["stdout"].strip() == str(tmp_path)


async def test_output_is_capped_unless_a_client_says_otherwise(talk: Talk) -> None:
    script = "head -c 1500000 /dev/zero | tr '\\0' x"
    assert len((await talk.ask(EXEC, shell(script)))["stdout"]) == 1024 * 1024
    assert len((await talk.ask(EXEC, shell(script, disableOutputCap=True)))["stdout"]) == 1_500_000


async def test_secrets_of_the_server_are_not_handed_on(
    place: Place, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place.kind != "memory":
        pytest.skip("the variables of a server in another process are its own")
    monkeypatch.setenv("MY_SECRET_TOKEN", "hush")
    monkeypatch.setenv("MY_COLOUR", "blue")
    answer = await talk.ask(EXEC, shell("echo $MY_SECRET_TOKEN-$MY_COLOUR"))
    assert answer["stdout"] == "-blue\n"


REFUSED: list[tuple[str, Message, int]] = [
    ("no command", {"command": []}, -32600),
    ("a command that is no list", {"command": "true"}, -32602),
    ("a program that is not there", {"command": ["no-such-program"], "sandboxPolicy": OPEN}, -32603),
    ("a folder that is not there", shell("true", cwd="/nonexistent"), -32603),
    ("a terminal without a name", shell("true", tty=True), -32600),
    ("input without a name", shell("true", streamStdin=True), -32600),
    ("a stream without a name", shell("true", streamStdoutStderr=True), -32600),
    ("less than no time", shell("true", timeoutMs=-1), -32602),
    ("a time and none", shell("true", timeoutMs=5, disableTimeout=True), -32602),
    ("a cap and none", shell("true", outputBytesCap=5, disableOutputCap=True), -32602),
    ("a size without a terminal", shell("true", size={"rows": 2, "cols": 2}), -32602),
    ("a size of nothing", shell("true", processId="s", tty=True, size={"rows": 0, "cols": 2}), -32602),
    ("a policy and a profile", shell("true", permissionProfile=":read-only"), -32600),
    ("a profile that is not there", {"command": ["true"], "permissionProfile": ":unknown"}, -32600),
]


@pytest.mark.parametrize(("params", "code"), [it[1:] for it in REFUSED], ids=[it[0] for it in REFUSED])
async def test_what_makes_no_sense_is_refused(talk: Talk, params: Message, code: int) -> None:
    assert (await talk.refused(EXEC, **params)).code == code


async def test_profiles_that_clients_know(talk: Talk) -> None:
    answer = await talk.ask(EXEC, command=["true"], permissionProfile=":danger-full-access")
    assert answer["exitCode"] == 0


# ── as it prints ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_command_is_heard_and_written_to(talk: Talk) -> None:
    before = len(talk.log)
    run = await talk.send(
        EXEC,
        shell("echo one; read x; echo got $x; read y || echo end", processId="p", streamStdin=True)
        | {"streamStdoutStderr": True},
    )
    await talk.ask(f"{EXEC}/write", processId="p", deltaBase64=encoded("hello\n"))  # it waits until the command runs
    await until_printed(talk, "got hello", processId="p")
    await talk.ask(f"{EXEC}/write", processId="p", closeStdin=True)
    answer = await talk.answer(run)
    assert (answer["exitCode"], answer["stdout"], answer["stderr"]) == (0, "", "")
    heard = talk.heard("command/exec/outputDelta", since=before)
    assert printed(heard) == "one\ngot hello\nend\n"
    assert not any(it["params"]["capReached"] for it in heard)
    assert "id" in talk.log[-1]  # the answer comes behind all of it


async def test_what_is_streamed_is_capped_too(talk: Talk) -> None:
    before = len(talk.log)
    await talk.ask(
        EXEC, shell("echo 1234567; echo more; echo e >&2", processId="c", streamStdoutStderr=True, outputBytesCap=5)
    )
    heard = talk.heard("command/exec/outputDelta", since=before)
    assert (printed(heard), printed(heard, "stderr")) == ("12345", "e\n")
    assert [it["params"]["capReached"] for it in heard if it["params"]["stream"] == "stdout"] == [True]


async def test_a_terminal_has_a_size_that_can_be_changed(talk: Talk) -> None:
    before = len(talk.log)
    size = {"rows": 31, "cols": 101}
    run = await talk.send(EXEC, shell("stty size; read x; stty size; exit 4", processId="t", tty=True, size=size))
    await until_printed(talk, "31 101", processId="t")
    await talk.ask(f"{EXEC}/resize", processId="t", size={"rows": 33, "cols": 44})
    await talk.ask(f"{EXEC}/write", processId="t", deltaBase64=encoded("\n"))
    assert (await talk.answer(run))["exitCode"] == 4
    assert printed(talk.heard("command/exec/outputDelta", since=before)).split() == ["31", "101", "33", "44"]


async def test_a_command_is_ended_with_all_that_it_started(talk: Talk) -> None:
    script = "trap '' TERM; setsid sleep 60 & echo $!; trap '' TERM; sleep 60"
    before = len(talk.log)
    run = await talk.send(EXEC, shell(script, processId="e", streamStdoutStderr=True, disableTimeout=True))
    await until_printed(talk, "\n", processId="e")
    child = int(printed(talk.heard("command/exec/outputDelta", since=before)))
    await talk.ask(f"{EXEC}/terminate", processId="e")
    assert (await talk.answer(run))["exitCode"] == 137
    await gone(child)


async def test_what_does_not_run_takes_nothing(talk: Talk) -> None:
    for method, more in (
        ("write", {"closeStdin": True}),
        ("terminate", {}),
        ("resize", {"size": {"rows": 1, "cols": 1}}),
    ):
        assert (await talk.refused(f"{EXEC}/{method}", processId="none", **more)).code == -32600
    await talk.ask(EXEC, shell("true", processId="over"))
    assert (await talk.refused(f"{EXEC}/terminate", processId="over")).code == -32600


async def test_a_command_takes_what_it_was_started_for(talk: Talk) -> None:
    run = await talk.send(EXEC, shell("sleep 60", processId="deaf"))
    again = await talk.refused(EXEC, **shell("true", processId="deaf"))
    assert "deaf" in again.message
    write, resize = f"{EXEC}/write", f"{EXEC}/resize"
    assert (await talk.refused(write, processId="deaf", deltaBase64=encoded("x"))).code == -32600
    assert (await talk.refused(write, processId="deaf")).code == -32602
    for nonsense in ("***", "é", "\0"):
        assert (await talk.refused(write, processId="deaf", deltaBase64=nonsense)).code == -32602
    assert (await talk.refused(resize, processId="deaf", size={"rows": 1, "cols": 1})).code == -32600
    assert (await talk.refused(resize, processId="deaf", size={"rows": 1, "cols": 0})).code == -32602
    await talk.ask(f"{EXEC}/terminate", processId="deaf")
    await talk.answer(run)


async def test_closed_input_stays_closed(talk: Talk) -> None:
    run = await talk.send(EXEC, shell("sleep 60", processId="shut", streamStdin=True))
    for _ in range(2):
        await talk.ask(f"{EXEC}/write", processId="shut", closeStdin=True)
    assert (await talk.refused(f"{EXEC}/write", processId="shut", deltaBase64=encoded("x"))).code == -32600
    await talk.ask(f"{EXEC}/terminate", processId="shut")
    await talk.answer(run)


# ── no longer than somebody listens ───────────────────────────────────────────────────────────────────────────────────


async def test_names_are_a_clients_own(pair: tuple[Talk, Talk]) -> None:
    one, other = pair
    runs = [await it.send(EXEC, shell("sleep 60", processId="same")) for it in pair]
    await one.ask(f"{EXEC}/terminate", processId="same")
    assert (await one.answer(runs[0]))["exitCode"] == 137
    await other.ask(f"{EXEC}/terminate", processId="same")  # it still runs
    assert (await other.answer(runs[1]))["exitCode"] == 137


@pytest.mark.parametrize("family", [EXEC, "process/spawn"])
async def test_a_client_that_leaves_takes_its_commands_along(open_place: Place, family: str, tmp_path: Path) -> None:
    script = "echo $$; trap '' TERM HUP; while :; do sleep 60; done"
    async with talking(open_place) as talk:
        if family == EXEC:
            name = {"processId": "left"}
            await talk.send(EXEC, shell(script, **name, streamStdoutStderr=True, disableTimeout=True))
        else:
            name = {"processHandle": "left"}
            params = {"command": [*SHELL, script], "cwd": str(tmp_path), "streamStdoutStderr": True, "timeoutMs": None}
            await talk.ask(family, params | name)
        await until_printed(talk, "\n", **name)
        pid = int(printed([it for it in talk.log if str(it.get("method", "")).endswith("outputDelta")]))
        assert os.path.exists(f"/proc/{pid}")  # noqa: ASYNC240 - it is a look at memory
    await gone(pid)


async def test_a_client_that_does_not_read_holds_its_command_up(open_place: Place) -> None:
    """The command waits, the server keeps little of it, and others are served."""
    script = "import sys\nfor _ in range(400): sys.stdout.write('x' * 65536)"
    command = {"command": [sys.executable, "-c", script], "sandboxPolicy": OPEN, "processId": "much"}
    async with talking(open_place) as slow, talking(open_place) as other:
        run = await slow.send(EXEC, command | {"streamStdoutStderr": True, "disableOutputCap": True})
        for _ in range(20):
            assert (await other.ask(EXEC, shell("echo here")))["stdout"] == "here\n"
        assert (await slow.answer(run))["exitCode"] == 0
        assert len(printed(slow.heard("command/exec/outputDelta"))) == 400 * 65536


# ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_process_tells_its_end(talk: Talk, tmp_path: Path) -> None:
    params = {"command": [*SHELL, "echo out; echo error >&2; exit 3"], "processHandle": "h", "cwd": str(tmp_path)}
    assert await talk.ask("process/spawn", params, outputBytesCap=4) == {}
    assert await talk.until("process/exited", processHandle="h") == {
        "processHandle": "h",
        "exitCode": 3,
        "outputDrainTimedOut": False,
        "stdout": "out\n",
        "stdoutCapReached": True,
        "stderr": "erro",
        "stderrCapReached": True,
    }


async def test_a_process_is_heard_written_to_and_killed(talk: Talk, tmp_path: Path) -> None:
    params = {"command": [*SHELL, "read x; echo got $x; sleep 60"], "processHandle": "w", "cwd": str(tmp_path)}
    params |= {"streamStdin": True, "streamStdoutStderr": True}
    await talk.ask("process/spawn", params)
    assert (await talk.refused("process/spawn", **params)).code == -32600
    await talk.ask("process/writeStdin", processHandle="w", deltaBase64=encoded("it\n"))
    await until_printed(talk, "got it", processHandle="w")
    assert (await talk.refused("process/resizePty", processHandle="w", size={"rows": 1, "cols": 1})).code == -32600
    await talk.ask("process/kill", processHandle="w")
    assert (await talk.until("process/exited", processHandle="w"))["exitCode"] == 137
    assert (await talk.refused("process/kill", processHandle="w")).code == -32600


async def test_a_process_in_a_terminal(talk: Talk, tmp_path: Path) -> None:
    params = {"command": [*SHELL, "stty size; read x; stty size"], "processHandle": "y", "cwd": str(tmp_path)}
    await talk.ask("process/spawn", params, tty=True, size={"rows": 11, "cols": 22})
    await until_printed(talk, "11 22", processHandle="y")
    await talk.ask("process/resizePty", processHandle="y", size={"rows": 10, "cols": 20})
    await talk.ask("process/writeStdin", processHandle="y", deltaBase64=encoded("\n"))
    await until_printed(talk, "10 20", processHandle="y")
    assert (await talk.until("process/exited", processHandle="y"))["exitCode"] == 0


async def test_a_process_that_takes_too_long_is_ended(talk: Talk, tmp_path: Path) -> None:
    params = {"command": ["sleep", "60"], "processHandle": "l", "cwd": str(tmp_path), "timeoutMs": 200}
    await talk.ask("process/spawn", params)
    assert (await talk.until("process/exited", processHandle="l"))["exitCode"] == 124


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"command": []}, -32600),
        ({"processHandle": ""}, -32600),
        ({"cwd": "here"}, -32600),
        ({"cwd": "/nonexistent"}, -32603),
        ({"timeoutMs": -1}, -32602),
        ({"size": {"rows": 1, "cols": 1}}, -32602),
    ],
)
async def test_a_process_that_cannot_be_is_refused(talk: Talk, more: Message, code: int) -> None:
    params = {"command": ["true"], "processHandle": "r", "cwd": "/"} | more
    assert (await talk.refused("process/spawn", **params)).code == code
