"""What a command may do unasked: every policy, fence and sandbox against commands of every kind."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from threadloom.agent.tools.permission import (
    EXPOSED_GIT,
    EXPOSED_MODES,
    LINKED,
    NEVER,
    OPEN,
    Ask,
    Refuse,
    Run,
    Walls,
    Wish,
    verdict,
)
from threadloom.exec.base import Fence
from threadloom_protocol.v2.values.policy import GranularApproval, GranularAskForApproval


def granular(sandbox: bool) -> GranularAskForApproval:
    rest = {"rules": not sandbox, "mcp_elicitations": not sandbox}
    return GranularAskForApproval(granular=GranularApproval(sandbox_approval=sandbox, **rest))


POLICIES: dict[str, Any] = {
    "untrusted": "untrusted",
    "on-request": "on-request",
    "never": "never",
    "some": granular(True),
    "none": granular(False),
}
SAFE = ["bash", "-lc", "ls -la && cat a.txt | wc -l"]
PLAIN = ["bash", "-lc", "make all > log"]
DANGEROUS = ["bash", "-lc", "rm -rf build"]

STRONG = Walls("bubblewrap", guards_git=True)
WEAK = Walls("landlock", guards_git=False)
NONE = Walls("none", guards_git=False)

READ_ONLY = Fence("read-only")
HERE = "/"  # where a command runs, for all that does not depend on it

# How each policy takes a safe, a plain and a dangerous command that stays inside its fence.
INSIDE = {
    "untrusted": "run ask ask",
    "on-request": "run run ask",
    "never": "run run run",
    "some": "run run ask",
    "none": "run run refuse",
}
# And one that wants out of its fence.
OUTSIDE = {
    "untrusted": "ask ask ask",
    "on-request": "ask ask ask",
    "never": "refuse refuse refuse",
    "some": "ask ask ask",
    "none": "refuse refuse refuse",
}
# And one that may write where the sandbox of this machine lets it change more than its fence says.
EXPOSED = {
    "untrusted": "run ask ask",
    "on-request": "run ask ask",
    "never": "run refuse refuse",
    "some": "run ask ask",
    "none": "run refuse refuse",
}


def seen(found: Run | Ask | Refuse) -> str:
    return {Run: "run", Ask: "ask", Refuse: "refuse"}[type(found)]


def table(policy: str, fence: Fence, walls: Walls, cwd: str = HERE, **wish: Any) -> str:
    return " ".join(
        seen(verdict(POLICIES[policy], Wish(argv, fence, cwd, **wish), walls)) for argv in (SAFE, PLAIN, DANGEROUS)
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Fence:
    return Fence("workspace-write", (str(tmp_path),))


@pytest.fixture
def repository(tmp_path: Path, workspace: Fence) -> Fence:
    (tmp_path / ".git").mkdir()
    return workspace


@pytest.mark.parametrize(("policy", "walls"), list(product(POLICIES, (STRONG, WEAK, NONE))))
def test_inside_every_fence(policy: str, walls: Walls, workspace: Fence) -> None:
    for fence in (READ_ONLY, workspace, OPEN):
        leaks = fence is workspace and walls is WEAK
        assert table(policy, fence, walls) == (EXPOSED if leaks else INSIDE)[policy], fence


@pytest.mark.parametrize(("policy", "walls"), list(product(POLICIES, (STRONG, WEAK, NONE))))
def test_out_of_every_fence(policy: str, walls: Walls, repository: Fence) -> None:
    for fence in (READ_ONLY, repository):
        assert table(policy, fence, walls, escalated=True) == OUTSIDE[policy], fence


@pytest.mark.parametrize("policy", POLICIES)
def test_where_there_is_no_fence_nobody_can_get_out_of_it(policy: str) -> None:
    assert table(policy, OPEN, STRONG, escalated=True) == INSIDE[policy]


@pytest.mark.parametrize("policy", POLICIES)
def test_in_a_repository_that_the_sandbox_cannot_guard(policy: str, repository: Fence) -> None:
    assert table(policy, repository, WEAK) == EXPOSED[policy]
    assert table(policy, repository, STRONG) == INSIDE[policy]
    assert table(policy, repository, NONE) == INSIDE[policy]  # nothing is started where no sandbox works
    reading = Fence("read-only", repository.writable_roots)
    assert table(policy, reading, WEAK) == INSIDE[policy]  # it cannot write there at all


@pytest.mark.parametrize("name", ["file", "folder"])
@pytest.mark.parametrize("where", ["elsewhere", "here/between", "here/beneath"])
def test_a_repository_is_named_wherever_a_command_could_write_to_it(name: str, where: str, tmp_path: Path) -> None:
    for folder in ("elsewhere", "here/between/cwd", "here/beneath"):
        (tmp_path / folder).mkdir(parents=True)
    fence = Fence("workspace-write", (str(tmp_path / "here"), str(tmp_path / "elsewhere")))
    wish = Wish(PLAIN, fence, str(tmp_path / "here/between/cwd"), justification="mine")
    assert verdict("on-request", wish, WEAK) == Ask(fence, EXPOSED_MODES)
    git = tmp_path / where / ".git"
    git.write_text("gitdir: ../store\n") if name == "file" else git.mkdir()
    assert verdict("on-request", wish, WEAK) == Ask(fence, EXPOSED_GIT)


@pytest.mark.parametrize("name", [".git", ".threadloom"])
@pytest.mark.parametrize("policy", POLICIES)
def test_where_a_link_leads_to_what_is_guarded_a_command_could_put_another_in_its_place(
    policy: str, name: str, workspace: Fence, tmp_path: Path
) -> None:
    cwd = tmp_path / "one/two"
    cwd.mkdir(parents=True)
    beneath = cwd / "three"
    beneath.mkdir()
    (beneath / name).symlink_to(tmp_path)
    assert table(policy, workspace, STRONG, str(cwd)) == INSIDE[policy]
    link = tmp_path / "one" / name
    link.symlink_to("nowhere")
    assert table(policy, workspace, STRONG, str(cwd)) == EXPOSED[policy]
    assert verdict("on-request", Wish(PLAIN, workspace, str(cwd)), STRONG) == Ask(workspace, LINKED.format(link))
    assert table(policy, READ_ONLY, STRONG, str(cwd)) == INSIDE[policy]
    assert table(policy, workspace, NONE, str(cwd)) == INSIDE[policy]


@pytest.mark.parametrize("policy", ["untrusted", "on-request", "some"])
def test_a_yes_is_to_the_fence_that_was_asked_about(policy: str, workspace: Fence) -> None:
    inside = verdict("untrusted", Wish(PLAIN, workspace, HERE, justification="why not"), STRONG)
    outside = verdict(
        POLICIES[policy], Wish(SAFE, workspace, HERE, escalated=True, justification="to fetch it"), STRONG
    )
    assert inside == Ask(workspace, "why not")
    assert outside == Ask(OPEN, "to fetch it")
    assert verdict(POLICIES[policy], Wish(SAFE, workspace, HERE), STRONG) == Run(workspace)


def test_what_nobody_may_be_asked_is_told_to_the_model(workspace: Fence) -> None:
    assert verdict("never", Wish(SAFE, workspace, HERE, escalated=True), STRONG) == Refuse(NEVER)
    assert verdict(granular(False), Wish(DANGEROUS, workspace, HERE), STRONG) == Refuse(NEVER)


def test_a_program_of_the_folder_is_not_known_to_be_safe_in_another(workspace: Fence) -> None:
    relative = ["bash", "-lc", "./ls"]
    assert seen(verdict("untrusted", Wish(relative, workspace, HERE), STRONG)) == "ask"
    assert seen(verdict("untrusted", Wish(relative, workspace, HERE, elsewhere=True), STRONG)) == "ask"


@pytest.mark.parametrize(("policy", "argv"), list(product(POLICIES, (SAFE, PLAIN, DANGEROUS))))
def test_what_was_asked_before_a_restart_waits_for_its_answer(policy: str, argv: list[str], repository: Fence) -> None:
    """Whatever the policy says by now: the question is on somebody's screen."""
    for walls in (STRONG, WEAK, NONE):
        found = verdict(POLICIES[policy], Wish(argv, repository, HERE), walls, asked=True)
        assert isinstance(found, Ask)
        assert found.fence == repository
        out = verdict(POLICIES[policy], Wish(argv, repository, HERE, escalated=True), walls, asked=True)
        assert isinstance(out, Ask)
        assert out.fence is OPEN
