"""The agent's commands as a client sees them: `exec_command`, `write_stdin` and `shell`, with all that they take."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import orjson
import pytest
from tests.support.talk import SECONDS, Message, Talk, text_of

from threadloom.agent.tools.command.looking import FENCED_IN, FENCED_OFF
from threadloom.exec.launch import FORCE, diagnose
from threadloom.exec.terminals import TIMED_OUT

OPEN = {"type": "dangerFullAccess"}
# Folders of tests are in /tmp, which is open unless one says otherwise.
FENCE = {"type": "workspaceWrite", "excludeSlashTmp": True, "excludeTmpdirEnvVar": True}
KIND = os.environ.get(FORCE) or diagnose().kind
fenced = pytest.mark.skipif(KIND == "none", reason="there is no sandbox in this run")


class Called(NamedTuple):
    """What came of calls: what the model was told, and the items of the commands."""

    told: str
    items: list[Message]


def line(tool: str, **arguments: Any) -> str:
    return f"call {tool} {orjson.dumps(arguments).decode()}"


async def thread(talk: Talk, cwd: Path, policy: str = "never", fence: Message = OPEN) -> str:
    """A new thread with commands in that folder."""
    started = await talk.start(cwd=str(cwd), approvalPolicy=policy)
    await talk.ask("thread/settings/update", threadId=started["id"], sandboxPolicy=fence)
    return str(started["id"])


async def call(talk: Talk, thread_id: str, *lines: str) -> Called:
    """Have the model make calls, one after the other."""
    before = len(talk.log)
    turn = await talk.turn(thread_id, "\n".join(lines))
    assert turn["status"] == "completed"
    ended = [it["params"]["item"] for it in talk.heard("item/completed", since=before, thread=thread_id)]
    return Called(text_of(turn), [it for it in ended if it["type"] == "commandExecution"])


# ── exec_command ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_command_line_runs_in_the_folder_of_the_thread(talk: Talk, tmp_path: Path) -> None:
    told, [item] = await call(talk, await thread(talk, tmp_path), line("exec_command", cmd="pwd; exit 3"))
    assert "Process exited with code 3\n" in told
    assert f"Output:\n{tmp_path}" in told
    assert (item["exitCode"], item["status"], item["aggregatedOutput"]) == (3, "failed", f"{tmp_path}\n")


@pytest.mark.parametrize("tool", ["exec_command", "shell"])
async def test_it_runs_where_it_is_told_to(talk: Talk, tmp_path: Path, tool: str) -> None:
    (tmp_path / "below").mkdir()
    what: Message = {"cmd": "pwd"} if tool == "exec_command" else {"command": ["pwd"]}
    _, [item] = await call(talk, await thread(talk, tmp_path), line(tool, workdir="below", **what))
    assert (item["cwd"], item["aggregatedOutput"]) == (f"{tmp_path}/below", f"{tmp_path}/below\n")


async def test_it_runs_in_the_shell_that_is_asked_for(talk: Talk, tmp_path: Path) -> None:
    shell = tmp_path / "oyster"
    shell.write_text('#!/bin/sh\necho "$@"\n')
    shell.chmod(0o755)
    thread_id = await thread(talk, tmp_path)
    lines = [line("exec_command", cmd="pearl", shell=str(shell), login=login) for login in (True, False)]
    assert [it["aggregatedOutput"] for it in (await call(talk, thread_id, *lines)).items] == [
        "-lc pearl\n",
        "-c pearl\n",
    ]


@pytest.mark.parametrize("tty", [True, False])
async def test_it_has_a_terminal_where_it_is_asked_for(talk: Talk, tmp_path: Path, tty: bool) -> None:
    script = "test -t 0 && test -t 1 && echo on a terminal || echo on none"
    _, [item] = await call(talk, await thread(talk, tmp_path), line("exec_command", cmd=script, tty=tty))
    assert item["aggregatedOutput"].strip() == ("on a terminal" if tty else "on none")


async def test_the_model_reads_no_more_of_the_output_than_it_wants(talk: Talk, tmp_path: Path) -> None:
    told, [item] = await call(
        talk, await thread(talk, tmp_path), line("exec_command", cmd="seq 100000 100099", max_output_tokens=10)
    )
    assert "Original token count: 175\nOutput:\nTotal output lines: 100\n\n100000\n100001\n100002" in told
    assert "… 165 tokens cut …" in told
    assert "100050" not in told
    assert item["aggregatedOutput"].splitlines() == [str(it) for it in range(100000, 100100)]  # clients see all of it


# ── write_stdin ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def seen(talk: Talk, thread_id: str, first: str, word: str) -> str:
    """All that the model reads of the command that runs, from a call on until it has printed a word."""
    told = (await call(talk, thread_id, first)).told
    with anyio.fail_after(SECONDS):
        while word not in told:
            told += (await call(talk, thread_id, line("write_stdin", session_id=1))).told
    return told


async def test_what_runs_on_is_typed_into_and_looked_at_until_it_ends(talk: Talk, tmp_path: Path) -> None:
    thread_id = await thread(talk, tmp_path)
    script = 'echo ready; while read word; do echo "got $word"; test "$word" = stop && exit 5; done'
    told = await seen(talk, thread_id, line("exec_command", cmd=script, tty=True, yield_time_ms=250), "ready")
    assert "Process running with session ID 1\n" in told
    told = await seen(talk, thread_id, line("write_stdin", session_id=1, chars="on\n"), "got on")
    assert "Process running with session ID 1\n" in told
    assert "ready" not in told  # it has been read
    told, [item] = await call(talk, thread_id, line("write_stdin", session_id=1, chars="stop\n", yield_time_ms=20_000))
    assert "Process exited with code 5\n" in told
    assert (item["exitCode"], item["aggregatedOutput"]) == (5, "ready\r\non\r\ngot on\r\nstop\r\ngot stop\r\n")
    typed = [it["params"] for it in talk.heard("item/commandExecution/terminalInteraction", thread=thread_id)]
    assert [(it["itemId"], it["processId"], it["stdin"]) for it in typed] == [
        (item["id"], "1", "on\n"),
        (item["id"], "1", "stop\n"),
    ]


async def test_a_program_on_a_terminal_can_be_interrupted(talk: Talk, tmp_path: Path) -> None:
    thread_id = await thread(talk, tmp_path)
    script = "trap 'echo interrupted; exit 7' INT; echo ready; while :; do sleep 0.05; done"
    await seen(talk, thread_id, line("exec_command", cmd=script, tty=True, yield_time_ms=250), "ready")
    told, [item] = await call(talk, thread_id, line("write_stdin", session_id=1, chars="\x03", yield_time_ms=20_000))
    assert "Process exited with code 7" in told
    assert "interrupted" in item["aggregatedOutput"]


async def test_without_a_terminal_there_is_nothing_to_read_and_nothing_to_wait_for(talk: Talk, tmp_path: Path) -> None:
    script = "readlink /proc/self/fd/0; cat; echo over"
    _, [item] = await call(talk, await thread(talk, tmp_path), line("exec_command", cmd=script))
    assert (item["exitCode"], item["aggregatedOutput"]) == (0, "/dev/null\nover\n")


async def test_what_has_no_terminal_cannot_be_typed_into_but_interrupted(talk: Talk, tmp_path: Path) -> None:
    thread_id = await thread(talk, tmp_path)
    script = "trap 'echo interrupted; exit 7' INT; echo ready; while :; do sleep 0.05; done"
    await seen(talk, thread_id, line("exec_command", cmd=script, yield_time_ms=250), "ready")
    told, _ = await call(talk, thread_id, line("write_stdin", session_id=1, chars="on\n"))
    assert "has no terminal and reads nothing" in told
    told, [item] = await call(talk, thread_id, line("write_stdin", session_id=1, chars="\x03", yield_time_ms=20_000))
    assert "Process exited with code 7" in told
    assert item["aggregatedOutput"] == "ready\ninterrupted\n"


async def test_what_nobody_reads_holds_up_no_turn_and_arrives_when_somebody_does(talk: Talk, tmp_path: Path) -> None:
    thread_id = await thread(talk, tmp_path)
    os.mkfifo(tmp_path / "gate")
    script = "stty -echo; echo ready; cat gate; head -n 20000 | wc -c"
    await seen(talk, thread_id, line("exec_command", cmd=script, tty=True, yield_time_ms=250), "ready")
    told, _ = await call(talk, thread_id, line("write_stdin", session_id=1, chars="word\n" * 20_000))
    assert "Process running with session ID 1\n" in told
    await call(talk, thread_id, line("exec_command", cmd="true > gate"))
    await seen(talk, thread_id, line("write_stdin", session_id=1), "100000")


async def test_how_a_command_ended_is_kept_until_the_model_looks(talk: Talk, tmp_path: Path) -> None:
    """Whatever else it does meanwhile: another command, another turn."""
    thread_id = await thread(talk, tmp_path)
    os.mkfifo(tmp_path / "gate")
    held = 'echo begun; read word < gate; echo "$word"; exit 3'
    before = len(talk.log)
    told, _ = await call(talk, thread_id, line("exec_command", cmd=held, yield_time_ms=250))
    assert "Process running with session ID 1\n" in told
    await call(talk, thread_id, line("exec_command", cmd="echo over > gate"))
    while not any("begun" in str(it) for it in talk.heard("item/completed", since=before, thread=thread_id)):
        await talk.read()
    await call(talk, thread_id, line("exec_command", cmd="true"), line("exec_command", cmd="true"))
    told, _ = await call(talk, thread_id, line("write_stdin", session_id=1))
    assert "Process exited with code 3\n" in told
    assert "over" in told
    told, _ = await call(talk, thread_id, line("exec_command", cmd="true"), line("write_stdin", session_id=1))
    assert "No command with session_id 1 runs in this thread." in told  # it has been seen


async def test_there_is_nobody_to_type_to_under_another_number(talk: Talk, tmp_path: Path) -> None:
    told, items = await call(talk, await thread(talk, tmp_path), line("write_stdin", session_id=9, chars="x"))
    assert "No command with session_id 9 runs in this thread." in told
    assert items == []


# ── shell ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_program_runs_with_its_arguments_and_no_shell(talk: Talk, tmp_path: Path) -> None:
    told, [item] = await call(talk, await thread(talk, tmp_path), line("shell", command=["echo", "$HOME", "a  b"]))
    assert "Exit code: 0\n" in told
    assert item["aggregatedOutput"] == "$HOME a  b\n"


async def test_one_that_takes_too_long_is_ended_and_all_are_told_the_same(talk: Talk, tmp_path: Path) -> None:
    command = ["sleep", "100"]
    told, [item] = await call(talk, await thread(talk, tmp_path), line("shell", command=command, timeout_ms=50))
    late = "The command took longer than 50 milliseconds and was ended.\n"
    assert f"Exit code: {TIMED_OUT}\n" in told
    assert f"Output:\n{late}".rstrip() in told
    assert (item["exitCode"], item["status"]) == (TIMED_OUT, "failed")
    assert item["aggregatedOutput"] == late


async def test_no_program_is_no_command(talk: Talk, tmp_path: Path) -> None:
    told, items = await call(talk, await thread(talk, tmp_path), line("shell", command=[]))
    assert "`command` must not be empty." in told
    assert items == []


# ── the fence ─────────────────────────────────────────────────────────────────────────────────────────────────────────

DENIED = "echo Permission denied; exit 1"


@fenced
@pytest.mark.parametrize(("policy", "hint"), [("on-request", FENCED_OFF), ("never", FENCED_IN)])
async def test_what_the_fence_stopped_is_told_with_what_can_be_done(
    talk: Talk, tmp_path: Path, policy: str, hint: str
) -> None:
    target = tmp_path / "outside"
    target.mkdir()
    (tmp_path / "work").mkdir()
    thread_id = await thread(talk, tmp_path / "work", policy, FENCE)
    told, [item] = await call(talk, thread_id, line("exec_command", cmd="touch ../outside/file", login=False))
    assert item["status"] == "failed"
    assert hint in told
    assert list(target.iterdir()) == []


async def test_what_failed_outside_the_fence_was_not_stopped_by_it(talk: Talk, tmp_path: Path) -> None:
    thread_id = await thread(talk, tmp_path, "on-request", FENCE)
    await talk.begin(thread_id, line("exec_command", cmd=DENIED, sandbox_permissions="require_escalated"))
    await talk.decide(await talk.question(threadId=thread_id), "accept")
    turn = (await talk.until("turn/completed", threadId=thread_id))["turn"]
    assert "Permission denied" in text_of(turn)
    assert "sandbox" not in text_of(turn)
