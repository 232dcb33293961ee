"""Patches as a client sees them: shown, asked about, applied or not; decided by a person or by a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.server.exec.patching import contents, lay, prints, raw
from tests.support.conformance import Conformance
from tests.support.mock_model import Reply, call, completed, mock_model, says, sse, wrong
from tests.support.places import running
from tests.support.processes import server_home
from tests.support.talk import Message, Talk, story, talking, text_of

TREE = {"a.txt": "one\ntwo\n", "b.txt": "bee\n", "c.txt": "sea\n"}
CHANGES = """\
*** Begin Patch
*** Add File: new/d.txt
+dee
*** Update File: a.txt
@@
 one
-two
+2
*** Update File: b.txt
*** Move to: moved.txt
*** Delete File: c.txt
*** End Patch"""
CHANGED = {"a.txt": "one\n2\n", "moved.txt": "bee\n", "new/d.txt": "dee\n"}
# Folders of tests are in /tmp, which is open unless one says otherwise.
FENCE = {"type": "workspaceWrite", "excludeSlashTmp": True, "excludeTmpdirEnvVar": True}
WAITING = {"type": "active", "activeFlags": ["waitingOnApproval"]}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    lay(tmp_path / "work", TREE)
    return tmp_path / "work"


def function(text: str) -> str:
    """A line that makes the model call the tool."""
    return f"call apply_patch {orjson.dumps({'input': text}).decode()}"


def add(path: str, text: str = "x") -> str:
    return f"*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch"


async def begin(talk: Talk, work: Path, text: str, policy: str = "on-request", **more: Any) -> str:
    """A new thread, and a turn of it under way; the thread's id."""
    thread = await talk.start(cwd=str(work), approvalPolicy=policy)
    await talk.begin(thread["id"], text, **({"sandboxPolicy": FENCE} | more))
    return str(thread["id"])


async def ended(talk: Talk, thread_id: str) -> Message:
    return dict((await talk.until("turn/completed", threadId=thread_id))["turn"])


