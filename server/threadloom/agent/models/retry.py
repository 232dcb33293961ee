"""When to try again, and how long to wait before."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from threadloom.agent.models.failure import Failure
from threadloom.agent.models.provider import Provider

FIRST: Final = 0.25  # seconds; each wait is twice the one before
LONGEST: Final = 8.0
PATIENCE: Final = 120.0  # seconds that a server may ask for; a turn that waits longer had better fail


class Again(NamedTuple):
    """Another try."""

    attempt: int
    of: int
    seconds: float


class Tries:
    """The tries of one sampling. Requests that fail and streams that break are counted apart."""

    def __init__(self, provider: Provider, chance: Callable[[], float] = random.random) -> None:
        self._requests = self._streams = 0
        self._most_requests = provider.request_max_retries
        self._most_streams = provider.stream_max_retries
        self._chance = chance

    def next(self, failure: Failure) -> Again | None:
        """What to do now; none where it is of no use, or has been tried often enough."""
        if not failure.again or (failure.after or 0) > PATIENCE:
            return None
        if failure.stage == "request":
            self._requests += 1
            attempt, of = self._requests, self._most_requests
        else:
            self._requests = 0
            self._streams += 1
            attempt, of = self._streams, self._most_streams
        return Again(attempt, of, self._wait(attempt, failure.after)) if attempt <= of else None

    def _wait(self, attempt: int, after: float | None) -> float:
        if after is not None:
            return max(0.0, after)
        # Some sooner, some later: those that failed together should not come back together.
        return min(FIRST * 2.0 ** min(attempt - 1, 10), LONGEST) * (0.8 + 0.4 * self._chance())


def retry_after(headers: Mapping[str, str], now: Callable[[], float]) -> float | None:
    """How many seconds a server asks for: `retry-after-ms`, or `retry-after` as a number or as a date."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    if asked is None:
        return None
    if (seconds := _number(asked)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - now())
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
