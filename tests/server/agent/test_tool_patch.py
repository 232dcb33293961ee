"""`apply_patch`: what is shown, what is asked, what is changed, and what the model is told."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import jsonschema
import orjson
import pytest
from tests.server.agent.floor import WORKSPACE, FakeFloor, turn_on
from tests.server.exec.patching import contents, lay, prints, raw

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.sampling import ToolCall
from threadloom.agent.tools.command import Commands, ExecCommand
from threadloom.agent.tools.deciding import CANCELLED, DECLINED
from threadloom.agent.tools.patch import ApplyPatch, Patches, patch_in
from threadloom.agent.tools.patch.spec import FREEFORM, FUNCTION
from threadloom.agent.tools.permission import CLOSED, Ask, Refuse, Run, patch_verdict
from threadloom.exec.base import Fence
from threadloom.exec.terminals import Terminals
from threadloom_protocol.v2.values.policy import (
    DangerFullAccessSandboxPolicy,
    GranularApproval,
    GranularAskForApproval,
    ReadOnlySandboxPolicy,
)

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
UNASKED = ["item/started inProgress", "item/completed completed", "turn/diff/updated"]


def add(path: str, text: str = "x") -> str:
    return f"*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch"


def call(text: str, call_id: str = "c", *, freeform: bool = False) -> ToolCall:
    arguments = text if freeform else orjson.dumps({"input": text}).decode()
    return ToolCall(call_id, "apply_patch", arguments, freeform)


async def applied(turn: TurnInput, text: str, call_id: str = "c", *, freeform: bool = False) -> ToolResult:
    """What the tool makes of a patch; the end of it is told, as the loop does."""
    assert isinstance(turn.floor, FakeFloor)
    with anyio.fail_after(10):
        result = await ApplyPatch(Patches()).run(turn, call(text, call_id, freeform=freeform))
    turn.floor.emit(*result.emissions)
    return result


@pytest.fixture
def work(tmp_path: Path) -> Path:
    lay(tmp_path / "work", TREE)
    return tmp_path / "work"


# ── changes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("freeform", [False, True], ids=["function", "free-form"])
async def test_files_are_added_updated_moved_and_deleted(work: Path, freeform: bool) -> None:
    floor = FakeFloor()
    result = await applied(turn_on(floor, work), CHANGES, freeform=freeform)
    assert contents(work) == raw(CHANGED)
    assert floor.story() == UNASKED
    assert result.ok
    assert result.output == "Applied the patch:\nA new/d.txt\nD c.txt\nM a.txt\nM moved.txt"


async def test_the_changes_are_shown_before_they_are_made(work: Path) -> None:
    seen: dict[str, Any] = {}

    def look(emission: Any) -> None:
        if emission.notification.method == "item/started":
            seen.update(files=contents(work), item=orjson.loads(emission.event.item.to_json()))

    await applied(turn_on(FakeFloor(on=look), work), CHANGES)
    assert seen["files"] == raw(TREE)
    assert seen["item"]["type"] == "fileChange"
    assert [(Path(it["path"]).name, it["kind"]["type"]) for it in seen["item"]["changes"]] == [
        ("a.txt", "update"),
        ("b.txt", "update"),
        ("c.txt", "delete"),
        ("d.txt", "add"),
    ]
    assert seen["item"]["changes"][0]["diff"] == "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert seen["item"]["changes"][1]["kind"]["move_path"] == str(work / "moved.txt")


async def test_the_diff_is_of_the_whole_turn(work: Path) -> None:
    floor = FakeFloor()
    turn = turn_on(floor, work)
    await applied(turn, add("d.txt", "first"))
    await applied(turn, "*** Begin Patch\n*** Update File: d.txt\n@@\n-first\n+second\n*** End Patch")
    await applied(turn, "*** Begin Patch\n*** Delete File: d.txt\n*** End Patch")
    diffs = [it.event.diff for it in floor.told if it.notification.method == "turn/diff/updated"]  # type: ignore[attr-defined]
    assert ["+first" in it for it in diffs] == [True, False, False]
    assert ["+second" in it for it in diffs] == [False, True, False]
    assert diffs[2] == ""


async def test_patches_side_by_side_build_on_each_other(work: Path) -> None:
    turn = turn_on(FakeFloor(), work)
    async with anyio.create_task_group() as tasks:
        for word in ("one", "two"):
            text = f"*** Begin Patch\n*** Update File: a.txt\n@@\n-{word}\n+{word.upper()}\n*** End Patch"
            tasks.start_soon(applied, turn, text, word)
    assert (work / "a.txt").read_text() == "ONE\nTWO\n"


BROKEN = [
    pytest.param("hello", "Line 1 of the patch must be", id="no patch"),
    pytest.param("*** Begin Patch\n*** End Patch", "The patch is empty", id="empty"),
    pytest.param(
        f"{add('d.txt')[:-14]}\n*** Update File: a.txt\n@@\n-three\n+3\n*** End Patch", "a.txt", id="no such line"
    ),
    pytest.param("*** Begin Patch\n*** Delete File: none.txt\n*** End Patch", "does not exist", id="no such file"),
]


@pytest.mark.parametrize(("text", "told"), BROKEN)
@pytest.mark.parametrize("policy", ["untrusted", "on-request", "never"])
async def test_a_broken_patch_changes_nothing_and_only_the_model_hears_of_it(
    work: Path, text: str, told: str, policy: str
) -> None:
    floor, before = FakeFloor(), prints(work)
    result = await applied(turn_on(floor, work, policy=policy), text)
    assert prints(work) == before
    assert floor.story() == []
    assert not result.ok
    assert result.output.startswith("The patch does not work, and no file has changed.\n")
    assert told in result.output


@pytest.mark.parametrize("arguments", ["{}", '{"input": 1}', "*** Begin Patch"])
async def test_arguments_that_do_not_fit_are_told(work: Path, arguments: str) -> None:
    result = await ApplyPatch(Patches()).run(turn_on(FakeFloor(), work), ToolCall("c", "apply_patch", arguments))
    assert not result.ok
    assert result.output.startswith("The arguments of `apply_patch` do not fit.")


async def test_an_interrupted_turn_leaves_no_patch_half_done_and_none_untold(work: Path) -> None:
    scope = anyio.CancelScope()
    floor = FakeFloor(on=lambda it: scope.cancel() if it.notification.method == "item/started" else None)
    results = []
    with scope:
        results.append(await applied(turn_on(floor, work), CHANGES))
        await anyio.lowlevel.checkpoint()
        results.append(ToolResult("the turn went on"))
    assert scope.cancelled_caught
    assert [it.ok for it in results] == [True]
    assert floor.story() == UNASKED
    assert contents(work) == raw(CHANGED)


# ── who decides ───────────────────────────────────────────────────────────────────────────────────────────────────────

INSIDE, READ_ONLY, OPEN = Fence("workspace-write", ("/w",)), Fence("read-only"), Fence("danger-full-access")
ALL = GranularAskForApproval(granular=GranularApproval(sandbox_approval=True, rules=True, mcp_elicitations=True))
NONE = GranularAskForApproval(granular=GranularApproval(sandbox_approval=False, rules=True, mcp_elicitations=True))

VERDICTS = [
    # policy, inside, outside or protected, read-only, full access
    ("untrusted", Ask, Ask, Ask, Ask),
    ("on-request", Run, Ask, Ask, Run),
    (ALL, Run, Ask, Ask, Run),
    (NONE, Run, Refuse, Refuse, Run),
    ("never", Run, Refuse, Refuse, Run),
]


@pytest.mark.parametrize(("policy", "inside", "outside", "read_only", "full"), VERDICTS)
def test_the_policy_decides_who_does(policy: Any, inside: type, outside: type, read_only: type, full: type) -> None:
    assert isinstance(patch_verdict(policy, INSIDE, []), inside)
    assert isinstance(patch_verdict(policy, INSIDE, ["/x"]), outside)
    assert isinstance(patch_verdict(policy, READ_ONLY, ["/w/x"]), read_only)
    assert isinstance(patch_verdict(policy, OPEN, []), full)


def test_what_is_outside_is_named_but_not_at_any_length() -> None:
    found = patch_verdict("on-request", INSIDE, [f"/x/{at}" for at in range(9)])
    assert isinstance(found, Ask)
    assert found.reason == "Outside of what may be changed unasked: /x/0, /x/1, /x/2, /x/3, /x/4 and 4 more."


ENDS = {"accept": "completed", "acceptForSession": "completed", "decline": "declined", "cancel": "declined"}


@pytest.mark.parametrize("decision", ENDS)
async def test_whoever_is_asked_decides(work: Path, decision: str) -> None:
    floor, before = FakeFloor(decision), prints(work)
    result = await applied(turn_on(floor, work, policy="untrusted"), CHANGES)
    [question] = floor.questions
    params = orjson.loads(question.params.to_json())
    assert question.request.method == "item/fileChange/requestApproval"
    assert params | {"startedAtMs": 0} == {
        "threadId": "thread",
        "turnId": "turn",
        "itemId": "item-c",
        "startedAtMs": 0,
        "reason": None,
        "grantRoot": None,
        "origin": ["thread"],
    }
    assert floor.story()[:2] == ["item/started inProgress", f"item/completed {ENDS[decision]}"]
    if result.ok:
        assert contents(work) == raw(CHANGED)
    else:
        assert prints(work) == before
        assert result.output == (CANCELLED if decision == "cancel" else DECLINED)
    assert floor.stopped == (decision == "cancel")


async def test_a_yes_for_the_session_is_for_these_files(work: Path) -> None:
    floor = FakeFloor("acceptForSession", "decline")
    turn = turn_on(floor, work, policy="untrusted")
    assert (await applied(turn, add("d.txt", "1"))).ok
    assert (await applied(turn, add("d.txt", "2"))).ok
    assert len(floor.questions) == 1
    assert floor.story() == UNASKED * 2
    assert not (await applied(turn, add("e.txt"))).ok
    assert len(floor.questions) == 2
    assert (work / "d.txt").read_text() == "2\n"


@pytest.mark.parametrize("place", ["../outside.txt", ".git/hooks/pre-commit", ".codex/config.toml", "link/x.txt"])
async def test_what_lies_outside_or_is_protected_takes_a_word(work: Path, place: str) -> None:
    (work.parent / "elsewhere").mkdir()
    os.symlink(work.parent / "elsewhere", work / "link")
    floor = FakeFloor("decline", "accept")
    turn = turn_on(floor, work)
    assert not (await applied(turn, add(place))).ok
    assert not (work / place).exists()
    assert "Outside of what may be changed unasked" in str(orjson.loads(floor.questions[0].params.to_json())["reason"])
    assert (await applied(turn, add(place))).ok
    assert (work / place).read_text() == "x\n"


@pytest.mark.parametrize("way", ["file", "link", "beneath"])
async def test_a_repository_beside_what_leads_to_it_takes_a_word_too(work: Path, way: str) -> None:
    """`git clone --bare .bare` and worktrees around it, as many have them."""
    here = work / "main" if way == "beneath" else work
    lay(work, {".bare/config": "[core]\n", "main/x": ""})
    if way == "link":
        (here / ".git").symlink_to(work / ".bare")
    else:
        (here / ".git").write_text(f"gitdir: {work}/.bare\n")
    change = "*** Begin Patch\n*** Update File: .bare/config\n@@\n [core]\n+fsmonitor = ./mine\n*** End Patch"
    floor = FakeFloor("decline", "accept")
    assert not (await applied(turn_on(floor, work), change)).ok
    assert f"Outside of what may be changed unasked: {work}/.bare/config" in str(floor.questions[0].params.to_json())
    assert "may not be written" in (await applied(turn_on(FakeFloor(), work, policy="never"), change)).output
    assert (work / ".bare/config").read_text() == "[core]\n"
    assert (await applied(turn_on(floor, work), change)).ok


async def test_where_nobody_may_be_asked_it_is_refused_in_words(work: Path) -> None:
    floor = FakeFloor()
    result = await applied(turn_on(floor, work, policy="never"), add("../outside.txt"))
    assert result.output.startswith(f"Not applied, and no file has changed: {work.parent / 'outside.txt'} may not")
    assert floor.story() == []
    assert not (work.parent / "outside.txt").exists()
    assert (await applied(turn_on(floor, work, policy="never"), add("inside.txt"))).ok


async def test_a_read_only_fence_asks_for_every_file(work: Path) -> None:
    floor = FakeFloor("decline", "accept")
    turn = turn_on(floor, work, sandbox=ReadOnlySandboxPolicy())
    assert not (await applied(turn, add("d.txt"))).ok
    assert not (work / "d.txt").exists()
    assert (await applied(turn, add("d.txt"))).ok
    assert len(floor.questions) == 2


async def test_an_agent_that_may_only_read_asks_nobody(work: Path) -> None:
    floor = FakeFloor()
    turn = turn_on(floor, work, sandbox=ReadOnlySandboxPolicy(), read_only=True, terminals=Terminals())
    assert (await applied(turn, add("d.txt"))).output == CLOSED
    commands = Commands(SimpleNamespace(kind="none", guards_git=False), lambda cwd: {}, None, Patches())  # type: ignore[arg-type]
    script = f"apply_patch <<'EOF'\n{add('d.txt')}\nEOF"
    for cmd in (script, "touch d.txt"):
        arguments = {"cmd": cmd, "sandbox_permissions": "require_escalated"}
        asked = ToolCall("c", "exec_command", orjson.dumps(arguments).decode())
        result = await ExecCommand(commands).run(turn, asked)
        assert result.output.startswith(CLOSED)
    assert contents(work) == raw(TREE)
    assert floor.story() == []


async def test_without_a_fence_everything_may_be_written(work: Path) -> None:
    floor = FakeFloor()
    turn = turn_on(floor, work, sandbox=DangerFullAccessSandboxPolicy())
    assert (await applied(turn, add(str(work.parent / "outside.txt")))).ok
    assert floor.questions == []


async def test_a_file_that_changes_while_somebody_thinks_is_left_alone(work: Path) -> None:
    def meddle(emission: Any) -> None:
        if emission.notification.method == "item/started":
            (work / "c.txt").write_text("mine\n")

    floor = FakeFloor("accept", on=meddle)
    result = await applied(turn_on(floor, work, policy="untrusted"), CHANGES)
    assert floor.story() == ["item/started inProgress", "item/completed failed"]
    assert "c.txt has changed since the patch was planned" in result.output
    assert contents(work) == raw({**TREE, "c.txt": "mine\n"})


async def test_a_question_of_another_life_is_not_asked_again_and_its_answer_counts(work: Path) -> None:
    floor = FakeFloor("accept")
    floor.resumed = {"c"}
    result = await applied(turn_on(floor, work), CHANGES)  # the policy asks for nothing any more
    assert result.ok
    assert floor.story() == UNASKED[1:]  # the item began in that life
    assert contents(work) == raw(CHANGED)


@pytest.mark.parametrize(("decision", "status"), [("accept", "failed"), ("decline", "declined")])
async def test_files_that_changed_between_two_lives_are_left_alone(work: Path, decision: str, status: str) -> None:
    floor = FakeFloor(decision)
    floor.resumed = {"c"}
    (work / "c.txt").unlink()
    result = await applied(turn_on(floor, work, policy="untrusted"), CHANGES)
    assert floor.story() == [f"item/completed {status}"]
    assert not result.ok
    assert contents(work) == raw({name: text for name, text in TREE.items() if name != "c.txt"})


@pytest.mark.parametrize("what", ["file", "folder"])
async def test_a_link_that_was_laid_between_two_lives_leads_nowhere(work: Path, what: str) -> None:
    """The person has seen a file of the workspace, and no other."""
    lay(work.parent / "outside", {"in/a.txt": "one\n"})
    if what == "file":
        (work / "in").mkdir()
        (work / "in/a.txt").symlink_to(work.parent / "outside/in/a.txt")
    else:
        (work / "in").symlink_to(work.parent / "outside/in")
    floor = FakeFloor("accept")
    floor.resumed = {"c"}
    result = await applied(turn_on(floor, work, policy="untrusted"), add("in/a.txt", "two"))
    assert floor.story() == ["item/completed failed"]
    assert f"{work}/in/a.txt leads to {work.parent}/outside/in/a.txt by a link" in result.output
    assert contents(work.parent / "outside") == {"in/a.txt": b"one\n"}


async def test_without_a_floor_no_file_is_changed(work: Path) -> None:
    turn = turn_on(FakeFloor(), work)
    turn.floor = None
    result = await ApplyPatch(Patches()).run(turn, call(CHANGES))
    assert (result.ok, result.output) == (False, "No files can be changed here.")
    assert contents(work) == raw(TREE)


# ── as a command ──────────────────────────────────────────────────────────────────────────────────────────────────────

PATCH = add("d.txt")
SHELL = ["/bin/bash", "-lc"]
COMMANDS = [
    pytest.param(["apply_patch", PATCH], PATCH, None, id="a program"),
    pytest.param([*SHELL, f"apply_patch <<'EOF'\n{PATCH}\nEOF"], PATCH, None, id="heredoc"),
    pytest.param([*SHELL, f"apply_patch <<EOF\n{PATCH}\nEOF\n"], PATCH, None, id="heredoc without quotes"),
    pytest.param([*SHELL, f'applypatch << "PATCH"\n{PATCH}\nPATCH'], PATCH, None, id="other words"),
    pytest.param([*SHELL, f"cd sub && apply_patch <<'EOF'\n{PATCH}\nEOF"], PATCH, "sub", id="in a folder"),
    pytest.param([*SHELL, f"cd 'my sub' && apply_patch <<'EOF'\n{PATCH}\nEOF"], PATCH, "my sub", id="in quotes"),
    pytest.param(["zsh", "-c", f"apply_patch '{PATCH}'"], PATCH, None, id="an argument"),
]
OTHERS = [
    ["apply_patch"],
    ["apply_patch", PATCH, "more"],
    ["ls"],
    [*SHELL, "echo apply_patch"],
    [*SHELL, f"apply_patch <<'EOF'\n{PATCH}\nEOF\nrm -rf x"],
    [*SHELL, f"apply_patch <<'EOF'\n{PATCH}\nEOF\necho\nEOF"],
    [*SHELL, f"rm x && apply_patch <<'EOF'\n{PATCH}\nEOF"],
    [*SHELL, f"cd a b && apply_patch <<'EOF'\n{PATCH}\nEOF"],
    [*SHELL, f"cd $HOME && apply_patch <<'EOF'\n{PATCH}\nEOF"],
    [*SHELL, f"cd 'a && apply_patch <<'EOF'\n{PATCH}\nEOF"],
    [*SHELL, f"apply_patch '{PATCH}' && ls"],
]


@pytest.mark.parametrize(("argv", "text", "folder"), COMMANDS)
def test_a_command_that_is_a_patch_is_known_as_one(argv: list[str], text: str, folder: str | None) -> None:
    assert patch_in(argv) == (text, folder)


@pytest.mark.parametrize("argv", OTHERS)
def test_a_command_that_is_more_than_a_patch_is_none(argv: list[str]) -> None:
    assert patch_in(argv) is None


# ── as the model is told ──────────────────────────────────────────────────────────────────────────────────────────────


def test_the_model_is_told_of_it_in_two_ways() -> None:
    tool = ApplyPatch(Patches())
    assert (tool.spec(), tool.freeform()) == (FUNCTION, FREEFORM)
    jsonschema.Draft202012Validator.check_schema(FUNCTION["parameters"])
    jsonschema.validate({"input": PATCH}, FUNCTION["parameters"])
    assert (FREEFORM["type"], FREEFORM["format"]["syntax"]) == ("custom", "lark")
    for marker in ("*** Begin Patch", "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "):
        assert marker.strip() in FUNCTION["description"]
        assert marker in FREEFORM["format"]["definition"]


async def test_the_example_in_the_description_is_a_patch_that_works(work: Path) -> None:
    described = FUNCTION["description"]
    example = described[described.rindex("*** Begin Patch") : described.rindex("*** End Patch")] + "*** End Patch"
    lay(work, {"src/greet.py": 'def greet():\n    print("Hi")\n'})
    assert (await applied(turn_on(FakeFloor(), work, sandbox=WORKSPACE), example)).ok
    assert (work / "src/greet.py").read_text() == 'def greet():\n    print("Hello")\n'
    assert (work / "notes.txt").read_text() == "One line.\n"
