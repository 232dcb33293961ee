"""A view of the machine of one's own: everything read-only but the roots, few devices, no other processes."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from contextlib import suppress

from threadloom.exec.sandbox.libc import mount, syscall, unshare

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000

OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same on every machine
HERE = -100  # AT_FDCWD
CLONE, CLOEXEC = 1, os.O_CLOEXEC
RECURSIVE, EMPTY_PATH = 0x8000, 0x1000
FROM_EMPTY_PATH = 4
READ_ONLY = 1  # MOUNT_ATTR_RDONLY

NOSUID, NODEV, NOEXEC, PRIVATE_TREE = 2, 4, 8, 0x4000 | 1 << 18

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a private one
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}


def separate(network: bool) -> None:
    """Leave the namespaces of the server: mounts, processes to come, shared memory, and the network unless allowed."""
    wanted = NEWNS | NEWPID | NEWIPC | NEWUTS | (0 if network else NEWNET)
    uid, gid = os.geteuid(), os.getegid()
    try:
        unshare(wanted | NEWUSER)
    except OSError:
        unshare(wanted)  # root needs no user namespace, and may be without
        return
    with suppress(FileNotFoundError):  # a kernel that lets anybody set groups has no such file
        _say("/proc/self/setgroups", "deny")
    _say("/proc/self/uid_map", f"{uid} {uid} 1")
    _say("/proc/self/gid_map", f"{gid} {gid} 1")


def fence(roots: Sequence[str], guards: Sequence[str], terminal: str | None) -> None:
    """Make all mounts read-only but those of the roots, inside which the guards are read-only again."""
    mount("none", "/", "", PRIVATE_TREE)
    writable = [(root, _copy(root)) for root in sorted(roots, key=len) if os.path.exists(root)]
    devices = [(name, _copy(f"/dev/{name}", recursive=False)) for name in DEVICES if os.path.exists(f"/dev/{name}")]
    if terminal is not None:
        devices.append(("console", _copy(terminal, recursive=False)))
    if "/" not in roots:
        _make_read_only(HERE, b"/", RECURSIVE)
    _put_devices(devices)
    for root, tree in writable:
        _put(tree, root) if root != "/" else os.close(tree)
    for guard in guards:
        with suppress(FileNotFoundError):  # it may be gone by then
            tree = _copy(guard)
            _make_read_only(tree, b"", RECURSIVE | EMPTY_PATH)
            _put(tree, guard)


def own_processes() -> None:
    """Show the processes of this namespace alone; where something hides parts of /proc, the kernel refuses that."""
    with suppress(OSError):
        mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)


def _put_devices(devices: Sequence[tuple[str, int]]) -> None:
    mount("tmpfs", "/dev", "tmpfs", NOSUID, "mode=0755")
    for name, tree in devices:
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_CLOEXEC, 0o644))
        _put(tree, f"/dev/{name}")
    for name, target in LINKS.items():
        os.symlink(target, f"/dev/{name}")
    os.mkdir(SHARED_MEMORY)
    mount("tmpfs", SHARED_MEMORY, "tmpfs", NOSUID | NODEV, "mode=1777")
    os.mkdir("/dev/pts")
    mount("devpts", "/dev/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620")


def _copy(path: str, recursive: bool = True) -> int:
    flags = CLONE | CLOEXEC | (RECURSIVE if recursive else 0)
    return syscall(OPEN_TREE, HERE, os.fsencode(path), flags)


def _put(tree: int, path: str) -> None:
    syscall(MOVE_MOUNT, tree, b"", HERE, os.fsencode(path), FROM_EMPTY_PATH)
    os.close(tree)


def _make_read_only(place: int, path: bytes, flags: int) -> None:
    attributes = struct.pack("=4Q", READ_ONLY, 0, 0, 0)
    syscall(MOUNT_SETATTR, place, path, flags, attributes, len(attributes))


def _say(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
