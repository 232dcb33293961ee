"""The filter over system calls: what no fenced command may ask the kernel for."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from errno import ENOSYS, EPERM
from functools import cache

from threadloom.exec.sandbox.libc import PR_SET_NO_NEW_PRIVS, prctl
from threadloom.exec.sandbox.syscalls import MACHINES

# Ways to privileges, to other processes, to mounts and to parts of the kernel with a long record of holes.
NEVER = (
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "ptrace", "process_vm_readv", "process_vm_writev"),
    *("process_madvise", "kcmp", "pidfd_getfd", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree"),
    *("open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "setns", "keyctl", "add_key"),
    *("request_key", "userfaultfd", "bpf", "perf_event_open", "kexec_load", "kexec_file_load", "init_module"),
    *("finit_module", "delete_module", "reboot", "swapon", "swapoff", "sethostname", "setdomainname", "acct"),
    *("quotactl", "quotactl_fd", "settimeofday", "clock_settime", "iopl", "ioperm", "open_by_handle_at", "vhangup"),
    *("fanotify_init", "syslog", "uselib"),
)
OFFLINE = ("connect", "bind", "listen", "accept", "accept4")
# What changes a file without opening it for writing, which Landlock lets pass.
METADATA = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr"),
    *("fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
    *("utime", "utimes", "utimensat", "futimesat", "file_setattr"),
)
FLAGS = (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR: the same by ioctl
MODE_ARGUMENT = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
SETID = 0o6000

NAMESPACES = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
NEWTIME = 0x80  # means something else to clone
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # typing on a terminal that somebody else reads
AF_UNIX = 1
# A datagram socket can send to any path or name without connect, by sendmsg; these two cannot.
CONNECTED = (1, 5)  # SOCK_STREAM, SOCK_SEQPACKET
X32 = 0x40000000

LOAD, AND, RETURN = 0x20, 0x54, 0x06
EQUAL, ANY_BIT = 0x15, 0x45
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, ARCH = 0, 4  # offsets in struct seccomp_data

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


@cache
def program(network: bool, metadata: bool = True, namespaces: bool = True, machine: str | None = None) -> bytes:
    """The filter as the kernel takes it.

    `metadata` leaves changes of modes and owners to other guards, `namespaces` those of set-id and of other processes.
    """
    arch, numbers = MACHINES[machine or os.uname().machine]
    code: list[Instruction] = [(LOAD, 0, 0, ARCH), (EQUAL, 1, 0, arch), _refuse(), (LOAD, 0, 0, NUMBER)]
    if numbers is MACHINES["x86_64"][1]:
        code += [(ANY_BIT, 0, 1, X32), _refuse()]
    for name, block in _blocks(network, metadata, namespaces):
        if name in numbers:
            code += [(EQUAL, 0, len(block), numbers[name]), *block]
    code.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def install(code: bytes) -> None:
    """Put this process and what it starts under a filter; raises OSError."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    held = ctypes.create_string_buffer(code, len(code))
    fprog = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(held)))
    prctl(22, 2, ctypes.addressof(fprog))  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def _blocks(network: bool, metadata: bool, namespaces: bool) -> Iterator[tuple[str, list[Instruction]]]:
    """For each call the instructions that decide; each block ends in a verdict."""
    for name in NEVER:
        yield name, [_refuse()]
    yield "clone", _unless_bits(0, NAMESPACES)
    yield "unshare", _unless_bits(0, NAMESPACES | NEWTIME)
    # Its flags lie in memory, where a filter cannot look; without it the C library takes clone.
    yield "clone3", [_refuse(ENOSYS)]
    yield "ioctl", _unless_equal(1, TIOCSTI, TIOCLINUX, *(() if metadata else FLAGS))
    if not network:
        for name in OFFLINE:
            yield name, [_refuse()]
        for name in ("socket", "socketpair"):
            yield name, _connected_unix()
    if not metadata:
        for name in METADATA:
            yield name, [_refuse()]
    elif not namespaces:
        for name, argument in MODE_ARGUMENT.items():
            yield name, _unless_bits(argument, SETID)
    if not namespaces:
        # Others' limits can be changed like one's own: what is set to no time at all, or no files, ends.
        yield "prlimit64", [_load(0), (EQUAL, 1, 0, 0), _refuse(), _allow()]


def _connected_unix() -> list[Instruction]:
    return [
        _load(0),
        (EQUAL, 0, 4, AF_UNIX),
        _load(1),
        (AND, 0, 0, 0xF),
        (EQUAL, 2, 0, CONNECTED[0]),
        (EQUAL, 1, 0, CONNECTED[1]),
        _refuse(),
        _allow(),
    ]


def _unless_equal(argument: int, *values: int) -> list[Instruction]:
    tests = [(EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_load(argument), *tests, _allow(), _refuse()]


def _unless_bits(argument: int, bits: int) -> list[Instruction]:
    return [_load(argument), (ANY_BIT, 0, 1, bits), _refuse(), _allow()]


def _load(argument: int) -> Instruction:
    """The lower half of an argument: all that the kernel reads of flags, modes and commands."""
    return (LOAD, 0, 0, 16 + 8 * argument)


def _refuse(errno: int = EPERM) -> Instruction:
    return (RETURN, 0, 0, ERRNO | errno)


def _allow() -> Instruction:
    return (RETURN, 0, 0, ALLOW)
