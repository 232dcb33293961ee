"""Threads told from a script: every write is watched, so that what was live can be held against what is stored."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import anyio
import orjson
from anyio.lowlevel import checkpoint

from threadloom.agent.base import Batch, TurnInput
from threadloom.agent.loop import Loop
from threadloom.agent.models.rehearsal import Rehearsal
from threadloom.agent.sampling import ModelError
from threadloom.app import App
from threadloom.config import Settings
from threadloom.events import Aside, Emission
from threadloom.ids import uuid7
from threadloom.store.index import SqliteIndex
from threadloom.store.rows import Row
from threadloom.threads.birth import Birth
from threadloom.threads.manager import Manager
from threadloom.threads.running import Running
from threadloom.threads.state import ThreadState
from threadloom.threads.thread import Thread
from threadloom_protocol.v2 import item, turn
from threadloom_protocol.v2.thread import ThreadStartParams
from threadloom_protocol.v2.values.content import TextUserInput
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CommandExecutionThreadItem,
    PlanThreadItem,
    ReasoningThreadItem,
)

SECONDS = 20.0
BIG = "(much)"  # stands for a text that is stored out of line


class Stroke(NamedTuple):
    """One thing that a model or a tool does: begin, more, end, aside, call, usage."""

    what: str
    text: str = ""
    at: int = 0


def spelled(text: str) -> str:
    """A text as it is meant."""
    return text.replace(BIG, "x" * 70_000)


class Hand:
    """Turns strokes into events of one turn. What does not fit (more of nothing) is passed over."""

    def __init__(self, thread_id: str, turn_id: str) -> None:
        self._where = {"thread_id": thread_id, "turn_id": turn_id}
        self._item: Any = None
        self._text = ""

    def batch(self, strokes: Sequence[Stroke]) -> Batch:
        """The events of one read."""
        return [it for stroke in strokes for it in self._do(stroke)]

    def _do(self, stroke: Stroke) -> Batch:
        stroke = stroke._replace(text=spelled(stroke.text))
        match stroke.what:
            case "aside":
                return [Aside([_said(stroke.text)])]
            case "call":
                return [Aside([{"type": "function_call", "call_id": stroke.text, "name": "x", "arguments": "{}"}])]
            case "usage":
                return [self._usage(stroke.at)]
            case "more" if self._item is not None:
                return self._more(stroke)
            case "end" if self._item is not None:
                return self._end(stroke.text)
            case kind if kind in _KINDS:
                return [*(self._end("") if self._item is not None else []), self._begin(kind)]
        return []

    def _begin(self, kind: str) -> Emission:
        self._item = _KINDS[kind](uuid7())
        self._text = ""
        begun = item.ItemStartedNotification(item=self._item.model_copy(deep=True), started_at_ms=1, **self._where)
        return Emission(item.STARTED, begun)

    def _more(self, stroke: Stroke) -> Batch:
        spec, extra = _DELTAS[self._item.type]
        self._text += stroke.text
        places = dict.fromkeys(extra, stroke.at)
        event = spec.params(item_id=self._item.id, delta=stroke.text, **places, **self._where)
        added = []
        if self._item.type == "reasoning" and stroke.at % 2:
            part = item.ReasoningSummaryPartAddedNotification(item_id=self._item.id, **places, **self._where)
            added = [Emission(item.REASONING_SUMMARY_PART, part)]
        return [*added, Emission(spec, event)]

    def _end(self, last: str) -> Batch:
        """`item/completed` has the last word: it may say something else than what was streamed."""
        done, self._item = self._item, None
        if hasattr(done, "text"):
            done.text = self._text + last
        if hasattr(done, "status"):
            done.status = "completed"
        event = item.ItemCompletedNotification(item=done, completed_at_ms=2, **self._where)
        return [Emission(item.COMPLETED, event, [_said(self._text + last)])]

    def _usage(self, count: int) -> Emission:
        part = turn.TokenUsageBreakdown(
            total_tokens=count, input_tokens=count, cached_input_tokens=0, output_tokens=0, reasoning_output_tokens=0
        )
        usage = turn.ThreadTokenUsage(last=part, total=part, model_context_window=None)
        event = turn.ThreadTokenUsageUpdatedNotification(token_usage=usage, **self._where)
        return Emission(turn.TOKEN_USAGE_UPDATED, event)


def _said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _command(identity: str) -> CommandExecutionThreadItem:
    return CommandExecutionThreadItem(id=identity, command="x", cwd="/", status="inProgress", command_actions=[])


_KINDS: dict[str, Callable[[str], Any]] = {
    "message": lambda it: AgentMessageThreadItem(id=it, text=""),
    "plan": lambda it: PlanThreadItem(id=it, text=""),
    "reasoning": lambda it: ReasoningThreadItem(id=it),
    "command": _command,
}
_DELTAS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "agentMessage": (item.AGENT_MESSAGE_DELTA, ()),
    "plan": (item.PLAN_DELTA, ()),
    "reasoning": (item.REASONING_SUMMARY_DELTA, ("summary_index",)),
    "commandExecution": (item.COMMAND_OUTPUT_DELTA, ()),
}

Act = Callable[[Thread], Awaitable[None]]  # something that happens in the middle of a turn


class Puppet:
    """An agent that does what it is told."""

    def __init__(self, threads: Callable[[], Manager]) -> None:
        self._threads = threads
        self.script: Sequence[Sequence[Stroke] | Act] = ()
        self.ending = "completed"
        self.asked: TurnInput | None = None  # last
        self.inputs: dict[str, TurnInput] = {}  # the last of each thread
        self.faults: list[AssertionError] = []  # what did not hold in the middle of a turn, which only fails by it
        self._loop = Loop(lambda model, provider: Rehearsal())

    def compact(self, asked: TurnInput) -> AsyncGenerator[Batch, None]:
        """See `Agent.compact`: this is not scripted."""
        return self._loop.compact(asked)

    async def run(self, asked: TurnInput) -> AsyncGenerator[Batch, None]:
        """See `Agent.run`."""
        self.asked = self.inputs[asked.thread_id] = asked
        hand = Hand(asked.thread_id, asked.turn_id)
        script, ending = self.script, self.ending
        for scene in script:
            await checkpoint()
            if callable(scene):
                await self._act(scene, self._threads().get(asked.thread_id))
            elif batch := hand.batch(scene):
                yield batch
        asked.steering.taken()
        if ending == "failed":
            raise ModelError("no more thread")
        if ending == "interrupted":
            await anyio.sleep_forever()

    async def _act(self, act: Act, thread: Thread) -> None:
        try:
            await act(thread)
        except AssertionError as fault:
            self.faults.append(fault)
            raise


class Moment(NamedTuple):
    """A thread as it was when so much of its log was written."""

    end: int
    rest: bytes
    turn: Any


def moment(thread: Thread) -> Moment:
    """A thread as it is."""
    return Moment(thread.end, *look(thread.state))


def look(state: ThreadState) -> tuple[bytes, Any]:
    """All that a state is."""
    return state.rest.to_json(), orjson.loads(state.turn.look().to_json()) if state.turn is not None else None


class Loom:
    """A server in this process whose threads are watched."""

    def __init__(self, app: App, home: Path) -> None:
        self.home = home
        self.acting: anyio.Event | None = None  # something happens in a turn that is not to be cut
        self.puppet = Puppet(lambda: app.threads)
        self.moments: dict[str, list[Moment]] = defaultdict(list)
        self.puts: dict[str, list[Row]] = defaultdict(list)
        self._app = app
        self.threads._ground.agent = self.puppet

    @property
    def threads(self) -> Manager:
        """All of them."""
        return self._app.threads

    def start(self, **birth: Any) -> Thread:
        """A new thread."""
        settings = self.threads.defaults.settings(ThreadStartParams())
        thread = self.threads.start(Birth(settings=settings, **birth))
        thread.announce()
        return thread

    def begin(self, thread_id: str, words: str, script: Sequence[Any] = (), ending: str = "interrupted") -> Running:
        """A turn under way."""
        self.puppet.script, self.puppet.ending = script, ending
        running = self.threads.get(thread_id).start_turn([TextUserInput(text=spelled(words))], client_id=words or None)
        running.show()
        return running

    async def tell(self, thread_id: str, words: str, script: Sequence[Any], ending: str) -> str:
        """A turn from its beginning to its end; its id."""
        running = self.begin(thread_id, words, script, ending)
        with anyio.fail_after(SECONDS):
            if ending == "interrupted":
                await anyio.wait_all_tasks_blocked()
                while self.acting is not None:
                    await self.acting.wait()
                    await anyio.wait_all_tasks_blocked()
                await self.threads.get(thread_id).interrupt()
            await running.done.wait()
        for fault in self.puppet.faults:
            raise fault
        return running.id

    def turns(self, thread_id: str) -> list[Any]:
        """The turns of a thread, as clients read them."""
        reader = self.threads.reader
        for view in ("full", "summary", "notLoaded"):  # what is copied from the log is what would be built from it
            for direction in ("asc", "desc"):
                built = [it.to_json() for it in reader.turns(thread_id, direction=direction, items=view).data]
                copied = reader.written(thread_id, direction=direction, items=view).data
                assert list(map(orjson.loads, copied)) == list(map(orjson.loads, built))
        entries = [orjson.loads(it.to_json()) for it in reader.items(thread_id)]
        assert list(map(orjson.loads, reader.written_items(thread_id).data)) == entries
        return [orjson.loads(it.to_json()) for it in reader.turns(thread_id).data]


@asynccontextmanager
async def loom() -> AsyncIterator[Loom]:
    """A watched server, in a home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        async with App(Settings(home=Path(folder))).running() as app:
            woven = Loom(app, Path(folder))
            emit, put = Thread.emit, SqliteIndex.put

            def watched(thread: Thread, *batch: Any) -> None:
                emit(thread, *batch)
                woven.moments[thread.id].append(moment(thread))

            def kept(index: SqliteIndex, row: Row, *rows: Any) -> None:
                put(index, row, *rows)
                woven.puts[row.thread_id].append(row)

            with patch.object(Thread, "emit", watched), patch.object(SqliteIndex, "put", kept):
                yield woven
