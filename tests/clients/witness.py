"""What crossed the wire between other people's clients and our server, over the whole session.

Where tests run in several processes, each writes what it has seen to a file of its own, in the folder `SEEN_IN`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.conformance import Conformance

# The file whose test looks at all of it: it runs when the others have.
LAST = "test_shared_types.py"
SEEN_IN = "THREADLOOM_TESTS_SEEN"

# Types that both contracts have, by how often a client that nobody here wrote was sent one.
_seen: Counter[str] = Counter()


@contextmanager
def witnessed(conformance: Conformance) -> Iterator[None]:
    """Count what is judged meanwhile."""
    before = Counter(conformance.seen)
    yield
    _seen.update(conformance.seen - before)
    if folder := os.environ.get(SEEN_IN):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / str(os.getpid())).write_text(json.dumps(_seen), encoding="utf-8")


def seen() -> Counter[str]:
    """All that was seen: here, and in processes that have told."""
    told = Counter(_seen)
    if folder := os.environ.get(SEEN_IN):
        for path in Path(folder).glob("*"):
            if path.name != str(os.getpid()):
                told.update(json.loads(path.read_text(encoding="utf-8")))
    return told
