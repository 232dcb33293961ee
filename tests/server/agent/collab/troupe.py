"""Agents in this process: their tools are called one by one, as their model would, and what comes back is looked at."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import orjson
from anyio.lowlevel import checkpoint
from tests.server.threads.house import House
from tests.support.talk import SECONDS

from threadloom.agent.base import ToolResult
from threadloom.agent.sampling import ToolCall
from threadloom.agent.tools.base import answered
from threadloom_protocol.v2.tree import ClosedThread

NOBODY = "01a1e24a-0000-7000-8000-000000000000"


class Kin(NamedTuple):
    """A tree of five, every one of them in a turn that waits; and a thread of another tree."""

    root: str
    child: str
    grandchild: str  # of the child
    sibling: str  # of the child
    cousin: str  # of the grandchild: the sibling's child
    stranger: str


class Troupe:
    """Threads that act through their tools."""

    def __init__(self, home: House, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self._calls = count(1)

    @property
    def templates(self) -> Path:
        """Where the user's templates lie."""
        made = self.home.place.home / "agents"
        made.mkdir(parents=True, exist_ok=True)
        return made

    def lead(self, **settings: Any) -> str:
        """A root in a turn that waits; its id."""
        start = self.home.settings.model_copy(update={"cwd": str(self.folder), **settings})
        thread_id = self.home.born_with(start)
        self.busy(thread_id)
        return thread_id

    def busy(self, thread_id: str) -> None:
        """Let a thread be in a turn that waits."""
        if self.home.thread(thread_id).running is None:
            self.home.speak(thread_id, "wait")

    async def call(self, thread_id: str, tool: str, /, **arguments: Any) -> ToolResult:
        """What a tool answers in the turn of a thread; its items are told."""
        thread = self.home.thread(thread_id)
        assert thread.running is not None, "a tool is called in a turn"
        call = ToolCall(f"call-{next(self._calls)}", tool, orjson.dumps(arguments).decode())
        with anyio.fail_after(SECONDS):
            result = await answered(thread.briefing.turn(thread.running), call)
        if thread.state.turn is not None:
            thread.emit(*result.emissions)
        return result

    async def ask(self, thread_id: str, tool: str, /, **arguments: Any) -> Any:
        """The answer of a tool that does what it is told."""
        result = await self.call(thread_id, tool, **arguments)
        assert result.ok, result.output
        return orjson.loads(result.output)

    async def refused(self, thread_id: str, tool: str, /, **arguments: Any) -> str:
        """Why a tool does not do what it is told."""
        result = await self.call(thread_id, tool, **arguments)
        assert not result.ok, result.output
        return result.output

    async def spawn(self, thread_id: str, message: str = "wait", **arguments: Any) -> str:
        """An agent that does not report; its id."""
        arguments = {"callback": {"enabled": False}, **arguments}
        answer = await self.ask(thread_id, "spawn_agent", message=message, **arguments)
        assert list(answer) == ["agent_id"]
        return str(answer["agent_id"])

    async def at_rest(self, *ids: str) -> None:
        """Return once all of them are."""
        with anyio.fail_after(SECONDS):
            for it in ids:
                while (thread := self.home.threads.loaded.get(it)) and (thread.running or thread.ending):
                    await checkpoint()

    async def kin(self) -> Kin:
        """A tree of five, and a stranger."""
        root = self.lead()
        child, sibling = await self.spawn(root), await self.spawn(root)
        return Kin(root, child, await self.spawn(child), sibling, await self.spawn(sibling), self.lead())

    def everyone(self) -> set[str]:
        """All threads there are, and all logs."""
        logs = {it.stem[-36:] for it in (self.home.place.home / "sessions").rglob("*.jsonl")}
        assert logs == set(self.home.threads.loaded)
        return logs

    def view(self, thread_id: str) -> Any:
        """A thread, as clients see it."""
        return self.home.threads.rest(thread_id).thread

    def settings(self, thread_id: str) -> Any:
        """What a thread runs with."""
        return self.home.threads.rest(thread_id).settings

    async def close(self, thread_id: str) -> list[ClosedThread]:
        """Close a thread from outside."""
        return await self.home.threads.cascade.close(thread_id)

    def lines(self, thread_id: str, *methods: str) -> list[Any]:
        """What happened in a thread, of these kinds: the params."""
        path = self.view(thread_id).path
        stored = [orjson.loads(it) for it in Path(path).read_bytes().splitlines()]
        return [it["params"] for it in stored if it.get("method") in methods]

    def items(self, thread_id: str, ended: str = "completed") -> list[Any]:
        """The items about other agents in a thread."""
        told = [it["item"] for it in self.lines(thread_id, f"item/{ended}")]
        return [it for it in told if it["type"] == "collabAgentToolCall"]

    def events(self, thread_id: str) -> list[Any]:
        """What clients were told beside the conversation."""
        return self.lines(thread_id, "backgroundEvent")
