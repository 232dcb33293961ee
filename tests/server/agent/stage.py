"""A thread in a few lines: it records what an agent does, and gives it back as history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import count
from typing import Any

import anyio
import orjson

from threadloom.agent.base import Batch, Tool, ToolResult, TurnInput
from threadloom.agent.loop import MOST_ANSWERS, Loop
from threadloom.agent.models.rehearsal import Rehearsal
from threadloom.agent.sampling import Done, Item, Model, ModelEvent, Sampling, ToolCall, Usage
from threadloom.agent.steering import Steering
from threadloom.agent.tools.plan import UpdatePlan
from threadloom.events import Aside, Emission
from threadloom_protocol.model import Recorded

SECONDS = 30  # more than any wait here takes on a machine that is busy with something else
DONE = Done(Usage(input=10, cached=4, output=3, reasoning=1))


def said(text: str, role: str = "user") -> Item:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


class Gate:
    """A place where a model or a tool stops until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.open = anyio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self.open.wait()


Read = Sequence[ModelEvent] | Gate | Exception


class Scripted:
    """A model that sends what it is given, one script for each answer."""

    def __init__(self, *answers: Sequence[Read]) -> None:
        self._answers = iter(answers)
        self.asked: list[Sampling] = []
        self.under_way = 0

    async def stream(self, sampling: Sampling) -> AsyncGenerator[Sequence[ModelEvent], None]:
        self.asked.append(sampling)
        self.under_way += 1
        try:
            assert self.under_way == 1, "the answer before is still under way"
            for read in next(self._answers):
                match read:
                    case Gate():
                        await read.pass_through()
                    case Exception():
                        raise read
                    case _:
                        yield read
        finally:
            self.under_way -= 1


class Doing:
    """A tool that does what a test says."""

    def __init__(self, name: str, run: Callable[[ToolCall], Any]) -> None:
        self.name = name
        self._run = run

    def spec(self) -> Item:
        return {"type": "function", "name": self.name, "parameters": {"type": "object"}}

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        result: ToolResult = await self._run(call)
        return result


def named(*tools: Tool) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}


class Stage:
    """One turn of one thread. `on` is called with each batch once it is recorded."""

    def __init__(
        self,
        prompt: str,
        model: Model | None = None,
        *,
        tools: Mapping[str, Tool] | None = None,
        before: Sequence[Item] = (),
        on: Callable[[Batch], None] = lambda batch: None,
        most_answers: int = MOST_ANSWERS,
        **turn: Any,
    ) -> None:
        self.history: list[Item] = [*before, said(prompt)]
        self.batches: list[Batch] = []
        self.on = on
        self.steering = Steering()
        self.turn = TurnInput(
            thread_id="thread",
            turn_id="turn",
            model="model",
            effort=None,
            cwd="/",
            history=lambda: self.history,
            steering=self.steering,
            tools=named(UpdatePlan()) if tools is None else tools,
            **turn,
        )
        clock, ids = count(1000), count(1)
        self.loop = Loop(
            lambda name, provider: model or Rehearsal(_no_sleep),
            now=lambda: next(clock),
            new_id=lambda: f"item-{next(ids)}",
            most_answers=most_answers,
        )

    async def play(self) -> Stage:
        """Run the turn to its end."""
        with anyio.fail_after(SECONDS):
            async with aclosing(self.loop.run(self.turn)) as batches:
                async for batch in batches:
                    self._record(batch)
        assert not self.steering.waiting, "something that the user said was not answered"
        return self

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[Callable[[], None]]:
        """Run the turn beside the test, which ends once the turn has; the test may interrupt it."""
        with anyio.fail_after(SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.play)
                yield tasks.cancel_scope.cancel

    def steer(self, text: str) -> None:
        """The user says something while the turn runs."""
        self.history.append(said(text))
        self.steering.steer()

    def _record(self, batch: Batch) -> None:
        assert batch, "an empty batch is nothing to record"
        for it in batch:
            if isinstance(it, Emission):
                _check(it)
            self.history += it.model or ()
        self.batches.append(batch)
        self.on(batch)

    @property
    def emissions(self) -> list[Emission]:
        return [it for batch in self.batches for it in batch if isinstance(it, Emission)]

    @property
    def methods(self) -> list[str]:
        """What happened, with the deltas of one kind in a row as one."""
        methods = [it.notification.method for it in self.emissions]
        return [it for at, it in enumerate(methods) if not (it.lower().endswith("delta") and methods[at - 1] == it)]

    def events(self, method: str) -> list[Any]:
        return [it.event for it in self.emissions if it.notification.method == method]

    @property
    def text(self) -> str:
        """What the agent said in the end."""
        messages = [it.item.text for it in self.events("item/completed") if it.item.type == "agentMessage"]
        return messages[-1] if messages else ""

    def kept(self, kind: str) -> list[Item]:
        """Items of one type in the history."""
        return [it for it in self.history if it["type"] == kind]


def _check(it: Emission) -> None:
    assert type(it.event) is it.notification.params
    event: Recorded = type(it.event).model_validate(orjson.loads(it.event.to_json()))
    assert event == it.event


async def _no_sleep(seconds: float) -> None:
    await anyio.lowlevel.checkpoint()


def shape(batches: Sequence[Batch]) -> list[str]:
    """Batches, event by event; what only the model sees in brackets."""
    return [
        f"({it.model[0]['type']})" if isinstance(it, Aside) else it.notification.method
        for batch in batches
        for it in batch
    ]
