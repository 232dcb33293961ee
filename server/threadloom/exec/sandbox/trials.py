"""Whether a sandbox works here, found out by trying it in a process that ends with the attempt.

A server begins with it before it loads anything else, so it needs next to nothing itself.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterable
from typing import Final

from threadloom.exec.lookup import find_program
from threadloom.exec.roots import within

SECONDS: Final = 5.0  # for an attempt; it takes a few hundredths of one

# Its own first process is outside the filter; who could write to that one's memory would be, too. The rest is
# read-only because the kernel's settings belong to the user with the number 0, with or without privileges.
PROCESSES: Final = ["--proc", "/proc", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", "--remount-ro", "/proc"]
ALONE: Final = ["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--new-session", "--cap-drop", "ALL"]
MISSING: Final = "the program `bwrap` is not on the PATH; Debian and Ubuntu have it in the package `bubblewrap`"

# The folder that holds this package: all that a bare interpreter needs to know.
PACKAGES: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PROBE: Final = "import sys; sys.path.insert(0, sys.argv[1]); from threadloom.exec.tree.probe import main; main()"


class Trial:
    """A program on trial. `result` waits for it, no longer than it may take."""

    def __init__(self, argv: list[str]) -> None:
        self._program = argv[0]
        self._said, theirs = os.pipe()
        try:
            self._pid = os.posix_spawn(
                argv[0],
                argv,
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, theirs, 1),
                    (os.POSIX_SPAWN_DUP2, theirs, 2),
                ],
                setsigmask=[],
                setsigdef=[signal.SIGPIPE],
            )
        except OSError:
            os.close(self._said)
            raise
        finally:
            os.close(theirs)

    def result(self) -> tuple[bool, str]:
        """Whether it worked, and what it said."""
        try:
            if not self._ended():
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                return False, f"{self._program} takes too long"
            _, status = os.waitpid(self._pid, 0)
            said = os.read(self._said, 65536).decode(errors="replace").strip()
        finally:
            os.close(self._said)
        code = os.waitstatus_to_exitcode(status)
        return not code, said or (f"{self._program} ended with {code}" if code else "")

    def _ended(self) -> bool:
        watched = os.pidfd_open(self._pid)
        try:
            return bool(select.select([watched], [], [], SECONDS)[0])
        finally:
            os.close(watched)


def bubblewrap(roots: Iterable[str] = ()) -> str | None:
    """Where it is: not in a folder where commands may write, if there is another, for it runs outside of its walls."""
    path, avoided = os.environ.get("PATH", os.defpath), list(roots) or _here()
    trusted = [folder for folder in path.split(os.pathsep) if not within(avoided, os.path.realpath(folder))]
    return find_program("bwrap", os.pathsep.join(trusted), "/") or find_program("bwrap", path, "/")


def _here() -> list[str]:
    """Where commands will most likely work, before one is known."""
    try:
        return [os.getcwd()]
    except OSError:  # it was removed
        return []


def of_bubblewrap() -> Trial:
    """Bubblewrap with all that a fence needs of it. Raises `OSError` where there is none."""
    path = bubblewrap()
    if path is None:
        raise OSError(MISSING)
    # As its own first process: bubblewrap would end before that one, and leave it to whoever adopts it.
    fence = [*ALONE, "--as-pid-1", "--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", *PROCESSES]
    return Trial([path, *fence, "--", "true"])


def of_our_own() -> Trial:
    """The launcher of our own; what it says is JSON."""
    return Trial([sys.executable, "-I", "-S", "-c", PROBE, PACKAGES])
