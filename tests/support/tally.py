"""What crossed the wire in several runs of the tests, taken together: each leaves a note, and the notes are added up.

`python -m tests.support.tally` prints it. The notes are in the folder that `THREADLOOM_TESTS_TALLY` names.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import orjson
from tests.support.conformance import Conformance

VARIABLE = "THREADLOOM_TESTS_TALLY"


def folder() -> Path | None:
    """Where notes are left, if anybody collects them."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def leave(conformance: Conformance, place: Path) -> None:
    """Note what one run has seen."""
    place.mkdir(parents=True, exist_ok=True)
    note = {"messages": conformance.messages, "seen": dict(conformance.seen)}
    (place / f"{uuid4()}.json").write_bytes(orjson.dumps(note))


def add_up(conformance: Conformance, place: Path) -> None:
    """Add what all runs have noted to what has been seen here."""
    for path in place.glob("*.json"):
        note = orjson.loads(path.read_bytes())
        conformance.messages += note["messages"]
        conformance.seen.update(note["seen"])


def main() -> None:
    """Say which types were seen, and which never."""
    from tests.support.plugin import CONFORMANCE

    place = folder()
    assert place is not None, f"{VARIABLE} names no folder"
    add_up(CONFORMANCE.load(), place)
    print("\n".join(["", "conformance, all runs taken together:", *CONFORMANCE.summary()]))


if __name__ == "__main__":
    main()
