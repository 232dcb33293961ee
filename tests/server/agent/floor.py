"""A floor in a few lines: it keeps what a tool tells, and answers what it asks."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from threadloom.agent.base import TurnInput
from threadloom.agent.floor import Question
from threadloom.agent.sampling import ToolCall
from threadloom.agent.steering import Steering
from threadloom.events import Aside, Emission
from threadloom.threads.defaults import plain
from threadloom_protocol.v2.values.policy import SandboxPolicy, WorkspaceWriteSandboxPolicy

# Folders of tests are mostly in /tmp, which is open unless one says otherwise.
WORKSPACE = WorkspaceWriteSandboxPolicy(exclude_slash_tmp=True, exclude_tmpdir_env_var=True)


class FakeFloor:
    """`answers` are the decisions that come, one for each question; `on` hears each emission."""

    def __init__(self, *answers: str, on: Callable[[Emission], None] = lambda it: None) -> None:
        self.answers = list(answers)
        self.told: list[Emission] = []
        self.questions: list[Question] = []
        self.allowed: set[str] = set()
        self.resumed: set[str] = set()  # calls that somebody was asked about in another life
        self.stopped = False
        self._on = on

    def emit(self, *batch: Emission | Aside) -> None:
        for it in batch:
            if isinstance(it, Emission):
                self.told.append(it)
                self._on(it)

    def item_id(self, call: ToolCall) -> str:
        return f"item-{call.call_id}"

    async def ask(self, call: ToolCall, question: Question) -> Any:
        self.questions.append(question)
        if call.call_id not in self.resumed:
            self.emit(question.started)
        return question.request.result(decision=self.answers.pop(0))

    def item_count(self) -> int:
        return len(self.told)

    def asked(self, call: ToolCall) -> bool:
        return call.call_id in self.resumed

    def allows(self, keys: Sequence[str]) -> bool:
        return bool(keys) and set(keys) <= self.allowed

    def allow(self, keys: Sequence[str]) -> None:
        self.allowed |= set(keys)

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        raise AssertionError("nothing here outlives its call")

    def stop(self) -> None:
        self.stopped = True

    def story(self) -> list[str]:
        """What was told, in short: the end of the method, and how the item or the review stands."""
        return [f"{it.notification.method} {_status(it.event)}".strip() for it in self.told]


def _status(event: Any) -> str:
    about = getattr(event, "item", None) or getattr(event, "review", None)
    return "" if about is None else str(about.status)


def turn_on(
    floor: FakeFloor, cwd: Path, *, policy: Any = "on-request", sandbox: SandboxPolicy = WORKSPACE, **rest: Any
) -> TurnInput:
    """A turn whose tools act on that floor."""
    reviewer = rest.pop("reviewer", "user")
    settings = plain(cwd=str(cwd), approval_policy=policy, sandbox_policy=sandbox, approvals_reviewer=reviewer)
    given: dict[str, Any] = {"model": "model", "history": list, "effort": None} | rest
    return TurnInput(
        thread_id="thread",
        turn_id="turn",
        cwd=str(cwd),
        steering=Steering(),
        settings=settings,
        floor=floor,
        origin=["thread"],
        **given,
    )
