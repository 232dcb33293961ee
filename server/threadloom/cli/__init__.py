"""The command line: `threadloom COMMAND`. Commands are imported when they are run, for start-up time is a feature."""

from __future__ import annotations

import errno
import os
import sys


def main() -> None:
    """Entry point of the `threadloom` script."""
    import gc

    gc.disable()  # nothing to collect while modules load; the server turns it on again
    try:
        code = _run()
        sys.stdout.flush()  # here, where a fault of it can still be told
    except OSError as fault:
        code = _unwritten(fault)
    sys.exit(code)


def _run() -> int | str | None:
    from threadloom.cli.parser import parse

    try:
        arguments = parse(sys.argv[1:])
    except SystemExit as end:  # of `--help` and `--version`, and of bad arguments
        return end.code
    if arguments.serves:
        from threadloom.exec.choice import begin

        begin()  # while the rest is loaded
    code: int = arguments.run(arguments)
    return code


def _unwritten(fault: OSError) -> int:
    """Output that cannot be written; whoever read it may have left, and that is fine."""
    if fault.filename is not None or fault.errno not in (
        errno.EPIPE,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
    ):
        raise fault
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # takes what Python still holds for it
    if fault.errno == errno.EPIPE:
        return 0
    sys.stderr.write(f"threadloom: the output cannot be written: {fault.strerror}\n")
    return 1
