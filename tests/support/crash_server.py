"""The server with the room that makes children in it: as an app, and as a program that takes the same command line."""

from __future__ import annotations

import sys
from dataclasses import replace

from threadloom.app import HANDLERS, App
from threadloom.config import Settings
from threadloom_protocol.spec import Surface
from threadloom_protocol.v2 import V2

COMMAND = [sys.executable, "-m", "tests.support.crash_server"]

SURFACE = Surface(V2.version, [*V2.names, "tests.support.crash_room"])
ROOMS = {**HANDLERS, "tests.support.crash_room": "tests.support.crash_methods"}


class CrashApp(App):
    """Its lists are whole, however slow the machine: what they show is held against what was seen."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(replace(settings, patient=True), surface=SURFACE, handlers=ROOMS)


def main() -> None:
    """`python -m tests.support.crash_server app-server …`: the real program, but for that room."""
    from threadloom.cli import main as real
    from threadloom.cli import serve

    serve.App = CrashApp  # type: ignore[misc]
    real()


if __name__ == "__main__":
    main()
