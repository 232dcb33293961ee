"""What the model is told before a prompt: all of it once, then only what has changed."""

from __future__ import annotations

import base64
from datetime import date
from pathlib import Path, PurePath
from typing import Any

import pytest
from tests.server.threads.studio import DAY, Studio

from threadloom.agent import pictures
from threadloom.agent.history import user_item
from threadloom.events import Aside
from threadloom.exec import lookup
from threadloom.exec.lookup import login_shell
from threadloom.threads.attachments import attached
from threadloom.threads.context import environment
from threadloom.threads.forks import fork
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.values.content import (
    AudioUserInput,
    ImageUserInput,
    LocalAudioUserInput,
    LocalImageUserInput,
    MentionUserInput,
    SkillUserInput,
    TextUserInput,
)

PNG = b"\x89PNG\r\n\x1a\n and so on"
GIF = f"data:image/gif;base64,{base64.b64encode(b'GIF89a').decode()}"
PLACE = "<environment_context>"


def kinds(told: list[str]) -> list[str]:
    """What was told, in short."""
    return ["place" if it.startswith(PLACE) else "rules" if "Instructions for this" in it else it for it in told]


def day(loom: Studio) -> date:
    return date.fromtimestamp(loom.now / 1000)


def place(told: list[str]) -> str:
    return next(it for it in reversed(told) if it.startswith(PLACE))


# ── once ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_first_prompt_comes_behind_the_rules_and_the_place(loom: Studio) -> None:
    (loom.work / "AGENTS.md").write_text("Use both hands.")
    (loom.room / "home/AGENTS.md").write_text("Be brief.")
    thread = loom.born(developer_instructions="Weave only in blue.")
    await loom.turn(thread, "Begin.")
    assert list(loom.model.asked[0].instructions) == ["You are a weaver.", "Weave only in blue."]
    told = loom.model.told()
    assert kinds(told) == ["rules", "place", "Begin."]
    assert told[0].index("Be brief.") < told[0].index("Use both hands.")
    assert f'file="{loom.work}/AGENTS.md"' in told[0]
    for fact in (
        f"<cwd>{loom.work}</cwd>",
        "<approval_policy>on-request (",
        "<sandbox_mode>workspace-write (",
        "<network_access>restricted</network_access>",
        "<shell>bash</shell>",
        f"<current_date>{day(loom)}</current_date>",
    ):
        assert fact in told[1]
    assert all(it["role"] == "user" for it in loom.model.asked[0].history)
    assert thread.briefing.sources() == [f"{loom.room}/home/AGENTS.md", f"{loom.work}/AGENTS.md"]

    await loom.turn(thread, "Go on.")
    assert kinds(loom.model.told()) == ["rules", "place", "Begin.", "ok", "Go on."]


async def test_a_thread_may_bring_its_own_instructions(loom: Studio) -> None:
    loom.rules["developer_instructions"] = "Weave only in red."
    await loom.turn(loom.born())
    assert list(loom.model.asked[-1].instructions) == ["You are a weaver.", "Weave only in red."]
    await loom.turn(loom.born(base_instructions="You are a tailor.", developer_instructions="Blue."))
    assert list(loom.model.asked[-1].instructions) == ["You are a tailor.", "Blue."]


async def test_it_is_in_the_log_for_the_model_alone(loom: Studio) -> None:
    (loom.work / "AGENTS.md").write_text("Use both hands.")
    thread = loom.born()
    await loom.turn(thread, "Begin.")
    lines = [it for it in loom.lines(thread) if it.get("model") and "method" not in it]
    [told] = [it["model"] for it in lines if it["model"][0]["@"] == "context"]
    assert [it.get("role") for it in told] == [None, "user", "user"]
    assert "both hands" not in str([it.get("params") for it in loom.lines(thread)])


async def test_after_a_restart_it_is_not_told_again(loom: Studio) -> None:
    (loom.work / "AGENTS.md").write_text("Use both hands.")
    thread = loom.born()
    await loom.turn(thread, "Begin.")
    await loom.again()
    await loom.turn(loom.load(thread), "Go on.")
    assert kinds(loom.model.told()) == ["rules", "place", "Begin.", "ok", "Go on."]