def changes(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """What became of the patches: method and status."""
    items = [it for it in messages if it["params"].get("item", {}).get("type") == "fileChange"]
    return [(it["method"], it["params"]["item"]["status"]) for it in items]


BOTH = [("item/started", "inProgress"), ("item/completed", "completed")]


@pytest.mark.parametrize("written", [function(CHANGES), CHANGES], ids=["function", "free-form"])
async def test_a_patch_is_shown_applied_and_summed_up(talk: Talk, work: Path, written: str) -> None:
    thread_id = await begin(talk, work, written)
    turn = await ended(talk, thread_id)
    heard = talk.heard(thread=thread_id)
    assert contents(work) == raw(CHANGED)
    assert changes(heard) == BOTH
    [started] = [it["params"] for it in heard if (it["method"], changes([it])) == ("item/started", BOTH[:1])]
    assert [(Path(it["path"]).name, it["kind"]) for it in started["item"]["changes"]] == [
        ("a.txt", {"type": "update", "move_path": None}),
        ("b.txt", {"type": "update", "move_path": str(work / "moved.txt")}),
        ("c.txt", {"type": "delete"}),
        ("d.txt", {"type": "add"}),
    ]
    [told] = talk.heard("turn/diff/updated", thread=thread_id)
    assert told["params"]["turnId"] == turn["id"]
    for line in ("-two\n+2\n", "rename from b.txt\nrename to moved.txt\n", "deleted file mode", "+dee\n"):
        assert line in told["params"]["diff"]
    methods = story(heard)
    assert methods.index("item/completed fileChange") < methods.index("turn/diff/updated")
    assert "apply_patch answered: Applied the patch:\nA new/d.txt\nD c.txt\nM a.txt\nM moved.txt" in text_of(turn)
    read = await talk.ask("thread/read", threadId=thread_id, includeTurns=True)
    [kept] = [it for it in read["thread"]["turns"][-1]["items"] if it["type"] == "fileChange"]
    assert (kept["status"], len(kept["changes"])) == ("completed", 4)


async def test_a_question_comes_before_the_change_and_names_its_item(talk: Talk, work: Path) -> None:
    thread_id = await begin(talk, work, function(CHANGES), "untrusted")
    question = await talk.question(threadId=thread_id)
    assert question["method"] == "item/fileChange/requestApproval"
    assert contents(work) == raw(TREE)
    heard = talk.heard(thread=thread_id)
    [item] = [it["params"]["item"] for it in heard if changes([it])]
    assert question["params"] | {"startedAtMs": 0} == {
        "threadId": thread_id,
        "turnId": question["params"]["turnId"],
        "itemId": item["id"],
        "startedAtMs": 0,
        "reason": None,
        "grantRoot": None,
        "origin": [thread_id],
    }
    await talk.decide(question, "accept")
    await ended(talk, thread_id)
    assert contents(work) == raw(CHANGED)
    order = [it for it in story(talk.heard(thread=thread_id)) if "agentMessage" not in it and "userMessage" not in it]
    assert order[order.index("item/started fileChange") - 1 :][:8] == [
        "thread/status/changed active",
        "item/started fileChange",
        "item/fileChange/requestApproval",
        "serverRequest/resolved",
        "thread/status/changed active",
        "item/completed fileChange",
        "turn/diff/updated",
        "thread/tokenUsage/updated",
    ]
    statuses = [it["params"]["status"] for it in talk.heard("thread/status/changed", thread=thread_id)]
    assert WAITING in statuses
    assert statuses[-1] == {"type": "idle"}


async def test_a_no_changes_nothing_and_the_turn_goes_on(talk: Talk, work: Path) -> None:
    before = prints(work)
    thread_id = await begin(talk, work, function(CHANGES), "untrusted")
    await talk.decide(await talk.question(threadId=thread_id), "decline")
    turn = await ended(talk, thread_id)
    assert prints(work) == before
    assert turn["status"] == "completed"
    assert "apply_patch answered: The user said no to this." in text_of(turn)
    assert changes(talk.heard(thread=thread_id)) == [("item/started", "inProgress"), ("item/completed", "declined")]
    assert talk.heard("turn/diff/updated", thread=thread_id) == []


async def test_a_cancel_changes_nothing_and_ends_the_turn(talk: Talk, work: Path) -> None:
    before = prints(work)
    thread_id = await begin(talk, work, f"{function(CHANGES)}\necho Never said.", "untrusted")
    await talk.decide(await talk.question(threadId=thread_id), "cancel")
    turn = await ended(talk, thread_id)
    assert prints(work) == before
    assert (turn["status"], text_of(turn)) == ("interrupted", "")
    assert changes(talk.heard(thread=thread_id)) == [("item/started", "inProgress"), ("item/completed", "declined")]


async def test_a_yes_for_the_session_holds_for_the_file_and_over_turns(talk: Talk, work: Path) -> None:
    thread_id = await begin(talk, work, function(add("d.txt", "1")), "untrusted")
    await talk.decide(await talk.question(threadId=thread_id), "acceptForSession")
    await ended(talk, thread_id)
    asked = len(talk.heard("item/fileChange/requestApproval"))
    assert (await talk.turn(thread_id, function(add("d.txt", "2"))))["status"] == "completed"
    assert len(talk.heard("item/fileChange/requestApproval")) == asked
    assert (work / "d.txt").read_text() == "2\n"
    await talk.begin(thread_id, function(add("e.txt")))
    await talk.decide(await talk.question(threadId=thread_id), "decline")
    await ended(talk, thread_id)
    assert not (work / "e.txt").exists()


async def test_a_broken_patch_changes_nothing_and_the_model_hears_where(talk: Talk, work: Path) -> None:
    before = prints(work)
    broken = CHANGES.replace("-two", "-three")
    thread_id = await begin(talk, work, function(broken))
    turn = await ended(talk, thread_id)
    assert prints(work) == before
    assert "apply_patch answered: The patch does not work, and no file has changed." in text_of(turn)
    assert "a.txt" in text_of(turn)
    assert changes(talk.heard(thread=thread_id)) == []


OUTSIDE = [
    pytest.param("../outside.txt", FENCE, id="outside"),
    pytest.param(".git/config", FENCE, id="protected"),
    pytest.param("inside.txt", {"type": "readOnly"}, id="read-only"),
]


@pytest.mark.parametrize(("path", "fence"), OUTSIDE)
async def test_what_may_not_be_written_is_asked_about(talk: Talk, work: Path, path: str, fence: Message) -> None:
    thread_id = await begin(talk, work, function(add(path)), sandboxPolicy=fence)
    question = await talk.question(threadId=thread_id)
    assert question["params"]["reason"]
    assert not (work / path).exists()
    await talk.decide(question, "accept")
    await ended(talk, thread_id)
    assert (work / path).read_text() == "x\n"


@pytest.mark.parametrize(("path", "fence"), OUTSIDE)
async def test_where_nobody_is_asked_it_is_refused(talk: Talk, work: Path, path: str, fence: Message) -> None:
    thread_id = await begin(talk, work, function(add(path)), "never", sandboxPolicy=fence)
    turn = await ended(talk, thread_id)
    assert "apply_patch answered: Not applied, and no file has changed" in text_of(turn)
    assert not (work / path).exists()
    assert changes(talk.heard(thread=thread_id)) == []


@pytest.mark.parametrize("tool", ["exec_command", "shell"])
async def test_a_command_that_is_a_patch_is_a_patch(talk: Talk, work: Path, tool: str) -> None:
    (work / "sub").mkdir()
    script = f"cd sub && apply_patch <<'EOF'\n{add('d.txt')}\nEOF\n"
    arguments = {"cmd": script} if tool == "exec_command" else {"command": ["bash", "-lc", script]}
    thread_id = await begin(talk, work, f"call {tool} {orjson.dumps(arguments).decode()}", "untrusted")
    question = await talk.question(threadId=thread_id)
    assert question["method"] == "item/fileChange/requestApproval"
    await talk.decide(question, "accept")
    turn = await ended(talk, thread_id)
    assert (work / "sub/d.txt").read_text() == "x\n"
    assert f"{tool} answered: Applied the patch:\nA d.txt\nFor patches there is the tool" in text_of(turn)
    assert "item/started commandExecution" not in story(talk.heard(thread=thread_id))


async def test_a_line_of_the_rehearsal_writes_a_file(talk: Talk, work: Path) -> None:
    await ended(talk, await begin(talk, work, "patch notes.txt with Buy wool"))
    assert (work / "notes.txt").read_text() == "Buy wool\n"


# ── over a restart ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_question_outlives_the_server_and_the_patch_is_applied_once(
    tmp_path: Path, work: Path, conformance: Conformance
) -> None:
    (tmp_path / "room").mkdir()
    async with running("memory", tmp_path / "room", conformance) as place, talking(place) as talk:
        thread_id = await begin(talk, work, CHANGES, "untrusted")  # free-form
        question = await talk.question(threadId=thread_id)
    assert contents(work) == raw(TREE)
    async with running("memory", tmp_path / "room", conformance) as place, talking(place) as talk:
        await talk.ask("thread/resume", threadId=thread_id)
        again = await talk.question(threadId=thread_id)
        assert (again["id"], again["params"]) == (question["id"], question["params"])
        await talk.decide(again, "accept")
        turn = await ended(talk, thread_id)
        assert turn["id"] == question["params"]["turnId"]
        assert "apply_patch answered: Applied the patch:" in text_of(turn)
    assert contents(work) == raw(CHANGED)


