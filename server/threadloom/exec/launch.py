"""The one object through which a server runs commands: it picks a sandbox, and keeps what runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import anyio
import anyio.to_thread

from threadloom.exec.base import STUCK, Diagnosis, Kind, LaunchError, Order, Process, SandboxUnavailable
from threadloom.exec.choice import FORCE as FORCE
from threadloom.exec.choice import choose, forced
from threadloom.exec.choice import diagnose as diagnose
from threadloom.exec.keeping import Keeper
from threadloom.exec.lookup import find_program
from threadloom.exec.process import WardedProcess
from threadloom.exec.sandbox import bubblewrap, own
from threadloom.exec.sandbox.guards import settings
from threadloom.exec.sandbox.reserved import Reserved
from threadloom.exec.tree.plan import Bubble, Cage, Plan

ADVICE: Final = (
    "Install bubblewrap (`apt-get install bubblewrap`), or allow commands to run without a sandbox "
    '(sandbox mode "danger-full-access").'
)


class Host:
    """Every command of a server. `close` it when the server ends."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._forced = forced(environ)
        self._keeper = Keeper()
        self._live: set[WardedProcess] = set()
        self._reserved = Reserved()
        self._choice: Diagnosis | None = None
        self._choosing = anyio.Lock(fast_acquire=True)
        self._closing = False

    @property
    def kind(self) -> Kind:
        """The sandbox in use; "none" when fenced commands are refused. Asking the first time takes some 20 ms."""
        return choose(self._forced).kind

    @property
    def guards_git(self) -> bool:
        """Whether repositories inside the writable roots stay as they are, and modes and times of what is outside.

        If not, the policy has to ask.
        """
        return choose(self._forced).guards_git

    @property
    def live(self) -> frozenset[WardedProcess]:
        """The commands of which something is left."""
        return frozenset(self._live)

    async def warm(self) -> None:
        """Do now what the first command would have to wait for."""
        self._keeper.start()
        await self._chosen()

    async def launch(self, order: Order) -> Process:
        """Start a command, or raise `LaunchError`."""
        _check(order)
        try:
            release = self._reserved.hold(await self._free(order))
        except OSError as fault:
            raise LaunchError(f"no room is kept for settings: {fault.strerror}") from fault
        try:
            return await self._launched(order, release)
        except BaseException:
            release()
            raise

    async def _launched(self, order: Order, release: Callable[[], None]) -> Process:
        plan = Plan(list(order.argv), order.cwd, dict(order.env), order.tty, await self._jail(order))
        if self._closing:
            raise LaunchError("the server is stopping")
        process = await self._keeper.launch(order, plan, self._live, release)
        if self._closing:
            process.abort()
            raise LaunchError("the server is stopping")
        return process

    async def end_all(self, grace: float = 0.5) -> None:
        """End every command with all that it started. What is stuck is left to the keeper."""
        with anyio.move_on_after(grace + STUCK):
            async with anyio.create_task_group() as tasks:
                for process in self.live:
                    tasks.start_soon(process.end, grace)

    async def close(self, grace: float = 0.5) -> None:
        """End every command, and start none any more."""
        self._closing = True
        await self.end_all(grace)
        await self._keeper.close()

    async def _chosen(self) -> Diagnosis:
        """The sandbox; found out off the loop, once."""
        async with self._choosing:
            if self._choice is None:
                self._choice = await anyio.to_thread.run_sync(choose, self._forced)
        return self._choice

    async def _free(self, order: Order) -> Iterable[str]:
        """What is kept free of settings, so that it can be guarded: a sandbox without mounts has to ask instead."""
        guarded = order.fence.mode == "workspace-write" and (await self._chosen()).guards_git
        return settings(order.fence, order.cwd) if guarded else ()

    async def _jail(self, order: Order) -> Bubble | Cage | None:
        if order.fence.mode == "danger-full-access":
            return None
        chosen = await self._chosen()
        if chosen.kind == "bubblewrap":
            return bubblewrap.bubble(order)
        if chosen.kind == "landlock":
            return own.cage(order, namespaces=chosen.guards_git)
        raise SandboxUnavailable(_refusal(chosen))


def _refusal(chosen: Diagnosis) -> str:
    why = "; ".join(f"{kind}: {reason}" for kind, reason in chosen.reasons.items())
    return f"No sandbox works here, so the command was not started ({why}). {ADVICE}"


def _check(order: Order) -> None:
    """What can be seen to be wrong before anything is started."""
    if not order.argv or not order.argv[0]:
        raise LaunchError("there is no command")
    if any("\0" in word for word in (*order.argv, order.cwd, *order.env, *order.env.values())):
        raise LaunchError("a command, a folder or a variable contains a NUL character")
    if not os.path.isdir(order.cwd):
        raise LaunchError(f"the working directory does not exist: {order.cwd}")
    if find_program(order.argv[0], order.env.get("PATH", os.defpath), order.cwd) is None:
        raise LaunchError(f"there is no program {order.argv[0]}")