# ── again ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("params", "fact"),
    [
        ({"approvalPolicy": "never"}, "<approval_policy>never ("),
        ({"sandboxPolicy": {"type": "readOnly"}}, "<sandbox_mode>read-only ("),
        ({"sandboxPolicy": {"type": "dangerFullAccess"}}, "<network_access>enabled<"),
        ({"sandboxPolicy": {"type": "externalSandbox", "networkAccess": "enabled"}}, "<network_access>enabled<"),
        (
            {"sandboxPolicy": {"type": "workspaceWrite", "writableRoots": ["/a<b"], "networkAccess": True}},
            "<writable_roots><root>/a&lt;b</root></writable_roots>",
        ),
        ({"cwd": "elsewhere"}, "/elsewhere</cwd>"),
    ],
)
async def test_another_place_is_told_before_the_next_prompt(loom: Studio, params: Any, fact: str) -> None:
    thread = loom.born()
    await loom.turn(thread, "One.")
    await loom.turn(thread, "Two.", **params)
    told = loom.model.told()
    assert kinds(told) == ["place", "One.", "ok", "place", "Two."]
    assert fact in place(told)
    assert fact not in told[0]
    await loom.turn(thread, "Three.")
    assert kinds(loom.model.told())[-3:] == ["Two.", "ok", "Three."]


async def test_what_does_not_concern_the_place_is_not_told(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "One.")
    await loom.turn(thread, "Two.", effort="low", model="another")
    assert kinds(loom.model.told()) == ["place", "One.", "ok", "Two."]


async def test_a_new_day_is_told(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "One.")
    loom.now += DAY
    await loom.turn(thread, "Two.")
    told = loom.model.told()
    assert kinds(told) == ["place", "One.", "ok", "place", "Two."]
    assert f"<current_date>{day(loom)}<" in place(told)
    assert f"<current_date>{day(loom)}<" not in told[0]


async def test_rules_that_change_or_go_are_told(loom: Studio) -> None:
    rules = loom.work / "AGENTS.md"
    thread = loom.born()
    await loom.turn(thread, "One.")
    rules.write_text("Use both hands.")
    await loom.turn(thread, "Two.")
    rules.write_text("Use one hand, and look at the other.")
    await loom.turn(thread, "Three.")
    told = loom.model.told()
    assert kinds(told) == ["place", "One.", "ok", "rules", "Two.", "ok", "rules", "Three."]
    assert ["take the place" in it for it in told if "# Instructions" in it] == [False, True]
    rules.unlink()
    await loom.turn(thread, "Four.")
    assert "hold no longer" in loom.model.told()[-2]
    assert thread.briefing.sources() == []
    await loom.turn(thread, "Five.")
    assert loom.model.told()[-2:] == ["ok", "Five."]


async def test_another_directory_has_its_own_rules(loom: Studio) -> None:
    (loom.work / "AGENTS.md").write_text("Outside.")
    (loom.work / ".git").mkdir()
    (loom.work / "inner").mkdir()
    (loom.work / "inner/AGENTS.md").write_text("Inside.")
    thread = loom.born()
    await loom.turn(thread, "One.")
    assert thread.briefing.sources() == [f"{loom.work}/AGENTS.md"]
    await loom.turn(thread, "Two.", cwd="inner")
    assert kinds(loom.model.told()) == ["rules", "place", "One.", "ok", "rules", "place", "Two."]
    assert thread.briefing.sources() == [f"{loom.work}/AGENTS.md", f"{loom.work}/inner/AGENTS.md"]


async def test_a_cut_is_said(loom: Studio) -> None:
    (loom.work / "AGENTS.md").write_text("x" * 40_000)
    await loom.turn(loom.born())
    assert f"[{40_000 - 32 * 1024} bytes more are left out" in loom.model.told()[0]


async def test_a_turn_taken_back_takes_what_was_told_with_it(loom: Studio) -> None:
    (loom.work / "AGENTS.md").write_text("Use both hands.")
    for restart in (False, True):
        thread = loom.born()
        await loom.turn(thread, "One.")
        await loom.turn(thread, "Two.", approvalPolicy="never")
        [first, second] = await loom.turns(thread)
        await loom.revert(thread, second)
        if restart:
            await loom.again()
            thread = loom.load(thread)
        await loom.turn(thread, "Other two.")
        assert kinds(loom.model.told()) == ["rules", "place", "One.", "ok", "place", "Other two."]
        await loom.revert(thread, first)
        await loom.turn(thread, "Other one.")
        assert kinds(loom.model.told()) == ["rules", "place", "Other one."]


