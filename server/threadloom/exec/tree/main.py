"""The keeper: a small process that forks a warden for every command, so that the server never has to fork.

It dies when the server does, after its wardens; whatever a killed warden left behind, it adopts and kills.
"""

from __future__ import annotations

import array
import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress

from threadloom.exec.sandbox import seccomp
from threadloom.exec.tree import sweep, warden
from threadloom.exec.tree.wakeup import Wakeup

SERVER_FD = 3
DESCRIPTORS = 4  # the warden's socket, then stdin, stdout, stderr


class Keeper:
    """The wardens, each with a copy of its socket: the server hears of its end when it has been reaped."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._wakeup = Wakeup()
        self._wards: dict[int, int] = {}

    def run(self) -> None:
        """Until the server is gone and nothing of its commands is left."""
        poll = select.poll()
        poll.register(self._server, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        open_for_work = True
        while open_for_work or sweep.has_children():
            for descriptor, _ in poll.poll():
                if descriptor == self._wakeup.fileno():
                    self._wakeup.clear()
                    self._reap()
                elif not self._take():
                    poll.unregister(self._server)
                    open_for_work = False

    def _take(self) -> bool:
        """Fork a warden for what the server sends; False when it is gone."""
        try:
            # `socket.recv_fds` would leave them open in every command.
            word, sent, _, _ = self._server.recvmsg(16, socket.CMSG_LEN(4 * DESCRIPTORS), socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return False
        for _, _, data in sent:
            self._fork(*array.array("i", data))
        return bool(word)

    def _fork(self, control: int, *stdio: int) -> None:
        try:
            pid = os.fork()
        except OSError as fault:  # too many processes: that is no reason to let go of those that run
            with socket.socket(fileno=control) as server, suppress(OSError):
                server.send(f"E no process for the command: {fault.strerror}\n".encode())
        else:
            if not pid:
                self._become_warden(control, list(stdio))
            self._wards[pid] = control
        for descriptor in stdio:
            os.close(descriptor)

    def _become_warden(self, control: int, stdio: list[int]) -> None:
        try:
            self._wakeup.close()
            self._server.close()
            for other in self._wards.values():
                os.close(other)
            warden.keep(socket.socket(fileno=control), stdio)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sweep.signal_all(signal.SIGKILL)
            os._exit(0)

    def _reap(self) -> None:
        orderly = True
        for pid, code in sweep.reap():
            control = self._wards.pop(pid, None)
            orderly &= control is not None and not code
            if control is not None:
                os.close(control)
        if not orderly:
            self._kill_strays()

    def _kill_strays(self) -> None:
        """A warden was killed: its children are ours now, and their children will be."""
        for pid in sweep.children():
            if pid not in self._wards:
                os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Serve the socket that was handed over."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > SERVER_FD:
            with suppress(OSError):  # the one that listed them
                os.close(int(name))
    os.set_inheritable(SERVER_FD, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sweep.adopt()
    for network in (True, False):
        seccomp.program(network)  # made once, for all forks
    gc.disable()
    gc.freeze()
    Keeper(socket.socket(fileno=SERVER_FD)).run()
