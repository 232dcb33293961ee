"""A warden: the process above one command, which adopts what the command orphans, and ends all of it when told.

It tells the server, one line each: `S pid` started, `E why` not started, `X code` the command ended. The end of the
socket means that nothing is left.
It is told: `I` to interrupt the tree, `T seconds` to end it politely, `K` to kill it. The end of the socket means that
the server died.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from contextlib import suppress

from threadloom.exec.sandbox.libc import PR_SET_PDEATHSIG, prctl
from threadloom.exec.tree import inner, sweep
from threadloom.exec.tree.child import become, fork
from threadloom.exec.tree.plan import LENGTH, Cage, Plan, decode
from threadloom.exec.tree.sayings import Sayings
from threadloom.exec.tree.wakeup import Wakeup

# Between one round of KILL and the next, for processes that were forked meanwhile; and where some take none.
ROUND, STUCK_ROUND = 0.005, 0.25  # seconds
STUCK = 2.0  # seconds


class Warden:
    """One command and all beneath it."""

    def __init__(self, server: socket.socket, plan: Plan, stdio: list[int]) -> None:
        self._server = server
        self._wakeup = Wakeup()
        self._polite_until: float | None = None
        self._killing_since: float | None = None
        self._told_start = self._told_exit = False
        sweep.adopt()
        # If the keeper is killed, its wardens have to do their work alone.
        signal.signal(signal.SIGTERM, lambda *_: self._kill())
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        self._sayings = Sayings()
        cage = plan.jail if isinstance(plan.jail, Cage) and plan.jail.namespaces else None
        self._reports_itself = cage is not None
        self._contained = plan.jail is not None and (cage is not None or not isinstance(plan.jail, Cage))
        self._child = fork(lambda: self._start(plan, cage, stdio))
        for descriptor in set(stdio):
            os.close(descriptor)
        self._sayings.close()

    def _start(self, plan: Plan, cage: Cage | None, stdio: list[int]) -> None:
        if cage is not None:
            inner.run(plan, cage, stdio, self._sayings)
        with self._sayings.of_faults():
            become(plan, stdio)

    def watch(self) -> None:
        """Until nothing is left."""
        poll = select.poll()
        self._poll = poll
        for descriptor in (self._server.fileno(), self._wakeup.fileno(), self._sayings.faults, self._sayings.exits):
            poll.register(descriptor, select.POLLIN)
        while self._anything_left():
            for descriptor, _ in poll.poll(self._patience()):
                self._hear(descriptor)
            self._press()
        self._hear_start()
        self._hear_exit()

    def _hear(self, descriptor: int) -> None:
        if descriptor == self._server.fileno():
            self._obey()
        elif descriptor == self._wakeup.fileno():
            self._wakeup.clear()
        elif descriptor == self._sayings.faults:
            self._poll.unregister(descriptor)
            self._hear_start()
        else:
            self._poll.unregister(descriptor)
            self._hear_exit()

    def _hear_start(self) -> None:
        """Whether the command has started: the pipe ends, or says why not."""
        if not self._told_start:
            self._told_start = True
            fault = os.read(self._sayings.faults, 4096)
            self._tell(b"E " + fault.replace(b"\n", b" ") if fault else b"S %d" % self._child)

    def _hear_exit(self) -> None:
        """What the first process of a namespace said of the command's end."""
        code = os.read(self._sayings.exits, 64) if not self._told_exit else b""
        if code:
            self._tell_exit(code)

    def _obey(self) -> None:
        try:
            words = self._server.recv(256)
        except OSError:
            words = b""
        for line in words.splitlines() or [b"K"]:
            if line == b"I":
                self._ask(signal.SIGINT)
            elif line.startswith(b"T "):
                self._polite_until = min(self._polite_until or float("inf"), time.monotonic() + float(line[2:]))
                self._ask(signal.SIGTERM)
            else:
                self._kill()
        if not words:
            self._poll.unregister(self._server)

    def _ask(self, number: signal.Signals) -> None:
        """The processes that hold the fence up are not asked: they end when all within has."""
        walls = {self._child, *self._first_of_namespace()} if self._contained else ()
        sweep.signal_all(number, walls)
        # One that is stopped hears of it when it goes on.
        sweep.signal_all(signal.SIGCONT, walls)

    def _first_of_namespace(self) -> list[int]:
        """The processes beneath this one that are number 1 in their own namespace."""
        return [pid for pid in sweep.descendants() if sweep.is_first(pid)]

    def _anything_left(self) -> bool:
        for pid, code in sweep.reap():
            if pid == self._child and not self._reports_itself:
                self._tell_exit(b"%d" % code)
        return sweep.has_children()

    def _patience(self) -> float | None:
        """How long to wait for news, in milliseconds."""
        if self._killing_since is not None:
            return 1000 * (ROUND if time.monotonic() < self._killing_since + STUCK else STUCK_ROUND)
        if self._polite_until is None:
            return None
        return max(0.0, self._polite_until - time.monotonic()) * 1000

    def _press(self) -> None:
        if self._killing_since is not None or (
            self._polite_until is not None and time.monotonic() >= self._polite_until
        ):
            self._kill()

    def _kill(self) -> None:
        self._killing_since = self._killing_since or time.monotonic()
        sweep.signal_all(signal.SIGKILL)

    def _tell_exit(self, code: bytes) -> None:
        self._told_exit = True
        self._hear_start()
        self._tell(b"X " + code)

    def _tell(self, line: bytes) -> None:
        with suppress(OSError):  # the server is gone; what it would have heard no longer matters
            self._server.send(line + b"\n", socket.MSG_NOSIGNAL)


def keep(server: socket.socket, stdio: list[int]) -> None:
    """Read the plan and see it through."""
    plan = _plan(server)
    if plan is not None:
        Warden(server, plan, stdio).watch()


def _plan(server: socket.socket) -> Plan | None:
    length = server.recv(LENGTH.size, socket.MSG_WAITALL)
    if len(length) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(length)
    text = server.recv(size, socket.MSG_WAITALL)
    return decode(text) if len(text) == size else None
