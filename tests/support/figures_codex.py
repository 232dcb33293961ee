"""A figure beside Codex: a model calls `spawn_agent`, and the child of that says its first word."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
from tests.support.codex import PACKAGES
from tests.support.figures_tree import since
from tests.support.mock_model import MockModel, Reply, Request, call, completed, delta, message, mock_model, sse
from tests.support.processes import ROOT, THREADLOOM

from threadloom_client import Client, connect
from threadloom_protocol.v2 import item

SECONDS = 60.0
SPAWNS = 5
DELEGATE = "Have another one say hello."
# What both read: a model on loopback, and nothing that leaves the machine.
CONFIG = """\
model = "mock-model"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[features]
plugins = false
apps = false
remote_plugin = false
plugin_discovery_prefetch = false
[analytics]
enabled = false
[model_providers.mock]
name = "mock"
base_url = "{url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
"""


def codex() -> str | None:
    """The real Codex, where it is installed: named by `CODEX_BIN`, or fetched for the tests or the benchmark."""
    places = (PACKAGES, ROOT / ".bench" / "node_modules" / "@openai")
    found = [str(it) for place in places for it in place.glob("codex*/vendor/*/bin/codex")]
    return next(filter(None, [os.environ.get("CODEX_BIN"), *found]), None)


def home(room: Path, model: MockModel) -> dict[str, str]:
    """A home of either of them whose model is this one; the environment that names it."""
    room.joinpath("config.toml").write_text(CONFIG.format(url=model.url), encoding="utf-8")
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(room),
        "CODEX_HOME": str(room),
        "RUST_LOG": "off",
    }


def hello() -> Reply:
    """Words, announced as Codex wants them to be."""
    begun = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    added = {"type": "response.output_item.added", "output_index": 0, "item": begun}
    return Reply([sse(added, delta("Hello"), message("Hello"), completed())])


class Delegating:
    """A model that spawns an agent where it is told to, and says hello elsewhere."""

    def __init__(self) -> None:
        self.called = 0.0  # when it spawned last

    def answer(self, asked: Request) -> Reply:
        """See the class."""
        body = asked.json
        if body["input"][-1].get("content") != [{"type": "input_text", "text": DELEGATE}]:
            return hello()
        self.called = time.perf_counter()
        return Reply([sse(_spawn(body["tools"]), completed())])


def _spawn(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """A call of the tool by the name under which it was offered."""
    event = call("spawn_agent", {"message": "Say hello."})
    for it in tools:
        if it["type"] == "namespace" and any(tool["name"] == "spawn_agent" for tool in it["tools"]):
            event["item"]["namespace"] = it["name"]
    return event


async def ours(room: Path) -> tuple[float]:
    """Threadloom: the model's call → the first token of the child."""
    return (await _first_word(room, THREADLOOM[0]),)


async def theirs(room: Path) -> tuple[float]:
    """The same of Codex."""
    binary = codex()
    assert binary is not None
    return (await _first_word(room, binary),)


async def _first_word(room: Path, binary: str) -> float:
    model, fresh = Delegating(), Path(tempfile.mkdtemp(dir=room))
    with anyio.fail_after(SECONDS):
        async with mock_model(rest=model.answer) as served:
            environment = home(fresh, served)
            words = [binary, "app-server"]
            async with connect(words, env=environment, cwd=fresh, stderr=DEVNULL, experimental=True) as client:
                parents: list[str] = []
                return statistics.median([await _spawned(client, model, parents) for _ in range(SPAWNS)])


async def _spawned(client: Client, model: Delegating, parents: list[str]) -> float:
    top = (await client.call("thread/start", {}))["thread"]["id"]
    parents.append(top)
    with client.notifications(item.AGENT_MESSAGE_DELTA) as heard:
        asked = [{"type": "text", "text": DELEGATE, "text_elements": []}]
        await client.call("turn/start", {"threadId": top, "input": asked})
        while (await anext(heard)).raw["threadId"] in parents:
            pass
        return since(model.called)