# ── decided by a model ────────────────────────────────────────────────────────────────────────────────────────────────

REVIEW = ["item/autoApprovalReview/started", "item/autoApprovalReview/completed"]


async def reviewed(talk: Talk, work: Path, text: str) -> tuple[Message, list[Message]]:
    """A turn of which a model decides what may be done; the reviews."""
    thread_id = await begin(talk, work, text, "untrusted", approvalsReviewer="auto_review")
    turn = await ended(talk, thread_id)
    heard = talk.heard(thread=thread_id)
    assert not [it for it in heard if it["method"].endswith("requestApproval")]
    return turn, [it for it in heard if it["method"] in REVIEW]


async def test_a_model_allows_a_patch_in_a_persons_place(talk: Talk, work: Path) -> None:
    _, [began, done] = await reviewed(talk, work, function(CHANGES))
    assert contents(work) == raw(CHANGED)
    assert [began["method"], done["method"]] == REVIEW
    assert began["params"]["action"]["type"] == "applyPatch"
    assert (began["params"]["review"]["status"], done["params"]["review"]["status"]) == ("inProgress", "approved")
    assert began["params"]["reviewId"] == done["params"]["reviewId"]


async def test_a_model_declines_a_patch_and_the_agent_hears_why(talk: Talk, work: Path) -> None:
    before = prints(work)
    turn, [_, done] = await reviewed(talk, work, function(add("d.txt", "forbidden")))
    assert prints(work) == before
    assert done["params"]["review"]["status"] == "denied"
    assert done["params"]["review"]["rationale"] in text_of(turn)
    assert turn["status"] == "completed"


