"""The fence around commands, from a client's side: named in the handshake, built, or refused where there is none.

`make sandbox-test` runs this with every sandbox in turn: THREADLOOM_SANDBOX hides the others.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest
from tests.support.approving import commands
from tests.support.places import Place
from tests.support.talk import Message, Talk, text_of

from threadloom.exec.launch import FORCE, diagnose

EXEC: Final = "command/exec"
FENCED: Final = ({"type": "readOnly"}, {"type": "workspaceWrite", "excludeSlashTmp": True, "excludeTmpdirEnvVar": True})
# What is asked for, or what this machine has.
KIND: Final = os.environ.get(FORCE) or diagnose().kind

fenced = pytest.mark.skipif(KIND == "none", reason="there is no sandbox in this run")


async def test_the_handshake_names_the_sandbox(place: Place) -> None:
    async with place.wire(initialize=False) as wire:
        assert (await wire.initialize())["sandbox"] == {"kind": KIND}


@fenced
@pytest.mark.parametrize("policy", FENCED, ids=lambda it: it["type"])
async def test_a_command_cannot_write_outside(talk: Talk, tmp_path: Path, policy: Message) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    script = f"touch {outside}/file || echo refused"
    answer = await talk.ask(EXEC, command=["/bin/sh", "-c", script], cwd=str(work), sandboxPolicy=policy)
    assert (answer["exitCode"], answer["stdout"]) == (0, "refused\n")
    assert list(outside.iterdir()) == []


@fenced
async def test_a_command_can_write_where_it_may(talk: Talk, tmp_path: Path) -> None:
    answer = await talk.ask(EXEC, command=["touch", "file"], cwd=str(tmp_path), sandboxPolicy=FENCED[1])
    assert answer["exitCode"] == 0
    assert (tmp_path / "file").exists()
    answer = await talk.ask(EXEC, command=["rm", "file"], cwd=str(tmp_path), permissionProfile=":read-only")
    assert answer["exitCode"] != 0
    assert (tmp_path / "file").exists()


@fenced
async def test_the_configured_fence_is_around_commands_that_ask_for_none(talk: Talk, tmp_path: Path) -> None:
    target = Path.home() / "written-by-a-command-of-threadloom"  # no command may write to this folder from another
    answer = await talk.ask(EXEC, command=["touch", str(target)], cwd=str(tmp_path))
    assert answer["exitCode"] != 0
    assert not target.exists()


@pytest.mark.skipif(KIND != "none", reason="there is a sandbox in this run")
async def test_where_there_is_no_sandbox_fenced_commands_are_refused(talk: Talk, tmp_path: Path) -> None:
    for policy in FENCED:
        params = {"command": ["touch", "file"], "cwd": str(tmp_path), "sandboxPolicy": policy}
        refusal = await talk.refused(EXEC, **params)
        assert refusal.code == -32603
        assert "No sandbox works here" in refusal.message
    assert not (tmp_path / "file").exists()
    answer = await talk.ask(
        EXEC, command=["touch", "file"], cwd=str(tmp_path), sandboxPolicy={"type": "dangerFullAccess"}
    )
    assert answer["exitCode"] == 0


@pytest.mark.skipif(KIND != "none", reason="there is a sandbox in this run")
async def test_the_agents_commands_are_refused_there_too(talk: Talk, tmp_path: Path) -> None:
    thread = await talk.start(cwd=str(tmp_path), sandbox="workspace-write", approvalPolicy="never")
    turn = await talk.turn(thread["id"], 'call exec_command {"cmd": "touch file"}')
    assert turn["status"] == "completed"
    assert "No sandbox works here, so the command was not started" in text_of(turn)
    [item] = commands(talk.heard(thread=thread["id"]))
    assert (item["status"], item["exitCode"]) == ("failed", None)
    assert "No sandbox works here" in item["aggregatedOutput"]
    assert not (tmp_path / "file").exists()
