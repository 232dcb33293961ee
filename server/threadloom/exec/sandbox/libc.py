"""System calls that Python has no name for."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

# The number 0 makes nobody root, and no way back: NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock.
SECUREBITS = 0b11_001111
CAPABILITY_VERSION = 0x20080522
CAPABILITIES = 64  # more than any kernel has
CAPSET = {"x86_64": 126, "aarch64": 91}


def syscall(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Call the kernel; raises OSError."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        fault = ctypes.get_errno()
        raise OSError(fault, os.strerror(fault))
    return result


def prctl(option: int, *arguments: int) -> None:
    """Change something about this process; raises OSError."""
    words = [ctypes.c_ulong(word) for word in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(ctypes.c_int(option), *words) < 0:
        fault = ctypes.get_errno()
        raise OSError(fault, os.strerror(fault))


def unshare(flags: int) -> None:
    """Get namespaces of one's own; raises OSError."""
    if _libc.unshare(ctypes.c_int(flags)) < 0:
        fault = ctypes.get_errno()
        raise OSError(fault, os.strerror(fault))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system; raises OSError."""
    words = [os.fsencode(word) for word in (source, target, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(data)) < 0:
        fault = ctypes.get_errno()
        raise OSError(fault, f"{os.strerror(fault)}: {target}")


def drop_capabilities() -> None:
    """Give up every privilege of root, for good; whoever has none loses none."""
    for capability in range(CAPABILITIES):
        _attempt(PR_CAPBSET_DROP, capability)
    _attempt(PR_SET_SECUREBITS, SECUREBITS)
    _attempt(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = CAPABILITY_VERSION.to_bytes(4, "little") + bytes(4)
    syscall(CAPSET[os.uname().machine], header, bytes(24))


def _attempt(option: int, argument: int) -> None:
    """What fails here takes a privilege that is not there to be given up, or names one that this kernel lacks."""
    with suppress(OSError):
        prctl(option, argument)
