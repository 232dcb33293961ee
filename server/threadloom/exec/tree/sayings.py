"""How the processes between a warden and its command tell it what happened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class Sayings:
    """Two pipes: one for what kept the command from starting, which ends when it has started; one for its exit."""

    def __init__(self) -> None:
        self.faults, self._fault_end = os.pipe()
        self.exits, self._exit_end = os.pipe()

    @contextmanager
    def of_faults(self) -> Iterator[None]:
        """Tell what goes wrong, and end there. The command itself closes the pipe by starting."""
        try:
            yield
        except BaseException as fault:
            text = (
                f"{fault.strerror}: {fault.filename}" if isinstance(fault, OSError) and fault.filename else str(fault)
            )
            os.write(self._fault_end, (text or repr(fault)).encode(errors="replace")[:4000])
            os._exit(127)

    def tell_exit(self, code: int) -> None:
        """The command ended."""
        os.write(self._exit_end, b"%d" % code)

    def close_faults(self) -> None:
        """This process has nothing to say of a start any more."""
        os.close(self._fault_end)

    def close(self) -> None:
        """Nor of an end."""
        self.close_faults()
        os.close(self._exit_end)
