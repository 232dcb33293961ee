"""`make demo`: a whole story by itself, over a real WebSocket, on the offline model."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio

from threadloom.app import App
from threadloom.config import Settings
from threadloom.transports.auth import Gate
from threadloom.transports.websocket import WebSocketListener
from threadloom_client import Client, connect
from threadloom_protocol.v2 import approval, history, item, note, thread, tree, turn
from threadloom_protocol.v2.values.content import TextUserInput
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem, FileChangeThreadItem, UserMessageThreadItem

PATIENCE = 30.0  # seconds that any single step may take


def tell(text: str = "", end: str = "\n") -> None:
    """Print a piece of the story."""
    print(text, end=end, flush=True)  # noqa: T201 (this is what the demo is for)


def scene(title: str) -> None:
    """Begin a part of the story."""
    tell(f"\n── {title} {'─' * max(0, 70 - len(title))}")


def said(text: str) -> list[Any]:
    """A person's words, as input."""
    return [TextUserInput(text=text)]


async def begin(client: Client, thread_id: str, text: str) -> str:
    """Start a turn; its id."""
    started = await client.request(turn.START, turn.TurnStartParams(thread_id=thread_id, input=said(text)))
    return started.turn.id


async def watch(client: Client, turn_id: str, steer_after: int = 0) -> str:
    """Print a turn as it streams; how it ended. After `steer_after` deltas, a word is thrown in."""
    deltas = 0
    with client.notifications() as events:
        async for event in events:
            match event.params:
                case item.AgentMessageDeltaNotification(delta=text, turn_id=at) if at == turn_id:
                    tell(text, end="")
                    deltas += 1
                    if deltas == steer_after:
                        tell("\n   (steering: “echo Shorter, please.”)\n   ", end="")
                        await client.request(
                            turn.STEER,
                            turn.TurnSteerParams(
                                thread_id=event.params.thread_id,
                                expected_turn_id=turn_id,
                                input=said("echo Shorter, please."),
                            ),
                        )
                case turn.TurnCompletedNotification(turn=ended) if ended.id == turn_id:
                    tell(f"\n   [{ended.status}]")
                    return ended.status
    raise RuntimeError("the server went away")


async def talk(url: str) -> str:
    """Threads, streaming, steering, a note; the id of the thread."""
    async with connect(url, experimental=True) as client:
        scene("A thread, and an answer as it streams")
        root = (await client.request(thread.START)).thread
        tell(f"   thread {root.id}, log {root.path}")
        tell("   you: Hello, who are you?\n   ", end="")
        await watch(client, await begin(client, root.id, "Hello, who are you?"))
        scene("Steering: a word thrown in while it speaks")
        tell("   you: say 60 words\n   ", end="")
        await watch(client, await begin(client, root.id, "slow 15 ms\nsay 60 words"), steer_after=4)
        scene("A note")
        kept = await client.request(
            note.SET, note.ThreadSetNoteParams(thread_id=root.id, note="  the demo's first thread  ")
        )
        tell(f"   note: {kept.note!r}")
        return root.id


async def asked(url: str) -> None:
    """A command that wants out of the sandbox waits for a word; a patch inside it does not."""
    scene("An approval: the agent asks before it leaves the sandbox")

    async def answer(params: Any) -> approval.CommandExecutionRequestApprovalResponse:
        tell(f"   it asks: may I run {params.command}?\n   because: {params.reason}\n   you: accept")
        return approval.CommandExecutionRequestApprovalResponse(decision="accept")

    with tempfile.TemporaryDirectory(prefix="threadloom-demo-") as folder:
        async with connect(url, experimental=True) as client:
            client.on_request(approval.COMMAND, answer)
            root = (await client.request(thread.START, thread.ThreadStartParams(cwd=folder))).thread
            lines = ["run outside the sandbox echo I am out.", "patch notes.txt with Buy wool."]
            tell("\n".join(f"   you: {line}" for line in lines))
            with client.notifications() as events:
                turn_id = await begin(client, root.id, "\n".join(lines))
                async for event in events:
                    match event.params:
                        case item.ItemCompletedNotification(item=CommandExecutionThreadItem() as ran):
                            tell(f"   ran ({ran.status}): {(ran.aggregated_output or '').strip()}")
                        case item.ItemCompletedNotification(item=FileChangeThreadItem() as made):
                            tell(f"   changed ({made.status}): {', '.join(it.path for it in made.changes)}")
                        case turn.TurnCompletedNotification(turn=ended) if ended.id == turn_id:
                            tell(f"   [{ended.status}]")
                            return


