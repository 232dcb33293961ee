"""The small parts of the command line: clean text, cut paragraphs, drawn trees, notifications, completion."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from tests.support.picture import PICTURE
from tests.support.processes import ROOT

from threadloom.cli import find
from threadloom.cli.chat import live, slash
from threadloom.cli.chat.asks import Ask
from threadloom.cli.chat.completing import Completing
from threadloom.cli.chat.notify import HERE, Notifier, sequence
from threadloom.cli.chat.paragraphs import settled
from threadloom.cli.chat.screen import Screen
from threadloom.cli.chat.talk import Talk
from threadloom.cli.clean import clean, line, tilde
from threadloom.cli.link import Failure, Place
from threadloom.cli.output import cut
from threadloom.cli.render import diff, plain, reasoning, shown
from threadloom.cli.trees import drawn, ordered
from threadloom_client import Notification
from threadloom_protocol.v2 import session
from threadloom_protocol.v2.approval import FileChangeRequestApprovalParams
from threadloom_protocol.v2.item import ItemCompletedNotification, ItemStartedNotification
from threadloom_protocol.v2.stream import BackgroundEventNotification
from threadloom_protocol.v2.tree import ThreadTreeNode
from threadloom_protocol.v2.values.item_parts import AddPatchChangeKind, FileUpdateChange
from threadloom_protocol.v2.values.items import (
    ContextCompactionThreadItem,
    DynamicToolCallThreadItem,
    EnteredReviewModeThreadItem,
    ExitedReviewModeThreadItem,
    FileChangeThreadItem,
    McpToolCallThreadItem,
    PlanThreadItem,
    WebSearchThreadItem,
)


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]0;a title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("bell\x07 back\x08 \x9b2Jcsi", "bell back 2Jcsi"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("tab\tstays\nas does the line", "tab\tstays\nas does the line"),
        ("left\u202eto right", "leftto right"),
    ],
)
def test_text_of_others_cannot_steer_the_terminal(dirty: str, expected: str) -> None:
    assert clean(dirty) == expected


def test_a_path_below_the_home_is_short_and_its_neighbour_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert [tilde(it) for it in ("/home/ada", "/home/ada/loom", "/home/adam/loom")] == [
        "~",
        "~/loom",
        "/home/adam/loom",
    ]


@given(st.text())
def test_nothing_that_steers_is_left_of_any_text(text: str) -> None:
    left = clean(text)
    assert all(it in "\n\t" or (it >= " " and not "\x7f" <= it <= "\x9f") for it in left)
    assert "\n" not in line(text)


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("one line", ""),
        ("one paragraph\n\n", ""),
        ("one paragraph\n\nanother", ""),
        ("one paragraph\n\nanother\n", "one paragraph\n\n"),
        ("- a\n\n- b\n", ""),
        ("```\ncode\n\nmore\n", ""),
        ("```\ncode\n\nmore\n```\n\nand then\n", "```\ncode\n\nmore\n```\n\n"),
        ("~~~\n```\n\nstill code\n", ""),
    ],
)
def test_a_paragraph_is_final_when_the_next_one_has_begun(text: str, final: str) -> None:
    assert text[: settled(text)] == final


def node(depth: int, name: str, status: Any = "running") -> ThreadTreeNode:
    return ThreadTreeNode(
        thread_id=f"{name}-0000-0000", parent_thread_id=None, depth=depth, name=name, note=None, agent_role=None,
        agent_nickname=None, status=status, status_at=0, activity=None, model=None, total_tokens=0, queue_length=0,
    )  # fmt: skip


def test_a_tree_is_drawn_with_its_branches() -> None:
    nodes = [node(0, "r"), node(1, "a"), node(2, "b"), node(3, "c"), node(1, "d", "shutdown"), node(2, "e")]
    assert [it.split(" ")[0] if it[0] == "r" else it[: it.index("-0000")].rsplit(" ", 1)[0] for it in drawn(nodes)] == [
        "r",
        "├─ a",
        "│  └─ b",
        "│     └─ c",
        "└─ d",
        "   └─ e",
    ]
    assert drawn(nodes)[4].endswith("closed")


def test_ids_of_one_millisecond_are_told_apart() -> None:
    ids = ["01a1ec4f-c570-7b42-8ddd-0c77aefb0001", "01a1ec4f-c570-7b43-8ddd-0c77aefb0001"]
    assert cut([*ids, "01a1ec4f-c571-7b43-8ddd-0c77aefb0001"]) == {
        ids[0]: "01a1ec4f-c570-7b42",
        ids[1]: "01a1ec4f-c570-7b43",
        "01a1ec4f-c571-7b43-8ddd-0c77aefb0001": "01a1ec4f-c571",
    }
    twins = [f"{ids[0]}1", f"{ids[0]}2"]
    assert sorted(cut(twins).values()) == twins
    nodes = [node(0, "r"), *(node(1, "a").model_copy(update={"thread_id": it}) for it in ids)]
    assert [it.split()[2] for it in drawn(nodes)[1:]] == ["01a1ec4f-c570-7b42", "01a1ec4f-c570-7b43"]


class Pages:
    """A server with many threads, one for every hour up to now, which counts the pages that it is asked for."""

    def __init__(self, count: int, now: int) -> None:
        self.asked = 0
        self.times = [now - 3600 * at for at in range(count)]

    async def request(self, request: Any, params: Any) -> Any:
        """A page of threads, or none of saved sessions."""
        if request is session.LIST:
            return session.SessionListResponse(data=[], next_cursor=None)
        self.asked += 1
        first = int(params.cursor or 0)
        page = [] if params.archived else self.times[first : first + params.limit]
        more = str(first + params.limit) if page and page[-1] != self.times[-1] else None
        data = [SimpleNamespace(id=identified(it), created_at=it) for it in page]
        return SimpleNamespace(data=data, next_cursor=more)


def identified(seconds: int) -> str:
    return f"{seconds * 1000 >> 16:08x}-{seconds * 1000 & 0xFFFF:04x}-7000-8000-000000000000"


async def test_the_beginning_of_an_id_is_not_looked_for_among_what_is_older() -> None:
    pages = Pages(5000, 1_794_000_000)
    client: Any = pages
    wanted = identified(pages.times[150])
    assert await find.thread_id(client, wanted[:9].upper()) == wanted
    assert pages.asked == 3, "two pages, and one of the archive"
    with pytest.raises(Failure, match="there is no saved session or thread `mistyped-name`"):
        await find.thread_id(client, "mistyped-name")
    assert pages.asked == 3, "no id begins like that"
    assert await find.thread_id(client, identified(pages.times[-1])[:8]) == identified(pages.times[-1])


def test_a_tree_that_came_in_another_order_is_put_in_its_own() -> None:
    def below(it: ThreadTreeNode, parent: str | None) -> ThreadTreeNode:
        return it.model_copy(update={"parent_thread_id": parent})

    root, first, second = node(0, "r"), node(1, "a"), node(1, "b")
    first, second = below(first, root.thread_id), below(second, root.thread_id)
    late = below(node(2, "c"), first.thread_id)
    assert [it.name for it in ordered([root, first, second, late])] == ["r", "a", "c", "b"]
    assert [it.name for it in ordered([late, second])] == ["c", "b"]  # whose parent is not there stands alone


def test_a_diff_keeps_its_signs_without_colour() -> None:
    assert plain(diff("@@ -1 +1 @@\n-old\n+new\n same")).splitlines() == [
        "  @@ -1 +1 @@",
        "  -old",
        "  +new",
        "   same",
    ]
    assert plain(diff("first\nsecond\n", added=True)).splitlines() == ["  +first", "  +second"]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            McpToolCallThreadItem(id="1", status="failed", server="loom", tool="weave", arguments={"rows": 3}),
            '⋔ loom.weave {"rows": 3} (failed)',
        ),
        (DynamicToolCallThreadItem(id="1", status="completed", tool="ask", arguments={}), "⋔ ask {}"),
        (WebSearchThreadItem(id="1", query="a loom"), "⋔ searched the web for a loom"),
        (PlanThreadItem(id="1", text="First the warp."), "First the warp."),
        (EnteredReviewModeThreadItem(id="1", review="the last commit"), "⋔ a review begins: the last commit"),
        (ExitedReviewModeThreadItem(id="1", review="It is fine."), "⋔ the review is done\nIt is fine."),
        (
            ContextCompactionThreadItem(id="1"),
            "⋔ what the model sees of this conversation is condensed from here on",
        ),
    ],
)
def test_what_is_no_talk_is_seen_too(item: Any, expected: str) -> None:
    view = shown(item)
    assert view is not None
    assert plain(view).rstrip() == expected


def test_the_headings_of_thoughts_are_not_shown_as_asterisks() -> None:
    assert plain(reasoning("**Weighing**\n\nThe warp, or the weft?")).split("\n") == [
        "Weighing",
        "",
        "The warp, or the weft?",
        "",
    ]


def test_the_picture_of_a_chat_shows_a_tree_and_asks_nobody_for_anything() -> None:
    shown = PICTURE.read_text(encoding="utf-8").replace("&#160;", " ")
    assert re.search("├─ explorer .*└─ agent .*└─ worker .*1 queued", shown, re.DOTALL)
    assert set(re.findall(r"\w+://[^\s\"')]*", shown)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert str(PICTURE.relative_to(ROOT)) in (ROOT / "README.md").read_text(encoding="utf-8")


# ── notifications ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM_PROGRAM": "iTerm.app", "TERM": "xterm-256color"}, "\x1b]9;it is done\x07"),
        ({"TERM": "xterm-kitty"}, "\x1b]9;it is done\x07"),
        ({"TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/x"}, "\x07"),
        ({"TERM": "xterm-256color"}, "\x07"),
        ({}, "\x07"),
    ],
)
def test_a_terminal_is_told_in_its_own_way(environ: dict[str, str], expected: str) -> None:
    assert sequence("it is\x07\ndone", environ) == expected


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (None, True),
        (True, True),
        (False, False),
        (["sub-agent-complete"], True),
        (["approval-requested"], False),
        ([], False),
    ],
)
def test_notifications_are_filtered_by_their_type(wanted: Any, told: bool) -> None:
    sent: list[str] = []
    notifier = Notifier(sent.append, wanted)
    notifier.focused = False
    notifier.tell("sub-agent-complete", "agent worker completed")
    assert bool(sent) == told


def test_nobody_is_told_what_they_are_looking_at() -> None:
    sent: list[str] = []
    notifier = Notifier(sent.append, None)
    notifier.tell("sub-agent-complete", "x")  # they have just pressed a key
    notifier.focused = True
    notifier.last_key = time.monotonic() - 2 * HERE
    notifier.tell("sub-agent-complete", "x")
    assert sent == []
    notifier.focused = None
    notifier.tell("sub-agent-complete", "x")  # a terminal that does not say, and nobody at the keys
    assert len(sent) == 1


@pytest.mark.parametrize(("child", "rings"), [("an agent", True), (None, False)])
def test_only_the_end_of_an_agent_rings_as_one(child: str | None, rings: bool) -> None:
    told: list[str] = []
    event = BackgroundEventNotification(
        thread_id=None, message="It is done.", is_final=True, level="info", child_thread_id=child
    )
    screen: Any = SimpleNamespace(
        notifier=SimpleNamespace(tell=lambda kind, text: told.append(kind)), changed=lambda: None
    )
    Screen._heard(screen, Notification("backgroundEvent", event, {}))
    assert told == ["sub-agent-complete"] * rings


# ── the chat without a terminal ───────────────────────────────────────────────────────────────────────────────────────


def test_the_status_line_gives_way_to_narrow_windows() -> None:
    talk = Talk(lambda it: None, model="rehearsal", cwd="/somewhere/far/away/project", tokens=12_345)
    talk.nodes = {it.thread_id: it for it in (node(0, "r"), node(1, "a"), node(1, "b", "shutdown"))}
    at: Any = SimpleNamespace(state="connected", unsent=["later"])
    wide = live.status(talk, at, 120, "ws://127.0.0.1:4500")
    assert wide == " rehearsal · /somewhere/far/away/project · 12.3k tokens · 1 agent · 1 queued · ws://127.0.0.1:4500"
    narrow = " rehearsal · project · 1 agent · 1 queued · ws://127.0.0.1:4500"
    assert live.status(talk, at, len(narrow), "ws://127.0.0.1:4500") == narrow
    assert live.status(talk, at, 40, "ws://127.0.0.1:4500") == " rehearsal · 1 agent · connected"
    for width in range(10, 120):
        assert len(live.status(talk, at, width, "ws://127.0.0.1:4500")) <= width
    at.state = "reconnecting"
    assert "reconnecting" in live.status(talk, at, 40, "ws://127.0.0.1:4500")


def test_what_an_agent_wants_to_change_is_seen_in_the_question() -> None:
    talk = Talk(lambda it: None, thread_id="root")
    change = FileUpdateChange(path="/loom/notes.txt", kind=AddPatchChangeKind(), diff="Buy wool\n")
    item = FileChangeThreadItem(id="call", changes=[change], status="inProgress")
    began = ItemStartedNotification(thread_id="child", turn_id="t", item=item, started_at_ms=0)
    talk.take(Notification("item/started", began, {}))
    params = FileChangeRequestApprovalParams(thread_id="child", turn_id="t", item_id="call", started_at_ms=0)
    shown_ = plain(live.asked(Ask(1, params), talk))
    assert "asked by agent child" in shown_
    assert "± /loom/notes.txt (added)\n    +Buy wool\n    y  yes\n" in shown_
    done = item.model_copy(update={"status": "completed"})
    ended = ItemCompletedNotification(thread_id="child", turn_id="t", item=done, completed_at_ms=0)
    talk.take(Notification("item/completed", ended, {}))
    assert "notes.txt" not in plain(live.asked(Ask(1, params), talk))


def offered(text: str, cwd: Path) -> list[str]:
    talk = SimpleNamespace(cwd=str(cwd), agents=[SimpleNamespace(thread_id="01a1-agent")])
    chat: Any = SimpleNamespace(names=["ready", "steady"], models=["rehearsal"], talk=talk)
    return [it.text for it in Completing(chat).get_completions(Document(text), CompleteEvent())]


def test_tab_completes_commands_names_and_files(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "main.py").touch()
    (tmp_path / ".hidden").touch()
    assert offered("/s", tmp_path) == ["/save", "/steer", "/status"]
    assert offered("/fork re", tmp_path) == ["ready"]
    assert offered("/resume ", tmp_path) == ["ready", "steady"]
    assert offered("/model r", tmp_path) == ["rehearsal"]
    assert offered("/close 01", tmp_path) == ["01a1-agent"]
    assert offered("look at so", tmp_path) == ["source/"]
    assert offered("look at @source/m", tmp_path) == ["main.py"]
    assert offered("look at nowhere/x", tmp_path) == []
    assert offered("", tmp_path) == []
    assert offered("look at .h", tmp_path) == [".hidden"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/close zz", "there is no agent zz; /agents shows which there are"),
        ("/close 01a1", "01a1 fits 2 agents; /close takes more of the id"),
        ("/queue drop 3", "nothing waits"),
        ("/queue clear", "nothing waits"),
        ("/save", "/save NAME"),
        ("/steer on", "/steer TEXT, while a turn runs"),
        ("/model unheard-of", "Later turns ask for unheard-of, which is not among the models that /model shows."),
        ("/model rehearsal", "Later turns use rehearsal."),
    ],
)
async def test_a_command_of_the_chat_that_cannot_be_says_why(typed: str, expected: str) -> None:
    told: list[str] = []

    async def ask(method: Any, params: Any) -> Any:
        return SimpleNamespace(data=[SimpleNamespace(model="rehearsal")] if method.method == "model/list" else [])

    talk = SimpleNamespace(thread_id="t", turn_id=None, nodes={"01a1-a": None, "01a1-b": None})
    chat: Any = SimpleNamespace(talk=talk, line=SimpleNamespace(ask=ask), tell=lambda text, style="": told.append(text))
    try:
        await slash.run(chat, typed)
    except slash.Wrong as fault:
        told.append(str(fault))
    assert told == [expected]


async def test_agents_are_told_in_lines_that_fit_a_window() -> None:
    told: list[str] = []
    agents = [
        node(1, "a").model_copy(update={"agent_role": "worker", "note": "agent_type=worker; agent_description=x" * 9}),
        node(1, "b").model_copy(update={"activity": "runs make"}),
        node(1, "c", "shutdown").model_copy(update={"note": "mind the gap", "activity": "gone"}),
    ]
    talk = SimpleNamespace(nodes={it.thread_id: it for it in [node(0, "r"), *agents]})
    chat: Any = SimpleNamespace(talk=talk, tell=told.append)
    await slash.run(chat, "/agents")
    assert [it.split() for it in told[0].split("\n")] == [
        ["a-0000-0000", "running", "worker"],
        ["b-0000-0000", "running", "agent", "runs", "make"],
        ["c-0000-0000", "closed", "agent", "mind", "the", "gap"],
    ]


def test_a_place_takes_only_addresses_it_can_reach() -> None:
    given_ = Namespace(connect="ftp://x", token_file=None, config=[], enable=[], disable=[])
    with pytest.raises(Failure, match="--connect takes") as refused:
        Place(given_)
    assert refused.value.code == 2
