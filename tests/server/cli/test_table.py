"""Every command × (terminal, pipe, `--json`, bad argument, no home, server gone): its output and its exit code."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from tests.server.cli.stock import Ran, Stock, here, process, stocked
from tests.support.processes import THREADLOOM, environment

from threadloom.cli import link
from threadloom.cli.link import Place
from threadloom.cli.parser import parse, parser
from threadloom_protocol.v2 import thread, turn
from threadloom_protocol.v2.values.content import TextUserInput

UUID = r"[0-9a-f-]{36}"
VERSION = r"^threadloom \d+\.\d+\.\d+\n$"


class Told(NamedTuple):
    """What a command answers where something is not as it should be."""

    code: int
    err: str
    out: str = r"^$"


NO_HOME = Told(1, r"cannot be the home: .*\nSet THREADLOOM_HOME to another folder\.")
GONE = Told(
    1, r"cannot connect to ws://127\.0\.0\.1:\d+.*\nIs the server there\? `threadloom app-server --listen ws://"
)


class Command(NamedTuple):
    """A command, and what it shows; `ROOT`, `CHILD` and `FORK` stand for ids. `APART` says why a cell is empty."""

    words: str
    terminal: str
    pipe: str
    keys: Sequence[str]  # of the JSON objects, one per line
    bad: str  # words that are wrong, and what is said of them
    says: str
    code: int = 2
    err: str = r"^$"  # what is on stderr where all is well
    home: Told | None = NO_HOME
    gone: Told | None = GONE

    @property
    def cells(self) -> set[str]:
        """Those that have something in them."""
        filled = (self.terminal, self.pipe, self.keys, self.bad, self.home, self.gone)
        return {name for name, it in zip(CELLS, filled, strict=True) if it}


CELLS = ("terminal", "pipe", "json", "bad", "home", "gone")
COMMANDS = [
    Command("list", r"ID +USED +STATUS.*\n─+\nSHORT .* idle .* ready", r"(?m)^ROOT\t\S+\tidle\t\S+\tready$",
            ["id", "preview", "status"], "list -n many", "takes a number from 1 on, not 'many'"),
    Command("list --agents", "SHORT", r"(?m)^CHILD\t", ["id"], "list --color", "unrecognized arguments: --color"),
    Command("show ready",
            r"^thread   ROOT\n(?s:.*)\nlog      /\S+\.jsonl\n\n› spawn as worker(?s:.*)The loom is ready\.",
            r"^thread\tROOT\n(?s:.*)userMessage\tspawn as worker(?s:.*)agentMessage\t.*The loom is ready\.",
            ["id", "turns"], "show", "required: ID"),
    Command("show CHILD", "I am below", "parent\tROOT", ["id"], "show rea", "no saved session or thread `rea`", 1),
    Command("tree ready", r"ready SHORT completed\n└─ worker \S+ completed\n",
            r"^0\tROOT\t\w+\t\t.*\n1\tCHILD\tcompleted\tworker\t",
            ["threadId", "depth", "status"], "tree --up", "unrecognized arguments: --up"),
    Command("tree", r"^ready \S+ \w+\n", rf"^0\t{UUID}\t", ["threadId"],
            "tree nobody-knows-it", "no saved session or thread", 1),
    Command("agents", r"KIND +FROM .*\n─+\n(?s:.*)explorer +builtIn", r"(?m)^worker\tbuiltIn\t\t\S",
            ["agentType", "description"], "agents a b", "unrecognized arguments: b"),
    Command("agents ready", r"completed .* worker", r"^CHILD\tcompleted\t\S+\tworker\t", ["threadId", "status"],
            "agents 00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000", 1),
    Command("session list", r"NAME .*\n─+\n(?s:.*)ready +SHORT",
            r"(?m)^ready\tROOT\t\S+\trehearsal\t/\S+\t/\S+\.jsonl$",
            ["name", "threadId", "savedAt"], "session", "required: COMMAND"),
    Command("fork FORK", "", rf"^{UUID}\t\S+\t", ["id", "forkedFromId"], "fork", "required: ID|NAME"),
    Command("resume ready", "", r"^ROOT\t\S+\tready\n$", ["id"], "resume", "resume which?"),
    Command("resume --last", "", rf"^{UUID}\t", ["id"], "resume --last ready", "exclude each other"),
    Command("archive FORK", r"^FORK archived\n$", r"^FORK\tarchived\n$", ["threadId", "done"],
            "archive", "required: ID"),
    Command("unarchive AWAY", r"^AWAY unarchived\n$", r"^AWAY\tunarchived\n$", ["threadId", "done"],
            "unarchive FORK", "not archived|no archived|is not", 1),
    Command("delete --yes FORK", r"^FORK deleted\n$", r"^FORK\tdeleted\n$", ["threadId", "done"],
            "delete FORK", "add --yes"),
    Command("session save again ROOT", r"^ROOT saved as again\n$", r"^ROOT\tsaved as again\n$", ["threadId", "done"],
            "session save again nobody", "no saved session or thread `nobody`", 1),
    Command("session delete SAVED", r"^SAVED deleted\n$", r"^SAVED\tdeleted\n$", ["name", "done"],
            "session delete nothing", "no session is saved as `nothing`", 1),
    Command("search loom", r"ID +USED +WORDS.*\n─+\n(?s:.*)SHORT .*loom", r"(?m)^ROOT\t\S+\t.*loom",
            ["thread", "snippet"], "search", "required: WORDS"),
    Command("exec say-it", r"^This is the rehearsal model", r"^This is the rehearsal model", ["method", "params"],
            "exec -C nowhere-at-all x", "there is no such folder", err=rf"^thread {UUID} · rehearsal · /"),
    Command("chat", "", "", [], "chat", "`threadloom exec` is for scripts", home=None, gone=None),
    Command("chat", "", "", [], "chat --json", "`threadloom exec --json` prints events", home=None, gone=None),
    Command("doctor", r"(?m)^ok home +/", r"(?m)^ok\thome\t/", ["usable", "findings"], "doctor -c nothing",
            "takes key=value, not 'nothing'", home=Told(1, r"^$", r"(?m)^broken\thome\t.* is no folder$"), gone=None),
    Command("completion bash", r"complete -F _threadloom", r"complete -F _threadloom", [], "completion tcsh",
            "invalid choice: 'tcsh'", home=Told(0, r"^$", r"complete -F _threadloom"), gone=None),
    Command("app-server generate-ts --out types", "", "", [], "app-server generate-ts", "required: --out",
            home=Told(0, r"^$"), gone=None),
    Command("app-server generate-json-schema --out types", "", "", [],
            "app-server generate-json-schema --out /dev/null/types", "cannot write to", 1,
            home=Told(0, r"^$"), gone=None),
    Command("app-server", "", "", [], "app-server --listen nowhere", "--listen takes stdio://", gone=None),
    Command("--version", VERSION, VERSION, [], "--versions", "required: COMMAND",
            home=Told(0, r"^$", VERSION), gone=None),
    Command("--help", r"^usage: threadloom ", r"^usage: threadloom ", [], "help", "invalid choice: 'help'",
            home=Told(0, r"^$", r"^usage: threadloom "), gone=None),
]  # fmt: skip
# Cells that are empty for good, and why.
SCRIPT = "what it prints is for a shell to run"
LOCAL = "it asks no server"
FILES = "it writes files, and nothing else"
SERVER = "it is the server: its stdout is the protocol's, and it has tests of its own"
APART = {
    "chat": {
        "terminal": "test_chat.py",
        "pipe": "it is refused there: a bad argument",
        "json": "it is refused: a bad argument",
        "home": "test_chat.py, for it needs a terminal to get so far",
        "gone": "test_chat.py, for it needs a terminal to get so far",
    },
    "resume": {"terminal": "it opens a chat: test_chat.py"},
    "fork": {"terminal": "it opens a chat: test_chat.py"},
    "doctor": {"gone": LOCAL},
    "completion": {"json": SCRIPT, "gone": LOCAL},
    "app-server generate-ts": dict.fromkeys(("terminal", "pipe", "json"), FILES) | {"gone": LOCAL},
    "app-server generate-json-schema": dict.fromkeys(("terminal", "pipe", "json"), FILES) | {"gone": LOCAL},
    "app-server": dict.fromkeys(("terminal", "pipe", "json", "gone"), SERVER),
    "--version": {"json": "it is one word already; `doctor --json` has it, too", "gone": LOCAL},
    "--help": {"json": "it is for people", "gone": LOCAL},
}


def every(of: argparse.ArgumentParser, path: str = "") -> Iterator[str]:
    """The names of all commands there are, and what the program does without one."""
    if not path:
        yield from ("--version", "--help")
    groups = [it for it in of._actions if isinstance(it, argparse._SubParsersAction)]
    if path and not any(it.required for it in groups):
        yield path
    for it in groups:
        for name, made in it.choices.items():
            yield from every(made, f"{path} {name}".strip())


def named(command: Command) -> str:
    """Which of them this one is."""
    return max((it for it in every(parser()) if f"{command.words} ".startswith(f"{it} ")), key=len)


def having(cell: str) -> pytest.MarkDecorator:
    """A test of all commands that have this cell."""
    return pytest.mark.parametrize("command", [it for it in COMMANDS if cell in it.cells], ids=lambda it: it.words)


@pytest.mark.parametrize("name", list(every(parser())))
def test_every_cell_of_every_command_is_filled_or_has_a_reason(name: str) -> None:
    filled = set().union(*(it.cells for it in COMMANDS if named(it) == name))
    assert sorted([*filled, *APART.get(name, {})]) == sorted(CELLS)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return stocked(tmp_path_factory.mktemp("room"))


class Desk:
    """Runs commands in a home where the things that they name are there."""

    def __init__(self, stock: Stock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stock = stock
        self._monkeypatch = monkeypatch
        self.meant = {"ROOT": stock.root, "CHILD": stock.child, "SHORT": stock.root[:13], "SAVED": "saved for a while"}

    def ready(self, text: str) -> None:
        """Make what these words name."""
        if "FORK" in text or "AWAY" in text:
            made = self.run("fork", self._stock.root).out.split("\t")[0]
            self.meant |= {"FORK": made, "AWAY": made}
        if "AWAY" in text:
            assert self.run("archive", made).code == 0
        if "SAVED" in text:
            assert self.run("session", "save", self.meant["SAVED"], self._stock.root).code == 0

    def filled(self, text: str) -> str:
        return re.sub("|".join(self.meant), lambda it: self.meant[it[0]], text)

    def words(self, text: str) -> list[str]:
        return [self.meant.get(word, word) for word in text.split()]

    def run(self, *words: str, terminal: bool = False, **variables: str) -> Ran:
        return here(self._monkeypatch, self._stock.room, *words, terminal=terminal, **variables)


@pytest.fixture
def desk(stock: Stock, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(stock, monkeypatch)


@having("terminal")
def test_in_a_terminal_it_is_for_people(command: Command, desk: Desk) -> None:
    desk.ready(command.words)
    ran = desk.run(*desk.words(command.words), terminal=True)
    ran.out = re.sub(r"\x1b\[[0-9;]*m", "", ran.out)
    assert_told(ran, Told(0, command.err, desk.filled(command.terminal)))
    if not re.search("FORK|AWAY|SAVED", command.words):  # which is gone by now
        again = desk.run(*desk.words(command.words), terminal=True, NO_COLOR="1")
        assert not re.search(r"\x1b\[[0-9;]*3\dm", again.out), again


@having("pipe")
def test_in_a_pipe_it_is_plain_lines(command: Command, desk: Desk) -> None:
    desk.ready(command.words)
    ran = desk.run(*desk.words(command.words))
    assert "\x1b" not in ran.out
    assert_told(ran, Told(0, command.err, desk.filled(command.pipe)))


@having("json")
def test_json_is_one_object_per_line(command: Command, desk: Desk) -> None:
    desk.ready(command.words)
    ran = desk.run(*desk.words(command.words), "--json", terminal=True)
    assert_told(ran, Told(0, command.err, "^{"))
    found: list[dict[str, Any]] = [json.loads(line) for line in ran.out.splitlines()]
    assert found
    assert all(key in it for it in found for key in command.keys), found


@having("bad")
def test_a_bad_argument_is_told_on_stderr(command: Command, desk: Desk) -> None:
    desk.ready(command.bad)
    ran = desk.run(*desk.words(command.bad))
    assert (ran.code, ran.out) == (command.code, ""), ran
    assert re.search(command.says.replace("|NAME", r"\|NAME"), ran.err), ran.err


@having("home")
def test_without_a_home_it_says_what_to_do(command: Command, desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    words = desk.words(command.words.replace("FORK", "ready").replace("AWAY", "ready"))
    ran = desk.run(*words, THREADLOOM_HOME=str(tmp_path / "file" / "home"))
    assert_told(ran, command.home)


@having("gone")
def test_a_server_that_is_gone_is_told_as_such(command: Command, desk: Desk) -> None:
    words = desk.words(command.words.replace("FORK", "ready").replace("AWAY", "ready"))
    assert_told(desk.run(*words, "--connect", nobody()), command.gone)


def assert_told(ran: Ran, told: Told | None) -> None:
    assert told is not None
    assert ran.code == told.code, ran
    assert re.search(told.err, ran.err), ran.err
    assert re.search(told.out, ran.out), ran.out


def nobody() -> str:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"ws://127.0.0.1:{taken.getsockname()[1]}"


# ── commands that are not of this shape ───────────────────────────────────────────────────────────────────────────────


def test_a_new_home_has_nothing_to_list_and_says_so_to_people_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for words in (["list"], ["session", "list"]):
        ran = here(monkeypatch, tmp_path, *words, terminal=True)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err.startswith("No ")
        ran = here(monkeypatch, tmp_path, *words)
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    ran = here(monkeypatch, tmp_path, "tree")
    assert (ran.code, ran.out) == (1, "")
    assert "`threadloom chat` begins one" in ran.err


def test_what_was_looked_for_is_seen_in_a_narrow_window_too(desk: Desk) -> None:
    ran = desk.run("search", "Loom", terminal=True, COLUMNS="60")
    assert re.search(rf"{desk.meant['SHORT']} .* …(\S+ )+The loom", ran.out), ran.out


@pytest.mark.parametrize("words", ["list", "session list", "search loom", "agents ready"])
@pytest.mark.parametrize("width", ["40", "80"])
def test_what_one_copies_is_never_cut(words: str, width: str, desk: Desk) -> None:
    ran = desk.run(*words.split(), terminal=True, COLUMNS=width)
    rows = [it for it in ran.out.splitlines() if re.search(r"\d{4}-\d\d-\d\d ", it)]
    assert rows, ran
    for row in rows:
        assert re.search(r"[0-9a-f]{8}-[0-9a-f]{4}\b.* \d{4}-\d\d-\d\d \d\d:\d\d", row), row
        assert len(row) <= int(width)
    if words == "session list":
        assert "read" in ran.out


def test_a_search_finds_agents_and_what_is_archived_and_more_than_a_page(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert desk.meant["CHILD"] not in desk.run("search", "below").out
    assert desk.meant["CHILD"] in desk.run("search", "--agents", "below").out
    desk.ready("AWAY")
    assert desk.meant["AWAY"] not in desk.run("search", "loom").out
    assert desk.meant["AWAY"] in desk.run("search", "--archived", "loom").out
    everything = desk.run("search", "loom").out
    monkeypatch.setattr("threadloom.cli.find.PAGE", 1)
    assert desk.run("search", "loom").out == everything
    assert len(desk.run("search", "loom", "-n", "2").out.splitlines()) == min(2, len(everything.splitlines()))


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("search ''", 2, "search for what?"),
        ("session save -- -x ROOT", 2, "must not start with `-`"),
        ("show 01a1ec4", 1, "of an id, give the first 8 characters or more"),
        ("show --id ready", 1, "there is no saved session or thread `ready`"),
        ("delete --yes --id ready", 1, "there is no saved session or thread `ready`"),
    ],
)
def test_what_is_asked_wrongly_is_told_with_a_way_out(words: str, code: int, says: str, desk: Desk) -> None:
    ran = desk.run(*(desk.meant.get(it, it) for it in shlex.split(words)))
    assert (ran.code, ran.out) == (code, ""), ran
    assert says in ran.err


def test_a_name_whose_thread_is_deleted_says_what_is_left_of_it(desk: Desk) -> None:
    desk.ready("FORK")
    assert desk.run("session", "save", "what is left", desk.meant["FORK"]).code == 0
    ran = desk.run("delete", "--yes", "--json", desk.meant["FORK"])
    assert json.loads(ran.out) == {
        "threadId": desk.meant["FORK"], "done": "deleted", "keptBy": {"sessions": ["what is left"], "forks": []}
    }  # fmt: skip
    for command in ("show", "tree", "archive"):
        ran = desk.run(command, "what is left")
        assert ran.code == 1, ran
        assert "`threadloom fork 'what is left'` begins a new one" in ran.err
    assert desk.run("session", "delete", "what is left").code == 0


def test_a_search_that_finds_nothing_says_so_to_people_only(desk: Desk) -> None:
    ran = desk.run("search", "nobody-ever-said-this", terminal=True)
    assert (ran.code, ran.out, ran.err) == (0, "", "Nothing like that was said.\n")
    ran = desk.run("search", "nobody-ever-said-this")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "127.0.0.1:1", "stdio://", "ws://", "ws://127.0.0.1:99999", "ws://[::1", "unix://"]
)
def test_an_address_of_another_kind_is_refused(url: str, desk: Desk) -> None:
    ran = desk.run("list", "--connect", url)
    assert (ran.code, ran.out) == (2, "")
    assert "--connect takes ws://" in ran.err


def test_the_first_characters_of_an_id_stand_for_it(desk: Desk) -> None:
    ran = desk.run("show", desk.meant["ROOT"][:18])
    assert ran.out.startswith(f"thread\t{desk.meant['ROOT']}\n"), ran


def in_shell(room: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run lines of bash, in which `threadloom` is ours."""
    return subprocess.run(
        ["bash", "-c", f'threadloom() {{ {THREADLOOM[0]} "$@"; }}\n{script}'],
        env=environment(room), cwd=room, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["show ready | head -n 1", "list | true", "doctor | true", "list --json | true"])
