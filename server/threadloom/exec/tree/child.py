"""The last steps of a fork before it becomes the command."""

from __future__ import annotations

import fcntl
import os
import signal
import termios
from collections.abc import Callable

from threadloom.exec.sandbox import landlock, namespaces, seccomp
from threadloom.exec.sandbox.libc import PR_SET_PDEATHSIG, drop_capabilities, prctl
from threadloom.exec.tree.plan import Bubble, Cage, Plan

SECCOMP_FD, OPTIONS_FD = 3, 4  # where bubblewrap finds its filter and its options
# Bubblewrap stays in the session that it is started in; what is typed must not reach it, but the command.
TAKE_TERMINAL = ["/usr/bin/setsid", "-c"]  # as busybox has it, too


def fork(work: Callable[[], None]) -> int:
    """A child that does this and never returns; it dies with this process."""
    pid = os.fork()
    if pid:
        return pid
    try:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work()
    finally:
        os._exit(127)


def become(plan: Plan, stdio: list[int]) -> None:
    """Turn into the command; raises OSError."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is not signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for target, source in enumerate(stdio):
        os.dup2(source, target)
    os.setsid()
    if isinstance(plan.jail, Bubble):
        _become_bubble(plan, plan.jail)
        return
    if plan.tty:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(plan.cwd)
    if plan.jail is not None:
        cage_in(plan.jail)
    os.execvpe(plan.argv[0], plan.argv, plan.env)  # noqa: S606 - no shell is the point


def cage_in(cage: Cage) -> None:
    """Everything a process can do to itself; what namespaces do to it has happened before."""
    drop_capabilities()
    roots = [*cage.writable, namespaces.SHARED_MEMORY] if cage.namespaces else cage.writable
    devices = ["/dev"] if cage.namespaces else [f"/dev/{name}" for name in namespaces.DEVICES] + _terminals()
    landlock.restrict(roots, devices, cage.network)
    seccomp.install(_filter(cage))


def _filter(cage: Cage) -> bytes:
    # Landlock lets modes, owners and times of files change; where mounts are not read-only, the filter has to refuse.
    return seccomp.program(cage.network, metadata=cage.namespaces or bool(cage.writable), namespaces=cage.namespaces)


def _terminals() -> list[str]:
    return [os.ttyname(0)] if os.isatty(0) else []


def _become_bubble(plan: Plan, bubble: Bubble) -> None:
    """Options travel by a file: neither the environment nor the folders show in the list of processes."""
    words = [*bubble.options, "--seccomp", str(SECCOMP_FD), "--chdir", plan.cwd]
    for name, value in plan.env.items():
        words += ["--setenv", name, value]
    filter_file = _file(seccomp.program(bubble.network))
    options_file = _file(b"".join(os.fsencode(word) + b"\0" for word in words))
    # Both may lie where the other one has to go.
    filter_file, options_file = (fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 10) for file in (filter_file, options_file))
    os.dup2(filter_file, SECCOMP_FD)
    os.dup2(options_file, OPTIONS_FD)
    command = [*TAKE_TERMINAL, *plan.argv] if plan.tty and os.path.exists(TAKE_TERMINAL[0]) else plan.argv
    os.chdir("/")
    # Bubblewrap itself runs outside its walls: nothing that a command could have prepared may reach it.
    os.execve(bubble.program, [bubble.program, "--args", str(OPTIONS_FD), "--", *command], {})  # noqa: S606


def _file(content: bytes) -> int:
    file = os.memfd_create("threadloom", os.MFD_CLOEXEC)
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file
