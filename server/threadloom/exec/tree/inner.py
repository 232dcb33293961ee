"""The first process of a namespace: it starts the command there, and reaps what the command leaves behind."""

from __future__ import annotations

import os

from threadloom.exec.sandbox import namespaces
from threadloom.exec.tree.child import become, fork
from threadloom.exec.tree.plan import Cage, Plan
from threadloom.exec.tree.sayings import Sayings


def run(plan: Plan, cage: Cage, stdio: list[int], sayings: Sayings) -> None:
    """Leave the server's namespaces, and stay between it and the command until all inside is gone."""
    with sayings.of_faults():
        namespaces.separate(cage.network)
        first = fork(lambda: _first(plan, cage, stdio, sayings))
    sayings.close()
    _close(stdio)
    os.waitpid(first, 0)
    os._exit(0)


def _first(plan: Plan, cage: Cage, stdio: list[int], sayings: Sayings) -> None:
    with sayings.of_faults():
        terminal = os.ttyname(stdio[0]) if plan.tty else None
        namespaces.fence(cage.writable, cage.guards, terminal)
        namespaces.own_processes()
        command = fork(lambda: _command(plan, stdio, sayings))
    sayings.close_faults()
    _close(stdio)
    _reap(command, sayings)
    os._exit(0)


def _command(plan: Plan, stdio: list[int], sayings: Sayings) -> None:
    with sayings.of_faults():
        become(plan, stdio)


def _reap(command: int, sayings: Sayings) -> None:
    """Until no process is left; the command's own end is told at once."""
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return
        if pid == command:
            sayings.tell_exit(os.waitstatus_to_exitcode(status))


def _close(descriptors: list[int]) -> None:
    for descriptor in set(descriptors):
        os.close(descriptor)