async def forked(url: str, thread_id: str) -> None:
    """A fork goes its own way."""
    scene("A fork: the same past, another future")
    async with connect(url) as client:
        fork = (await client.request(thread.FORK, thread.ThreadForkParams(thread_id=thread_id))).thread
        tell(f"   fork {fork.id} of {fork.forked_from_id}\n   ", end="")
        await watch(client, await begin(client, fork.id, "echo I remember what came before."))
        turns = await client.request(history.TURNS, history.ThreadTurnsListParams(thread_id=fork.id))
        tell(f"   turns: {len(turns.data)} in the fork")


async def cut(url: str, thread_id: str) -> None:
    """A connection is lost in mid-sentence, and nothing else is."""
    scene("A cut: the connection goes in mid-sentence, nothing else does")
    seen, text = 0, ""
    async with connect(url) as client:
        await client.request(thread.RESUME, thread.ThreadResumeParams(thread_id=thread_id, exclude_turns=True))
        turn_id = await begin(client, thread_id, "slow 10 ms\nsay 40 words")
        with client.notifications(item.AGENT_MESSAGE_DELTA) as events:
            async for event in events:
                seen, text = event.params.seq or 0, text + event.params.delta
                if len(text) > 60:
                    break
    tell(f"   heard: {text!r}\n   … cut after seq {seen} …")
    async with connect(url) as client:
        with client.notifications() as missed:
            await client.request(thread.RESUME, thread.ThreadResumeParams(thread_id=thread_id, since_seq=seen))
            async for it in missed:
                if isinstance(it.params, item.AgentMessageDeltaNotification):
                    text += it.params.delta
                if isinstance(it.params, turn.TurnCompletedNotification) and it.params.turn.id == turn_id:
                    break
        whole = await client.request(thread.READ, thread.ThreadReadParams(thread_id=thread_id, include_turns=True))
    stored = [it.text for it in whole.thread.turns[-1].items if it.type == "agentMessage"][-1]
    tell(f"   back from seq {seen}: {'every word is there' if stored == text else 'TEXT DIFFERS'}")
    if stored != text:
        raise RuntimeError("the replay lost something")


GROW = """\
spawn
  spawn
    wait
  call set_thread_note {"id": "agent 1", "note": "spins the yarn"}
  wait
spawn
  wait
call set_thread_note {"id": "agent 1", "note": "cards the wool"}
call set_thread_note {"id": "agent 2", "note": "sets up the loom"}
"""


async def grown(client: Client, root: str, size: int) -> list[tree.ThreadTreeNode]:
    """The tree, once it has so many threads, each with a note, and its root rests."""
    with client.notifications(tree.CHANGED) as changes:
        while True:
            seen = await client.request(tree.READ, tree.ThreadTreeParams(thread_id=root, subscribe=True))
            if len(seen.data) == size and all(it.note for it in seen.data) and seen.data[0].status != "running":
                return seen.data
            await anext(changes)


async def closed(url: str, root: str) -> None:
    """Agents with an agent of their own are told to wait; the tree is closed, children first."""
    scene("A tree, and its close report")
    async with connect(url, experimental=True) as client:
        await client.request(thread.RESUME, thread.ThreadResumeParams(thread_id=root, exclude_turns=True))
        await begin(client, root, GROW)
        notes = {}
        for node in await grown(client, root, 4):
            notes[node.thread_id] = node.note or ""
            tell(f"   {'   ' * node.depth}└ {node.note} [{node.status}]")
        report = await client.request(tree.CLOSE, tree.ThreadCloseParams(thread_id=root), timeout=PATIENCE)
    for it in report.report:
        tell(f"   closed: {notes[it.thread_id]:<23} {it.before} → {it.after}  {it.how}, {it.ms} ms")


