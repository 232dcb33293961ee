"""OpenAI's SDK: commands and patches that somebody has to agree to, a person's program or a model in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from openai_codex import ApprovalMode
from openai_codex.client import CodexClient
from openai_codex.types import TurnStatus
from tests.clients.sdk import LEAVES_PIPES, Bench, methods

from threadloom.agent.models.performance import FORBIDDEN
from threadloom.agent.tools.asking import NOBODY

pytestmark = LEAVES_PIPES

# All but known-safe commands are asked about; no fence, so that it works where there is no sandbox.
ASKING = {"approvalPolicy": "untrusted", "approvalsReviewer": "user", "sandbox": "danger-full-access"}
COMMAND, PATCH = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
# A line for the model, what it is asked about, and the file that is there afterwards.
WISHES = {
    "command": ("run echo made > made.txt", COMMAND, "commandExecution"),
    "patch": ("patch made.txt with made", PATCH, "fileChange"),
}


class Person:
    """Decides as the test says, and keeps what it was asked."""

    def __init__(self, decision: str) -> None:
        self.decision = decision
        self.asked: list[tuple[str, Any]] = []

    def __call__(self, method: str, params: Any) -> Any:
        self.asked.append((method, params))
        return {"decision": self.decision}


def a_turn(client: CodexClient, thread_id: str, text: str) -> tuple[TurnStatus, list[Any], list[str]]:
    """A whole turn: how it ended, the items that ended in it, and what was told."""
    turn_id = client.turn_start(thread_id, text).turn.id
    events = [client.next_turn_notification(turn_id)]
    while events[-1].method != "turn/completed":
        events.append(client.next_turn_notification(turn_id))
    items = [it.payload.item.root for it in events if it.method == "item/completed"]
    return events[-1].payload.turn.status, items, methods(events)


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize(
    ("decision", "ends", "status"),
    [
        ("accept", TurnStatus.completed, "completed"),
        ("decline", TurnStatus.completed, "declined"),
        ("cancel", TurnStatus.interrupted, "declined"),
    ],
)
def test_a_program_decides(bench: Bench, wish: str, decision: str, ends: TurnStatus, status: str) -> None:
    line, question, kind = WISHES[wish]
    person = Person(decision)
    with CodexClient(bench.config(), approval_handler=person) as client:
        client.initialize()
        thread = client.thread_start(ASKING).thread
        ended, items, told = a_turn(client, thread.id, line)
    [item] = [it for it in items if it.type == kind]
    [(method, params)] = person.asked
    assert (ended, item.status.value, method) == (ends, status, question)
    assert (params["threadId"], params["itemId"]) == (thread.id, item.id)
    assert told.index("item/started") < told.index("item/completed")
    assert made(bench) == (decision == "accept")


@pytest.mark.parametrize("wish", WISHES)
def test_what_is_accepted_for_the_session_is_not_asked_again(bench: Bench, wish: str) -> None:
    line, question, _ = WISHES[wish]
    person = Person("acceptForSession")
    with CodexClient(bench.config(), approval_handler=person) as client:
        client.initialize()
        thread = client.thread_start(ASKING).thread
        for _ in range(2):
            assert a_turn(client, thread.id, line)[0] is TurnStatus.completed
            assert made(bench)
            (bench.work / "made.txt").unlink()
    assert [method for method, _ in person.asked] == [question]


def test_a_program_that_does_not_care_says_yes(bench: Bench) -> None:
    with bench.client() as client:
        client.initialize()
        thread = client.thread_start(ASKING).thread
        ended, items, _ = a_turn(client, thread.id, "run echo made > made.txt")
    assert (ended, [it.status.value for it in items if it.type == "commandExecution"]) == (
        TurnStatus.completed,
        ["completed"],
    )
    assert made(bench)


def test_a_program_that_knows_no_questions_lets_the_model_go_on_without(bench: Bench) -> None:
    with bench.codex() as codex:
        result = codex.thread_start().run("ask Which colour? red | green")
    assert result.status is TurnStatus.completed
    assert NOBODY in (result.final_response or "")


def outside(place: Path, wish: str, text: str = "made") -> str:
    """A line that needs an approval in a fence around another folder."""
    return f"run outside the sandbox echo {text} > {place}" if wish == "command" else f"patch {place} with {text}"


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A file that is not there yet, in a folder that no fence leaves open: temporary ones are."""
    with TemporaryDirectory(dir=Path.home(), prefix=".threadloom-test-") as folder:
        yield Path(folder) / "outside.txt"


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize(("word", "verdict"), [("made", "approved"), (FORBIDDEN, "denied")])
def test_by_default_a_model_decides_and_says_so(
    bench: Bench, elsewhere: Path, wish: str, word: str, verdict: str
) -> None:
    with bench.codex() as codex:
        events = list(codex.thread_start().turn(outside(elsewhere, wish, word)).stream())
    reviews = [it for it in methods(events) if it.startswith("item/autoApprovalReview")]
    assert reviews == ["item/autoApprovalReview/started", "item/autoApprovalReview/completed"]
    [review] = [it.payload.review for it in events if it.method == reviews[1]]
    items = [it.payload.item.root for it in events if it.method == "item/completed"]
    [item] = [it for it in items if it.type == WISHES[wish][2]]
    assert review.status.value == verdict
    assert item.status.value == ("completed" if verdict == "approved" else "declined")
    assert elsewhere.exists() is (verdict == "approved")
    assert events[-1].payload.turn.status is TurnStatus.completed
    assert not was_asked(bench)


@pytest.mark.parametrize("wish", WISHES)
def test_where_all_is_denied_nobody_is_asked(bench: Bench, elsewhere: Path, wish: str) -> None:
    with bench.codex() as codex:
        result = codex.thread_start(approval_mode=ApprovalMode.deny_all).run(outside(elsewhere, wish))
    assert result.status is TurnStatus.completed
    assert not elsewhere.exists()
    assert "approval" in (result.final_response or "")
    assert not was_asked(bench)


def was_asked(bench: Bench) -> bool:
    """Whether a server has asked its client anything."""
    return any(b"/requestApproval" in line for line in bench.recorded.heard())


def made(bench: Bench) -> bool:
    """Whether the file is there."""
    path = bench.work / "made.txt"
    return path.exists() and path.read_text() == "made\n"
