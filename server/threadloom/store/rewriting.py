"""Writing once more what the system may have lost: where it cannot write a page, it says so once, and forgets it."""

from __future__ import annotations

import errno
import os
from functools import partial

from threadloom.store import lines
from threadloom.store.codec import is_whole
from threadloom.store.faults import write_all


def write_again(descriptor: int, start: int, end: int) -> None:
    """Have the system write whole lines of a file again. Raises `OSError` where they are not there any more.

    What is read may come from memory alone, or be what the disk had before: the seals of lines tell.
    """
    at = start
    for offset, raw in lines.split(partial(os.pread, descriptor), start, end):
        if not is_whole(raw):
            break
        write_all(descriptor, raw + b"\n", offset)
        at = offset + len(raw) + 1
    if at < end:
        raise OSError(errno.EIO, f"The disk has lost what was written from byte {at} on")
