"""A program between a client and its server on pipes: it keeps a copy of every line, and else it is not there.

`python shim.py FOLDER SERVER [WORDS…]` writes to a new file there, in the order in which they passed, the lines of the
client behind a `>` and those of the server behind a `<`; beside it, to `.err` what the server logs, to `.pid` who it
is, and to `.code` how it ended. It needs nothing but the standard library, so that it starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

CHUNK = 1 << 16


class Record:
    """The file with everything that was said."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def side(self, mark: bytes) -> Callable[[bytes], None]:
        """Takes one side's bytes as they come; a line is kept when it is whole."""
        rest = bytearray()

        def keep(data: bytes) -> None:
            rest.extend(data)
            if b"\n" in data:
                *lines, last = bytes(rest).split(b"\n")
                os.write(self._file, b"".join(mark + line + b"\n" for line in lines))
                rest[:] = last

        return keep


def pump(source: int, sink: int, keep: Callable[[bytes], None]) -> None:
    """Pass everything on until one end is closed; what is passed on has been kept."""
    try:
        while data := os.read(source, CHUNK):
            keep(data)
            while data:
                data = data[os.write(sink, data) :]
    except OSError:
        pass  # whoever read this has gone
    os.close(sink)


def main(folder: str, *command: str) -> int:
    """Run the server; its exit code."""
    record = os.path.join(folder, str(time.time_ns()))  # so that their names are in the order of the starts
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: child.send_signal(number))
    note(f"{record}.pid", child.pid)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    said, log = Record(record), os.open(f"{record}.err", os.O_WRONLY | os.O_CREAT)
    ends = (
        (0, os.dup(child.stdin.fileno()), said.side(b">")),
        (child.stdout.fileno(), 1, said.side(b"<")),
        (child.stderr.fileno(), 2, lambda data: os.write(log, data)),
    )
    child.stdin.close()
    pumps = [threading.Thread(target=pump, args=end, daemon=True) for end in ends]
    for thread in pumps:
        thread.start()
    code = child.wait()
    for thread in pumps[1:]:
        thread.join()
    note(f"{record}.code", code)
    return code


def note(path: str, number: int) -> None:
    """Write a number that is there as a whole or not at all."""
    with open(f"{path}.new", "w") as file:
        file.write(str(number))
    os.rename(f"{path}.new", path)


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]) & 0xFF)  # the pump that reads stdin may still wait there
