"""What stands in the README to be copied works as it stands there."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.processes import ROOT, listening

from threadloom.config.check import examine

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """What is marked as that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


async def run(code: str) -> None:
    """Run a program that waits for things outside of any function, as it is written where there is no room for one."""
    compiled = compile(code, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made: Any = eval(compiled, {})
    assert inspect.iscoroutine(made)
    with anyio.fail_after(30):
        await made


def test_the_configuration_fits() -> None:
    [configuration] = blocks("toml")
    _, faults = examine(tomllib.loads(configuration))
    assert faults == ()


async def test_a_python_client_has_a_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client, _ = blocks("python")
    async with listening("ws://127.0.0.1:0", tmp_path) as server:
        await run(client.replace("ws://127.0.0.1:4500", server.url))
    said = capsys.readouterr().out
    assert "May this run? " in said
    assert "Process exited with code 0" in said


async def test_a_python_program_is_its_own_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THREADLOOM_HOME", str(tmp_path))
    _, server = blocks("python")
    await run(server)
    assert capsys.readouterr().out == "[]\n"
