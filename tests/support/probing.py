"""The server with the tests' own room in it: as an app, and as a program that takes the same command line."""

from __future__ import annotations

from functools import partial

from threadloom.app import HANDLERS, App
from threadloom_protocol.spec import Surface
from threadloom_protocol.v2 import V2

SURFACE = Surface(V2.version, [*V2.names, "tests.support.probe"])

ProbingApp = partial(App, surface=SURFACE, handlers={**HANDLERS, "tests.support.probe": "tests.support.probe_methods"})


def main() -> None:
    """`python -m tests.support.probing app-server …`: the real program, but for that room."""
    from threadloom.cli import main as real
    from threadloom.cli import serve

    serve.App = ProbingApp  # type: ignore[misc, assignment]
    real()


if __name__ == "__main__":
    main()