async def test_a_fork_knows_what_its_source_was_told(loom: Studio) -> None:
    (loom.work / "AGENTS.md").write_text("Use both hands.")
    thread = loom.born()
    await loom.turn(thread, "One.")
    same = fork(loom.manager, thread)
    await loom.turn(same, "Two.")
    assert kinds(loom.model.told()) == ["rules", "place", "One.", "ok", "Two."]
    moved = fork(loom.manager, thread, settings=thread.state.rest.settings.model_copy(update={"cwd": "/"}))
    await loom.turn(moved, "Two.")
    assert kinds(loom.model.told()) == ["rules", "place", "One.", "ok", loom.model.told()[4], "place", "Two."]
    assert "hold no longer" in loom.model.told()[4]
    [turn] = await loom.turns(thread)
    early = fork(loom.manager, thread, before_turn=turn)
    await loom.turn(early, "Another one.")
    assert kinds(loom.model.told()) == ["rules", "place", "Another one."]


@pytest.mark.parametrize("how", ["live", "read again", "rebuilt"])
async def test_a_fork_of_a_fork_has_what_came_behind_its_last_turn(loom: Studio, how: str) -> None:
    thread = loom.born()
    await loom.turn(thread, "One.")
    thread.emit(Aside([user_item("behind the source")]))
    child = fork(loom.manager, thread)
    child.emit(Aside([user_item("behind the fork")]))
    thread.emit(Aside([user_item("too late")]))
    further = fork(loom.manager, child)
    further.emit(Aside([user_item("behind the fork of the fork")]))
    [turn] = await loom.turns(further)
    upto = fork(loom.manager, further, last_turn=turn)
    last = fork(loom.manager, further)
    if how != "live":
        await loom.close()
        if how == "rebuilt":
            (loom.room / "home" / "index.sqlite").unlink()
        loom.open()
        await loom.manager.knowledge.whole()
    await loom.turn(loom.load(last), "Two.")
    behind = ["behind the source", "behind the fork", "behind the fork of the fork"]
    assert loom.model.said() == ["One.", "ok", *behind, "Two."]
    early = fork(loom.manager, loom.load(last), before_turn=(await loom.turns(last))[1])
    await loom.turn(early, "Another two.")
    assert loom.model.said() == ["One.", "ok", *behind, "Another two."]
    await loom.turn(loom.load(upto), "Right behind it.")
    assert loom.model.said() == ["One.", "ok", "Right behind it."], "up to the end of a turn, and no further"


# ── what comes with a message ─────────────────────────────────────────────────────────────────────────────────────────


async def test_pictures_skills_and_mentions_reach_the_model(loom: Studio) -> None:
    (loom.work / "a.png").write_bytes(PNG)
    (loom.work / "weaving").mkdir()
    (loom.work / "weaving/SKILL.md").write_text("Over, then under.\n")
    content: list[Any] = [
        TextUserInput(text="Look:"),
        LocalImageUserInput(path="a.png"),
        LocalImageUserInput(path=str(loom.work / "a.png"), detail="original"),
        ImageUserInput(url="data:image/png;base64,AAAA", detail="low"),
        ImageUserInput(file_id="file-1"),
        SkillUserInput(name="weaving", path="weaving"),
        MentionUserInput(name="loom", path="app://loom"),
    ]
    thread = loom.born()
    await loom.turn(thread, content, files=await attached(content, str(loom.work)))
    *_, skill, prompt = loom.model.asked[0].history
    assert skill["content"][0]["text"] == '<skill name="weaving" file="weaving">\nOver, then under.\n</skill>'
    data = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert prompt == {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look:"},
            {"type": "input_image", "image_url": data, "detail": "high"},
            {"type": "input_image", "image_url": data, "detail": "original"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
            {"type": "input_image", "file_id": "file-1", "detail": "high"},
            {"type": "input_text", "text": "[skill weaving: weaving]"},
            {"type": "input_text", "text": "[mention loom: app://loom]"},
        ],
    }
    [shown] = loom.events(thread, "item/started")[:1]
    assert [it["type"] for it in shown["params"]["item"]["content"]] == [it.type for it in content]
    assert "Over" not in str(shown["params"])

    await loom.again()
    await loom.turn(loom.load(thread), "And now?")
    assert loom.model.asked[1].history[-3] == prompt


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 and so on", "image/jpeg"),
        (b"GIF89a and so on", "image/gif"),
        (b"RIFF\0\0\0\0WEBP and so on", "image/webp"),
    ],
)
async def test_a_picture_is_known_by_what_is_in_it(tmp_path: Path, head: bytes, kind: str) -> None:
    (tmp_path / "picture").write_bytes(head)
    files = await attached([LocalImageUserInput(path="picture")], str(tmp_path))
    assert files == {"picture": f"data:{kind};base64,{base64.b64encode(head).decode()}"}