async def test_a_model_decides_on_commands_too(talk: Talk, work: Path) -> None:
    lines = "run outside the sandbox echo out > made.txt\nrun outside the sandbox echo forbidden > not-made.txt"
    _, [began, yes, _, no] = await reviewed(talk, work, lines)
    assert (began["params"]["action"]["type"], began["params"]["action"]["source"]) == ("command", "unifiedExec")
    assert [it["params"]["review"]["status"] for it in (yes, no)] == ["approved", "denied"]
    assert (work / "made.txt").read_text() == "out\n"
    assert not (work / "not-made.txt").exists()


PROVIDER = """\
model = "m"
model_provider = "mock"
[model_providers.mock]
base_url = "{url}"
request_max_retries = 0
stream_max_retries = 0
[auto_review]
model = "judge"
policy = "Nothing on Fridays."
"""


def judgement(outcome: str) -> Reply:
    return says(orjson.dumps({"outcome": outcome, "risk_level": "low", "rationale": "So."}).decode())


OUTCOMES = [
    pytest.param(judgement("allow"), "approved", id="allow"),
    pytest.param(judgement("deny"), "denied", id="deny"),
    pytest.param(wrong(400, "no such model"), "denied", id="failing"),
    pytest.param(says("I would not know."), "denied", id="unreadable"),
]


@pytest.mark.parametrize(("reply", "status"), OUTCOMES)
async def test_a_review_is_one_more_request_to_the_same_provider(
    tmp_path: Path, work: Path, conformance: Conformance, reply: Reply, status: str
) -> None:
    home = server_home(tmp_path / "room")
    home.mkdir(parents=True, exist_ok=True)
    patching = Reply([sse(call("apply_patch", {"input": CHANGES}), completed())])
    async with mock_model(patching, reply, says("Done.")) as server:
        (home / "config.toml").write_text(PROVIDER.format(url=server.url))
        async with running("memory", tmp_path / "room", conformance) as place, talking(place) as talk:
            _, [_, done] = await reviewed(talk, work, "Patch it.")
            usage = talk.heard("thread/tokenUsage/updated")[-1]["params"]["tokenUsage"]
    assert done["params"]["review"]["status"] == status
    assert contents(work) == raw(CHANGED if status == "approved" else TREE)
    assert [body["model"] for body in server.bodies] == ["m", "judge", "m"]
    review = server.bodies[1]
    assert review["text"]["format"]["strict"] is True
    assert "tools" not in review
    assert "Nothing on Fridays." in str(review["input"])
    assert usage["total"]["totalTokens"] == 2 * 13  # of the thread's own two requests
