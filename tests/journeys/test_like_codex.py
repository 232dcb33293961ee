"""What clients of Codex count on: found by asking both servers the same, side by side."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from tests.support.talk import Message, Talk, said

NOBODY = "01a1e24a-0000-7000-8000-000000000000"
PROFILES = {":read-only": "readOnly", ":workspace": "workspaceWrite", ":danger-full-access": "dangerFullAccess"}


async def settings_of(talk: Talk, method: str, **params: Any) -> Message:
    """What a request makes of the settings of a thread."""
    await talk.ask(method, params)
    return dict((await talk.until("thread/settings/updated", threadId=params["threadId"]))["threadSettings"])


# ── permissions by name ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_sets_of_permissions_are_listed_page_by_page(talk: Talk) -> None:
    listed = await talk.ask("permissionProfile/list")
    assert [(it["id"], it["allowed"]) for it in listed["data"]] == [(it, True) for it in PROFILES]
    page = await talk.ask("permissionProfile/list", limit=2)
    rest = await talk.ask("permissionProfile/list", cursor=page["nextCursor"])
    assert (page["data"] + rest["data"], rest["nextCursor"]) == (listed["data"], None)
    assert (await talk.refused("permissionProfile/list", cursor="x")).message == "invalid cursor: x"


@pytest.mark.parametrize(("profile", "sandbox"), PROFILES.items())
async def test_a_set_of_permissions_is_a_sandbox(talk: Talk, profile: str, sandbox: str) -> None:
    other = "danger-full-access" if sandbox == "readOnly" else "read-only"
    named = {"id": profile, "extends": None}
    begun = await talk.ask("thread/start", permissions=profile)
    assert (begun["sandbox"]["type"], begun["activePermissionProfile"]) == (sandbox, named)
    plain = await talk.ask("thread/start", sandbox=other)
    assert plain["activePermissionProfile"] is None
    source = plain["thread"]["id"]
    forked = await talk.ask("thread/fork", threadId=source, permissions=profile)
    assert (forked["sandbox"]["type"], forked["activePermissionProfile"]) == (sandbox, named)
    spoken = await settings_of(talk, "turn/start", threadId=source, input=said("echo x"), permissions=profile)
    assert (spoken["sandboxPolicy"]["type"], spoken["activePermissionProfile"]) == (sandbox, named)
    await talk.until("turn/completed", threadId=source)
    resumed = await talk.ask("thread/resume", threadId=source, sandbox=other)
    assert (resumed["sandbox"]["type"] != sandbox, resumed["activePermissionProfile"]) == (True, None)
    await talk.until("thread/settings/updated", threadId=source)
    changed = await settings_of(talk, "thread/settings/update", threadId=source, permissions=profile)
    assert (changed["sandboxPolicy"]["type"], changed["activePermissionProfile"]) == (sandbox, named)


@pytest.mark.parametrize("method", ["thread/start", "thread/resume", "thread/fork", "turn/start"])
async def test_permissions_that_are_unclear_are_refused_and_never_passed_over(talk: Talk, method: str) -> None:
    thread = await talk.start(sandbox="read-only")
    whose = {} if method == "thread/start" else {"threadId": thread["id"]}
    words = {"input": said("echo x")} if method == "turn/start" else {}
    unknown = await talk.refused(method, **whose, **words, permissions="anything")
    assert unknown.code == -32600
    assert all(it in unknown.message for it in ("anything", *PROFILES))
    name, other = ("sandboxPolicy", {"type": "readOnly"}) if words else ("sandbox", "read-only")
    both = await talk.refused(method, **whose, **words, permissions=":workspace", **{name: other})
    assert (both.code, both.message) == (-32600, f"`permissions` cannot be combined with `{name}`")
    assert (await talk.ask("thread/resume", threadId=thread["id"]))["sandbox"]["type"] == "readOnly"


# ── the mode a thread works in ────────────────────────────────────────────────────────────────────────────────────────


async def test_the_mode_that_is_told_has_the_model_and_effort_in_force(talk: Talk) -> None:
    thread = await talk.start()
    told = await settings_of(talk, "thread/settings/update", threadId=thread["id"], model="other", effort="high")
    mode = {
        "mode": "default",
        "settings": {"model": "other", "reasoning_effort": "high", "developer_instructions": None},
    }
    assert told["collaborationMode"] == mode
    assert (await talk.ask("thread/resume", threadId=thread["id"]))["collaborationMode"] == mode


async def test_a_mode_goes_before_the_model_that_is_asked_for_by_itself(talk: Talk) -> None:
    thread = await talk.start()
    mode = {"mode": "default", "settings": {"model": "chosen", "reasoning_effort": "low"}}
    asked = {"collaborationMode": mode, "model": "other", "effort": "high"}
    told = await settings_of(talk, "thread/settings/update", threadId=thread["id"], **asked)
    assert (told["model"], told["effort"]) == ("chosen", "low")


# ── a thread by the path of its log ───────────────────────────────────────────────────────────────────────────────────


async def test_a_path_says_which_thread_is_meant_before_an_id_does(talk: Talk) -> None:
    thread, other = await talk.start(), await talk.start()
    await talk.turn(thread["id"], "echo One.")
    for threadless in ("", NOBODY, other["id"]):
        resumed = await talk.ask("thread/resume", threadId=threadless, path=thread["path"])
        assert resumed["thread"]["id"] == thread["id"]
        forked = await talk.ask("thread/fork", threadId=threadless, path=thread["path"])
        assert forked["thread"]["forkedFromId"] == thread["id"]
    assert (await talk.ask("thread/resume", threadId=other["id"], path=""))["thread"]["id"] == other["id"]


@pytest.mark.parametrize("method", ["thread/resume", "thread/fork"])
async def test_a_path_to_no_thread_of_ours_is_refused(talk: Talk, tmp_path: Path, method: str) -> None:
    thread = await talk.start()
    elsewhere = tmp_path / Path(thread["path"]).name
    missing = await talk.refused(method, threadId=thread["id"], path=str(elsewhere))
    assert missing.message == f"failed to resolve rollout path `{elsewhere}`: file does not exist"
    copyfile(thread["path"], elsewhere)
    foreign = await talk.refused(method, threadId=thread["id"], path=str(elsewhere))
    assert (foreign.code, foreign.message) == (
        -32600,
        f"failed to resolve rollout path `{elsewhere}`: it is no thread of this server",
    )


# ── when something was said ───────────────────────────────────────────────────────────────────────────────────────────


async def test_what_was_said_has_its_time_wherever_it_is_read(talk: Talk) -> None:
    thread = await talk.start()
    await talk.turn(thread["id"], "echo One.")
    told = [it["params"]["item"] for it in talk.heard("item/completed", thread=thread["id"])]
    assert [it["type"] for it in told] == ["userMessage", "agentMessage"]
    assert all(it["startedAtMs"] <= it["completedAtMs"] for it in told)
    listed = (await talk.ask("thread/items/list", threadId=thread["id"]))["data"]
    assert [it["item"] for it in listed] == told
    assert [(it["startedAtMs"], it["completedAtMs"]) for it in listed] == [
        (it["startedAtMs"], it["completedAtMs"]) for it in told
    ]
