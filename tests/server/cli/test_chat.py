"""`threadloom chat` in a real terminal (tmux): what a person sees, and what the keys do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGKILL
from subprocess import DEVNULL, PIPE
from typing import Any

import anyio
from anyio.abc import Process
from tests.clients.terminal import Terminal, terminal
from tests.support.processes import THREADLOOM, command, environment, server_home

from threadloom_client import connect
from threadloom_protocol.v2 import approval, roster, thread

PATIENCE = 30.0  # seconds for anything to be seen


class Chat:
    """A chat, seen from its keyboard."""

    def __init__(self, it: Terminal) -> None:
        self.terminal = it

    async def sees(self, pattern: str) -> str:
        """Wait for something on the screen; the screen."""

        def look(screen: str) -> str | None:
            return screen if re.search(pattern, screen, re.MULTILINE | re.DOTALL) else None

        return await self.terminal.until(look, PATIENCE, "chat", f"{pattern!r}")

    async def says(self, text: str) -> None:
        """Type lines and send them."""
        for number, row in enumerate(text.split("\n")):
            if number:
                await self.terminal.press("C-j")
            await self.terminal.type(row)
        await self.sees(re.escape(text.split("\n")[-1][-30:].strip()))
        await self.terminal.press("Enter")

    async def leaves(self) -> None:
        """Ctrl-C, twice."""
        await self.terminal.press("C-c")
        await self.sees("Ctrl-C again leaves")
        await self.terminal.press("C-c")
        assert await self.terminal.ended(PATIENCE) == 0
        assert "Go on with: threadloom resume " in await self.terminal.screen()


@asynccontextmanager
async def chatting(
    room: Path, *words: str, first: str = "chat", narrow: int = 0, **variables: str
) -> AsyncIterator[Chat]:
    """A chat in a terminal, ready for the first line."""
    work = room / "work"
    work.mkdir(exist_ok=True)
    async with terminal([*THREADLOOM, first, *words], work, environment(room) | variables) as it:
        if narrow:
            await it.tmux("resize-window", "-t", "0", "-x", str(narrow), "-y", "50")
        chat = Chat(it)
        await chat.sees(r"^ rehearsal .*(this process|ws://|unix://|connected)")
        yield chat


async def test_it_streams_runs_commands_and_shows_diffs(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        await chat.says("think\nslow 30 ms\nsay 60 words")
        await chat.sees(r"Rehearsing.*the loom stands.*working \d+s · esc to interrupt")  # before it is done
        await chat.sees(r"the loom stands.*\n›\n rehearsal · ")
        await chat.says("run printf 'a\\nb\\n'; sleep 0.2; echo c\npatch notes.txt with Buy wool")
        screen = await chat.sees(r"\$ /bin/bash.*a\n  b\n  c\n.*± \S+notes.txt \(added\)\n  \+Buy wool")
        assert (tmp_path / "work" / "notes.txt").read_text() == "Buy wool\n", screen
        shown = await chat.terminal.tmux("capture-pane", "-p", "-e", "-t", "0")
        assert re.search(r"\x1b\[[0-9;]*32m[^\n]*\+Buy wool", shown), shown  # in green
        assert re.search(r"\x1b\[[0-9;]*2[;m][^\n]*Rehearsing", shown), shown  # thoughts are dim
        await chat.leaves()


async def test_questions_are_answered_by_a_key(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        await chat.says("run outside the sandbox touch yes.txt")
        await chat.sees(r"May this run\?\n  \$ .*touch yes.txt.*y  yes.*n  no, go on without.*esc  no, and end")
        await chat.terminal.press("y")
        await chat.sees(r"exec_command answered.*\n›\n")
        assert (tmp_path / "work" / "yes.txt").exists()
        await chat.says("run outside the sandbox touch no.txt")
        await chat.sees(r"May this run\?\n  \$ .*touch no.txt")
        await chat.terminal.press("n")
        await chat.sees(r"touch no.txt'?\n  declined.*\n›\n")
        await chat.says("run outside the sandbox touch never.txt")
        await chat.sees(r"May this run\?\n  \$ .*touch never.txt")
        await chat.terminal.press("Escape")
        await chat.sees("■ interrupted")
        assert sorted(it.name for it in (tmp_path / "work").iterdir()) == ["yes.txt"]
        await chat.leaves()


async def test_a_line_that_is_being_written_answers_nothing(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        await chat.says("run outside the sandbox touch asked.txt")
        await chat.sees(r"May this run\?.*esc  no, and end")
        await chat.terminal.type("why any? say nay")
        await chat.sees(r"May this run\?.*Letters belong to your line.*› why any\? say nay\n")
        await chat.terminal.press("Enter")
        await chat.sees(r"◷ why any\? say nay\n.*May this run\?.*esc  no, and end the turn\n›\n")
        assert list((tmp_path / "work").iterdir()) == []
        await chat.terminal.press("y")
        await chat.sees(r"exec_command answered.*› why any\? say nay\n.*\n›\n")
        assert [it.name for it in (tmp_path / "work").iterdir()] == ["asked.txt"]
        await chat.says("run outside the sandbox touch never.txt")
        await chat.sees(r"May this run\?.*never.txt")
        await chat.terminal.type("a line")
        await chat.sees(r"Letters belong to your line.*› a line\n")
        await chat.terminal.press("Escape")
        await chat.sees(r"■ interrupted.*› a line\n")
        await chat.leaves()


async def test_questions_are_answered_by_a_number_in_own_words_or_not_at_all(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        await chat.says("ask Which colour? red | green")
        await chat.sees(r"Which colour\?\n  1  red\n  2  green\n  a number, or your own words · esc for no answer")
        await chat.says("2")
        await chat.sees(r"You: Which colour\? green.*request_user_input answered: .*green.*\n›\n")
        await chat.says("ask And why?")
        await chat.sees(r"And why\?\n  your own words · esc for no answer")
        await chat.says("It is calm")
        await chat.sees(r"You: And why\? It is calm.*request_user_input answered: .*It is calm.*\n›\n")
        await chat.says("ask What else?")
        await chat.sees(r"What else\?\n  your own words")
        await chat.terminal.press("Escape")
        await chat.sees(r"You: What else\? no answer.*Nobody has answered.*\n›\n")
        await chat.leaves()


async def test_a_compaction_is_told_when_it_is_done(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        await chat.says("echo one")
        await chat.sees(r"\n\none\n")
        await chat.says("/compact")
        await chat.sees("is being condensed.*⋔ what the model sees of this conversation is condensed from here on")
        await chat.leaves()


async def test_esc_interrupts_and_what_was_queued_waits_for_a_word(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        await chat.says("echo before\nwait")
        await chat.sees("working")
        await chat.says("echo I came later")
        await chat.sees(r"◷ echo I came later.*1 queued")
        await chat.terminal.press("Escape")
        await chat.sees("■ interrupted.*held: /queue resume")
        await chat.says("/queue")
        await chat.sees("1\\. echo I came later")
        await chat.says("/queue resume")
        await chat.sees(r"› echo I came later\n\nI came later\n")
        await chat.leaves()


async def test_save_fork_note_and_back_again(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        await chat.says("echo The point to come back to")
        await chat.sees(r"\n\nThe point to come back to\n")
        await chat.says("/save here we are")
        await chat.sees("Saved as here we are")
        await chat.says("/note mind the gap")
        await chat.sees("Note: mind the gap")
        await chat.says("echo said after the save")
        await chat.sees(r"\n\nsaid after the save\n")
        await chat.says("/fork here we are")
        await chat.sees("A fork of here we are")
        await chat.says("/status")
        forked = re.findall(r"thread +(\S{36})", await chat.sees(r"connection connected"))[-1]
        await chat.says("/resume")
        other = re.findall(r"(\S{13})  \d{4}-", await chat.sees(r"/resume ID\|NAME goes there"))[-1]
        await chat.says(f"/resume {other}")  # the beginning of an id is enough
        await chat.sees(r"goes there.*\n\nsaid after the save\n")
        await chat.says("/nonsense")
        await chat.sees("there is no /nonsense; /help")
        await chat.leaves()
    async with chatting(tmp_path, "here we are", first="resume") as chat:
        screen = await chat.sees(r"\n\nsaid after the save\n")  # the thread itself, not the saved point
        await chat.sees(r"^1 turn further than when it was saved; /fork here we are goes back there\.")
        assert forked not in screen
        await chat.terminal.press("Up")  # what was typed last time
        await chat.sees("^› /nonsense")
        await chat.terminal.press("C-u")
        await chat.leaves()
    async with chatting(tmp_path, "here we are", first="fork") as chat:
        screen = await chat.sees(r"\n\nThe point to come back to\n")
        assert "said after the save" not in screen
        await chat.leaves()


async def test_the_tree_lives_and_a_close_takes_all_of_it(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        await chat.says("spawn as worker spawn wait\n  wait\nand spawn as explorer wait\nwait")
        await chat.sees(r"running.*\n├─ worker \S+ running.*\n│  └─ agent \S+ running.*\n└─ explorer \S+ running")
        await chat.sees("· 3 agents ·")
        await chat.terminal.press("Escape")
        await chat.sees("■ interrupted")
        await chat.says("/close")
        screen = await chat.sees(r"(closed \S+ .*){4}")
        closed = re.findall(r"closed (\S+) +(\w+) → (\w+)", screen)
        assert [after for _, _, after in closed] == ["closed"] * 4
        assert [before for _, before, _ in closed] == ["running"] * 3 + ["interrupted"]  # the root is the last
        await chat.says("/tree")
        await chat.sees(r"root \S+ closed\n├─ worker \S+ closed")
        await chat.says("echo and on it goes")  # which takes the thread up again
        await chat.sees(r"\n\nand on it goes\n")
        await chat.leaves()


async def test_a_narrow_window_without_colour_and_wide_characters(tmp_path: Path) -> None:
    wide = "漢字かな交じり文" * 6
    async with chatting(tmp_path, narrow=40, NO_COLOR="1") as chat:
        await chat.says(f"echo {wide}\npatch notes.txt with {wide[:8]}")
        screen = await chat.sees(r"\+漢字かな交じり文\n.*\n›\n rehearsal · ")
        assert screen.replace("\n", "").count(wide) == 2, screen  # asked and answered, no character lost at an edge
        await chat.says("spawn wait\nand spawn as worker wait\nwait")
        await chat.sees(r"├─ agent.*\n└─ worker.*2 agents")
        await chat.terminal.press("Escape")
        await chat.sees("■ interrupted")
        shown = await chat.terminal.tmux("capture-pane", "-p", "-e", "-S", "-", "-t", "0")
        coloured = [
            it for it in re.findall(r"\x1b\[([0-9;]*)m", shown) if re.search(r"(^|;)(3[0-8]|4[0-8]|9\d)(;|$)", it)
        ]
        assert coloured == [], shown
        await chat.leaves()


async def test_a_bell_rings_for_an_agent_that_ended_unless_one_looks(tmp_path: Path) -> None:
    home = server_home(tmp_path)
    home.mkdir()
    (home / "config.toml").write_text('[tui]\nnotifications = ["sub-agent-complete"]\n')
    written = tmp_path / "written"

    def bells() -> list[int]:
        """Before the second agent is spoken of, and from then on: what is written comes later than it is seen."""
        before, _, after = written.read_bytes().partition(b"the second")
        return [before.count(b"\x07"), after.count(b"\x07")]

    async with chatting(tmp_path) as chat:
        await chat.terminal.tmux("pipe-pane", "-t", "0", f"cat >{written}")
        await chat.terminal.press("-H", "1b", "5b", "49")  # the terminal says: I have the focus
        await chat.says("spawn as worker echo the first\nwait for agents")
        await chat.sees(r"⋔ agent worker .* completed in .*the first")
        await chat.sees(r"\n›\n rehearsal ")
        await chat.terminal.press("-H", "1b", "5b", "4f")  # and now somebody else has it
        await chat.says("spawn as worker echo the second\nwait for agents")
        await chat.sees(r"⋔ agent worker .* completed in .*the second.*\n›\n rehearsal ")
        await chat.terminal.until(lambda screen: screen if any(bells()) else None, PATIENCE, "chat", "a bell")
        await chat.leaves()
    assert bells() == [0, 1]  # for the agent; the end of the turn is filtered out


async def test_a_chat_that_cannot_begin_says_why_and_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    gone, say = f"--connect unix://{tmp_path}/gone", 'echo "=> $?"'
    script = f"""
        export PATH={Path(THREADLOOM[0]).parent}:$PATH
        THREADLOOM_HOME={tmp_path}/file/home threadloom chat; {say}
        threadloom chat {gone}; {say}
        threadloom resume --last {gone}; {say}
        threadloom fork any -C /nowhere; {say}
        threadloom fork any; {say}
        stty -a | grep -ow -e -echo -e echo
        sleep 60
    """
    async with terminal(["bash", "-c", script], tmp_path, environment(tmp_path)) as it:
        screen = await Chat(it).sees(r"^echo$")
    nobody = rf"threadloom: cannot connect to unix://{tmp_path}/gone\S*.*?\nIs the server there\?.*?\n=> 1\n"
    unknown = r"threadloom: there is no saved session or thread `any`\n=> 1\n"
    home = rf"threadloom: {tmp_path}/file/home cannot be the home.*?\n=> 1\n"
    nowhere = r"threadloom: -C /nowhere: there is no such folder\n=> 2\n"
    assert re.fullmatch(rf"{home}({nobody}){{2}}{nowhere}{unknown}echo", screen.strip(), re.DOTALL), screen


# ── with a server elsewhere ───────────────────────────────────────────────────────────────────────────────────────────


async def started(room: Path, listen: str) -> Process:
    """A server that may be killed."""
    words = command("--listen", listen)
    process = await anyio.open_process(words, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env=environment(room))
    assert process.stderr is not None
    said = b""
    with anyio.fail_after(PATIENCE):
        while b"listening on" not in said:
            said += await process.stderr.receive()
    return process


async def ended(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.aclose()


async def test_it_comes_back_by_itself_after_the_server_was_killed(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/server"
    server = await started(tmp_path, url)
    try:
        async with chatting(tmp_path, "--connect", url) as chat:
            await chat.says("echo one\nslow 100 ms\nsay 80 words")
            await chat.sees("the loom stands in")
            server.send_signal(SIGKILL)
            await chat.sees("reconnecting")
            await ended(server)
            await chat.says("echo said while nobody was there")
            await chat.sees(r"◷ echo said while nobody was there.*1 queued")
            server = await started(tmp_path, url)
            screen = await chat.sees(r"■ interrupted.*\n\nsaid while nobody was there\n.*\n›\n rehearsal .*unix://")
            assert screen.count("the loom stands in") == 1, screen  # nothing twice
            assert screen.count("\nsaid while nobody was there") == 1, screen
            await chat.leaves()
    finally:
        with anyio.CancelScope(shield=True):
            await ended(server)


async def test_what_an_agent_wants_to_change_is_seen_before_it_is_allowed(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/server"
    server = await started(tmp_path, url)
    seen = r"May these files be changed\?.*asked by agent.*notes.txt \(added\)\n +\+Buy wool\n.*y  yes"
    try:
        async with chatting(tmp_path, "-a", "untrusted", "--connect", url) as chat:
            await chat.says("spawn patch notes.txt with Buy wool\nwait for agents")
            await chat.sees(seen)
            async with chatting(
                tmp_path, "--last", "--connect", url, first="resume"
            ) as late:  # hears only the question
                await late.sees(seen)
                await late.terminal.press("y")
                await late.sees(r"\A(?!.*May these files be changed).*\n›\n rehearsal ")
                await late.leaves()
            await chat.sees(r"completed in .*\n›\n rehearsal ")
            assert (tmp_path / "work" / "notes.txt").read_text() == "Buy wool\n"
            await chat.leaves()
    finally:
        with anyio.CancelScope(shield=True):
            await ended(server)


async def test_what_was_never_sent_is_shown_to_one_who_leaves(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/server"
    server = await started(tmp_path, url)
    try:
        async with chatting(tmp_path, "--connect", url) as chat:
            server.send_signal(SIGKILL)
            await chat.sees("reconnecting")
            await chat.says("echo nobody hears this")
            await chat.sees("1 queued")
            await chat.leaves()
            assert re.search(r"Not sent, .*:\necho nobody hears this\n", await chat.terminal.screen())
    finally:
        with anyio.CancelScope(shield=True):
            await ended(server)


async def test_a_question_is_asked_again_after_the_server_was_killed(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/server"
    server = await started(tmp_path, url)
    try:
        async with chatting(tmp_path, "--connect", url) as chat:
            await chat.says("run outside the sandbox touch after.txt")
            await chat.sees(r"May this run\?")
            server.send_signal(SIGKILL)
            await chat.sees(r"\n›\n rehearsal .*reconnecting")  # and the question is gone
            await ended(server)
            server = await started(tmp_path, url)
            await chat.sees(r"May this run\?.*esc  no, and end")
            await chat.terminal.press("y")
            await chat.sees(r"exec_command answered")
            assert (tmp_path / "work" / "after.txt").exists()
            await chat.leaves()
    finally:
        with anyio.CancelScope(shield=True):
            await ended(server)


async def test_a_question_that_somebody_else_has_answered_goes_away(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/server"
    server = await started(tmp_path, url)
    asked, decided = anyio.Event(), anyio.Event()

    async def accept(params: Any) -> approval.CommandExecutionRequestApprovalResponse:
        asked.set()
        await decided.wait()
        return approval.CommandExecutionRequestApprovalResponse(decision="accept")

    try:
        async with chatting(tmp_path, "--connect", url) as chat, connect(url) as other:
            other.on_request(approval.COMMAND, accept)
            (root,) = (await other.request(roster.LOADED)).data
            await other.request(thread.RESUME, thread.ThreadResumeParams(thread_id=root))
            await chat.says("run outside the sandbox touch theirs.txt; sleep 60")
            await chat.sees(r"May this run\?.*esc  no, and end")
            with anyio.fail_after(PATIENCE):
                await asked.wait()
            decided.set()
            screen = await chat.sees(r"sleep 60'?\n● working \d+s · esc to interrupt\n›\n")  # while it still runs
            assert "May this run" not in screen
            await chat.terminal.press("Escape")
            await chat.sees("■ interrupted")
            assert (tmp_path / "work" / "theirs.txt").exists()
            await chat.leaves()
    finally:
        with anyio.CancelScope(shield=True):
            await ended(server)