DELEGATE = """\
spawn
  slow 150 ms
  echo The wool is carded.
spawn
  slow 250 ms
  echo The yarn is spun, all of it.
spawn
  slow 350 ms
  echo The loom is set up, and the warp is tight.
echo All three are at work. I rest until I hear of them.
"""


async def woken(client: Client, thread_id: str, times: int, told: Collection[str] = ()) -> set[str]:
    """Print what wakes a parent, until it has been woken so often; all turns that were told so far."""
    told = set(told)
    with client.notifications(turn.COMPLETED) as events:
        while len(told) < times:
            read = thread.ThreadReadParams(thread_id=thread_id, include_turns=True)
            for it in (await client.request(thread.READ, read)).thread.turns:
                report = next((at for at in it.items if isinstance(at, UserMessageThreadItem)), None)
                if it.status != "inProgress" and it.id not in told and report is not None and report.report:
                    told.add(it.id)
                    tell(f"   woken by {report.report.child_thread_id} [{report.report.status}]: {_result(report)}")
            if len(told) < times:
                await anext(events)
    return told


def _result(report: UserMessageThreadItem) -> str:
    """The words of the child in its report, if it came to any."""
    paragraphs = [it for part in report.content if part.type == "text" for it in part.text.split("\n\n")]
    return paragraphs[1] if len(paragraphs) > 2 else "it had not said a word yet"


async def delegated(url: str) -> None:
    """A parent delegates to three agents, and rests: each of them wakes it."""
    scene("Three agents: the parent ends its turn, and is woken three times")
    async with connect(url, experimental=True) as client:
        root = (await client.request(thread.START)).thread.id
        tell("   ", end="")
        await watch(client, await begin(client, root, DELEGATE))
        await woken(client, root, 3)


@asynccontextmanager
async def server(home: str) -> AsyncIterator[tuple[anyio.abc.Process, str]]:
    """A server in a process of its own, and its address."""
    run = "from threadloom.cli import main; main()"
    words = [sys.executable, "-c", run, "app-server", "--listen", "ws://127.0.0.1:0"]
    environment = {**os.environ, "THREADLOOM_HOME": home}
    async with await anyio.open_process(words, stdin=DEVNULL, stdout=DEVNULL, env=environment) as process:
        try:
            assert process.stderr is not None
            said = b""
            while b"listening on " not in said or not said.endswith(b"\n"):
                said += await process.stderr.receive()
            yield process, said.partition(b"listening on ")[2].split()[0].decode()
        finally:
            with suppress(ProcessLookupError):
                process.kill()


async def killed(home: str) -> None:
    """The same story, and the server is killed in the middle of it."""
    scene("The same, and the server is killed in the middle")
    async with server(home) as (process, url), connect(url, experimental=True) as client:
        root = (await client.request(thread.START)).thread.id
        tell("   ", end="")
        await watch(client, await begin(client, root, DELEGATE.replace("50 ms", "500 ms")))
        told = await woken(client, root, 1)
        tell("   … kill -9, and a new server on the same home …")
        process.kill()
    async with server(home) as (_, url), connect(url, experimental=True) as client:
        await client.request(thread.RESUME, thread.ThreadResumeParams(thread_id=root, exclude_turns=True))
        await woken(client, root, 3, told)


async def story() -> None:
    """All of it."""
    with tempfile.TemporaryDirectory(prefix="threadloom-demo-") as home:
        async with App(Settings(home=Path(home))).running() as app:
            listener = WebSocketListener("127.0.0.1", 0, Gate())
            async with listener.serving(app.serve) as address:
                tell(f"A server on {address.url}, its home in {home}")
                with anyio.fail_after(10 * PATIENCE):
                    root = await talk(address.url)
                    await asked(address.url)
                    await forked(address.url, root)
                    await cut(address.url, root)
                    await delegated(address.url)
                    await closed(address.url, root)
        with anyio.fail_after(PATIENCE):
            await killed(home)
        scene("The end")


def main() -> int:
    """Tell the story; 0 when it ended well."""
    anyio.run(story)
    return 0


if __name__ == "__main__":
    sys.exit(main())
