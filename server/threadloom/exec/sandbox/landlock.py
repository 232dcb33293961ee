"""Landlock: which folders a process, and all that it starts, may still write to."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

from threadloom.exec.sandbox.libc import PR_SET_NO_NEW_PRIVS, prctl, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every machine
VERSION = 1  # flag of CREATE_RULESET
PATH_BENEATH = 1

WRITE_FILE, TRUNCATE, IOCTL_DEV = 1 << 1, 1 << 14, 1 << 15
# Removing and making entries; making devices is in it to be refused everywhere.
ENTRIES = 0x1FF0  # bits 4 to 12
DEVICES = 1 << 6 | 1 << 11
REFER = 1 << 13
TCP = 0b11  # bind, connect
ABSTRACT_SOCKETS, SIGNALS = 0b01, 0b10

# Before this one, files could be cut short anywhere.
TRUNCATION_ABI = 3


def abi() -> int:
    """The version that this kernel speaks; 0 where there is none."""
    try:
        return syscall(CREATE_RULESET, None, 0, VERSION)
    except OSError:
        return 0


def restrict(roots: Iterable[str], devices: Iterable[str], network: bool) -> None:
    """Let this process write beneath the roots, to the devices, and nowhere else; raises OSError."""
    version = abi()
    handled = _handled(version)
    ruleset = syscall(CREATE_RULESET, *_attributes(version, handled, network), 0)
    try:
        for root in roots:
            _allow(ruleset, root, handled & ~DEVICES)
        for device in devices:
            _allow(ruleset, device, handled & (WRITE_FILE | TRUNCATE | IOCTL_DEV))
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _handled(version: int) -> int:
    handled = WRITE_FILE | ENTRIES
    for since, right in ((2, REFER), (TRUNCATION_ABI, TRUNCATE), (5, IOCTL_DEV)):
        if version >= since:
            handled |= right
    return handled


def _attributes(version: int, handled: int, network: bool) -> tuple[bytes, int]:
    fields = [handled]
    if version >= 4:
        fields.append(0 if network else TCP)
    if version >= 6:
        fields.append(SIGNALS if network else SIGNALS | ABSTRACT_SOCKETS)
    return struct.pack(f"={len(fields)}Q", *fields), 8 * len(fields)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no permission
    try:
        if not os.path.isdir(path):
            rights &= WRITE_FILE | TRUNCATE | IOCTL_DEV
        syscall(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)