def test_a_reader_who_leaves_is_no_fault(command: str, stock: Stock) -> None:
    done = in_shell(stock.room, f"threadloom {command}; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", ""), done


@pytest.mark.parametrize("command", ["list", "list --json", "doctor", "completion bash"])
def test_output_that_cannot_be_written_is_told_in_a_line(command: str, stock: Stock) -> None:
    done = in_shell(stock.room, f"threadloom {command} >/dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done
    assert "threadloom: the output cannot be written: No space left" in done.stderr


@pytest.mark.parametrize("command", ["exec x", "exec -C below x", "agents", "list --here", "doctor"])
def test_a_folder_that_is_gone_is_told_as_such(command: str, stock: Stock, tmp_path: Path) -> None:
    done = in_shell(
        stock.room, f"mkdir {tmp_path}/gone; cd {tmp_path}/gone; rmdir {tmp_path}/gone; threadloom {command}"
    )
    assert done.returncode == 1, done
    assert "is gone: change to one that is there" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_fork_into_a_folder_that_is_not_there_makes_nothing(desk: Desk) -> None:
    before = desk.run("list", "-n", "1000").out
    ran = desk.run("fork", "ready", "-C", "/nowhere")
    assert (ran.code, ran.out) == (2, "")
    assert "there is no such folder" in ran.err
    assert desk.run("list", "-n", "1000").out == before


def test_resuming_a_saved_name_says_how_far_it_has_moved(desk: Desk) -> None:
    made = desk.run("fork", "ready").out.split("\t")[0]
    assert desk.run("session", "save", "the first point", made).code == 0
    assert desk.run("resume", "the first point").err == ""
    assert later(desk, made).code == 0
    assert desk.run("resume", "the first point").err == (
        "threadloom: 1 turn further than when it was saved; `threadloom fork 'the first point'` goes back there\n"
    )


def later(desk: Desk, thread_id: str) -> Ran:
    """One more turn in a thread."""

    async def work(place: Place) -> int:
        async with place.client() as client:
            await client.request(thread.RESUME, thread.ThreadResumeParams(thread_id=thread_id))
            with client.notifications(turn.COMPLETED) as ends, anyio.fail_after(30):
                said = turn.TurnStartParams(thread_id=thread_id, input=[TextUserInput(text="echo later")])
                await client.request(turn.START, said)
                await anext(ends)
        return 0

    return Ran(link.run(parse(["list"]), work), "", "")


async def test_a_token_comes_from_a_file_or_a_variable(stock: Stock, tmp_path: Path) -> None:
    import anyio.to_thread
    from tests.support.processes import listening

    (tmp_path / "token").write_text("a token for the tests\n", encoding="utf-8-sig")
    options = ("--ws-auth", "capability-token", "--ws-token-file", str(tmp_path / "token"))
    async with listening("ws://127.0.0.1:0", tmp_path, *options) as server:

        def listed(*words: str, **variables: str) -> tuple[int, str]:
            done = process(stock.room, "list", "--connect", server.url, *words, **variables)
            return done.returncode, done.stderr

        code, said = await anyio.to_thread.run_sync(listed)
        assert code == 1
        assert "--token-file FILE or in THREADLOOM_TOKEN" in said
        assert await anyio.to_thread.run_sync(lambda: listed("--token-file", str(tmp_path / "token"))) == (0, "")
        assert await anyio.to_thread.run_sync(lambda: listed(THREADLOOM_TOKEN="a token for the tests")) == (0, "")
        code, said = await anyio.to_thread.run_sync(lambda: listed("--token-file", str(tmp_path / "nowhere")))
        assert code == 2
