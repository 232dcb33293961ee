"""What a thread holds while it lives, and that nothing of it is held any more once it is closed."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import orjson
from anyio.lowlevel import checkpoint
from tests.server.threads.house import House
from tests.support.talk import SECONDS, Talk

from threadloom_protocol.v2.values.policy import DangerFullAccessSandboxPolicy

HOUR = 3600.0


class Held:
    """What this process holds: tasks, by what they do, and open files."""

    def __init__(self) -> None:
        self.tasks = Counter(it.name for it in anyio.get_running_tasks())
        self.files = Counter(_target(it) for it in os.listdir("/proc/self/fd"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and (self.tasks, self.files) == (other.tasks, other.files)

    __hash__ = None  # type: ignore[assignment]


def _target(descriptor: str) -> str:
    """What an open file is; sockets and pipes are as good as each other."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").partition(":[")[0]
    except OSError:  # that of the list itself
        return "gone"


class Busy:
    """A tree that holds everything a thread can hold."""

    def __init__(self, root: str, child: str, pid: int) -> None:
        self.root, self.child, self.pid = root, child, pid

    @property
    def everyone(self) -> tuple[str, str]:
        return self.root, self.child


async def busy(home: House, talk: Talk, folder: Path) -> Busy:
    """A root with a command in the background and a timer; a child that has a question."""
    root = (await talk.start(cwd=str(folder), approvalPolicy="never", sandbox="danger-full-access"))["id"]
    await talk.turn(root, _call("exec_command", cmd="sleep 600", yield_time_ms=250, login=False))
    [terminal] = home.thread(root).terminals.running()
    home.thread(root).pump_later(HOUR)
    asking = home.settings.model_copy(
        update={
            "cwd": str(folder),
            "approval_policy": "untrusted",
            "sandbox_policy": DangerFullAccessSandboxPolicy(),
        }
    )
    child = home.born(root)
    home.thread(child).set_settings(asking)
    home.speak(child, _call("shell", command=["touch", str(folder / "made")]))
    await talk.question()
    return Busy(root, child, terminal.process.pid)


def _call(tool: str, **arguments: Any) -> str:
    return f"call {tool} {orjson.dumps(arguments).decode()}"


async def test_after_a_close_nothing_is_held(home: House, tmp_path: Path) -> None:
    threads = home.threads
    async with home.talking() as talk:
        first = await busy(home, talk, tmp_path)  # what the server itself opens for good, it has opened then
        await talk.ask("thread/close", threadId=first.root)
        before = Held()
        tree = await busy(home, talk, tmp_path)
        assert Held() != before
        assert list(threads.leases.roots) == [tree.root]
        assert threads.lineage.running_below(tree.root) == [tree.child]
        await talk.ask("thread/close", threadId=tree.root)
        assert threads.loaded == {}
        assert not Path(f"/proc/{tree.pid}").exists()  # noqa: ASYNC240 (a moment, in a test)
        assert list(threads.leases.roots) == []
        assert threads.lineage.running_below(tree.root) == []
        assert list(threads.hub.questions.askers) == []
        assert not any(threads.hub.followed(it) for it in tree.everyone)
        with anyio.fail_after(SECONDS):
            while Held() != before:
                await checkpoint()


async def test_who_followed_a_closed_thread_follows_it_again_when_it_takes_it_up(home: House) -> None:
    async with home.talking() as one, home.talking() as other:
        root = (await one.start())["id"]
        await one.ask("thread/close", threadId=root)
        assert [it["params"]["reason"] for it in one.heard("thread/closed", thread=root)] == ["closed"]
        await other.ask("thread/resume", threadId=root)
        await other.turn(root, "echo Not for you.")
        await one.ask("thread/loaded/list")
        assert one.heard("turn/started", thread=root) == []
        await one.ask("thread/resume", threadId=root)
        await one.turn(root, "echo For both.")
        await other.ask("thread/loaded/list")
        assert len(other.heard("turn/started", thread=root)) == 2
