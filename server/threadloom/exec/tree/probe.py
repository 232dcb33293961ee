"""What our own launcher can do here: printed as JSON, for the one who asks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from threadloom.exec.sandbox import landlock, namespaces
from threadloom.exec.sandbox.syscalls import MACHINES
from threadloom.exec.tree.child import cage_in
from threadloom.exec.tree.plan import Cage

TOO_OLD = "this kernel's Landlock (version {}) cannot keep files from being cut short, and {}"


def main() -> None:
    """`[why it does not work or null, whether namespaces do, why they do not]`."""
    sys.stdout.write(json.dumps(_finding()))


def _finding() -> list[object]:
    if os.uname().machine not in MACHINES:
        return [f"no filter for {os.uname().machine}; there is one for {' and '.join(MACHINES)}", False, ""]
    version = landlock.abi()
    if not version:
        return [
            "this kernel has no Landlock (it needs Linux 5.13, with `landlock` among its security modules)",
            False,
            "",
        ]
    lacking = _attempt(lambda: _separate(Cage(["/tmp"], [], False, True)))  # noqa: S108 - any folder will do
    if lacking and version < landlock.TRUNCATION_ABI:
        return [TOO_OLD.format(version, lacking), False, lacking]
    return [_attempt(lambda: cage_in(Cage([], [], False, not lacking))) or None, not lacking, lacking]


def _separate(cage: Cage) -> None:
    namespaces.separate(cage.network)
    fault = _attempt(lambda: namespaces.fence(cage.writable, cage.guards, None))
    if fault:
        raise OSError(fault)


def _attempt(work: Callable[[], None]) -> str:
    """Do it in a fork; what went wrong, or nothing."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            work()
        except BaseException as fault:
            os.write(write, (str(fault) or repr(fault)).encode()[:4000])
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with open(read, "rb") as said:
        return said.read().decode(errors="replace")