async def test_a_file_may_be_named_from_the_home_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home/picture").write_bytes(b"GIF89a")
    assert await attached([LocalImageUserInput(path="~/picture")], str(tmp_path)) == {"~/picture": GIF}
    (tmp_path / "~picture").write_bytes(b"GIF89a")
    assert await attached([LocalImageUserInput(path="~picture")], str(tmp_path)) == {"~picture": GIF}
    assert pictures.place("~/./picture", "/work") == tmp_path / "home/picture"  # as `view_image` has it
    assert pictures.place("a/../picture", "/work") == Path("/work/picture")


async def test_a_long_skill_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "s.md").write_text("x" * 70_000)
    files = await attached([SkillUserInput(name="s", path="s.md")], str(tmp_path))
    assert files["s.md"].startswith("x" * 65_536 + "\n[")


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (LocalImageUserInput(path="gone.png"), "gone.png cannot be read: No such file"),
        (LocalImageUserInput(path="text.png"), "no PNG, JPEG, GIF or WebP"),
        (LocalImageUserInput(path="big.png"), "more than 20 bytes"),
        (LocalImageUserInput(path="."), "it is no file"),
        (LocalImageUserInput(path="a\0b.png"), "cannot be read"),
        (SkillUserInput(name="gone", path="gone"), "gone cannot be read: No such file"),
        (SkillUserInput(name="empty", path="."), "cannot be read: No such file"),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: Any, reason: str
) -> None:
    monkeypatch.setattr("threadloom.agent.pictures.MAX_IMAGE", 20)
    (tmp_path / "text.png").write_text("not a picture")
    (tmp_path / "big.png").write_bytes(PNG + b"!!!!!!!!!!!")
    with pytest.raises(InvalidRequest, match=reason):
        await attached([part], str(tmp_path))


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (ImageUserInput(url="http://example.com/a.png"), "remote image URLs"),
        (ImageUserInput(url="HTTPS://example.com/a.png"), "remote image URLs"),
        (AudioUserInput(url="data:audio/wav;base64,AAAA"), "audio"),
        (LocalAudioUserInput(path="a.wav"), "audio"),
    ],
)
async def test_what_no_model_here_takes_is_refused(loom: Studio, part: Any, reason: str) -> None:
    thread = loom.born()
    with pytest.raises(InvalidRequest, match=reason):
        thread.start_turn([part])
    assert thread.running is None
    running = thread.start_turn([TextUserInput(text="Hello")])
    with pytest.raises(InvalidRequest, match=reason):
        thread.steer([part])
    running.show()
    assert await loom.ended(thread, running) == "completed"


@pytest.mark.parametrize(
    ("own", "told"),
    [("/usr/bin/zsh", "zsh"), ("/usr/bin/fish", "bash"), ("bin/zsh", "bash"), ("", "bash"), (None, "bash")],
)
def test_the_model_is_told_of_the_shell_that_runs_its_lines(
    monkeypatch: pytest.MonkeyPatch, own: str | None, told: str
) -> None:
    monkeypatch.delenv("SHELL", raising=False)
    if own is not None:
        monkeypatch.setenv("SHELL", own)
    assert environment.shell() == told == PurePath(login_shell()).name


def test_where_there_is_no_bash_the_plain_shell_runs_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHELL", "/bin/ash")
    shells = [str(tmp_path / "bash"), str(tmp_path / "sh")]
    monkeypatch.setattr(lookup, "SHELLS", shells)
    (tmp_path / "sh").touch(0o755)
    assert login_shell() == shells[1]
    (tmp_path / "bash").touch(0o755)
    assert login_shell() == shells[0]
