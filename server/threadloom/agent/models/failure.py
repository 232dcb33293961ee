"""What can go wrong between here and a model, what clients are told of it, and whether trying again may help."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

SHOWN: Final = 1000  # characters of what a server says that is not JSON

Stage = Literal["request", "stream"]

# Words that servers use, wherever they put them, and what clients are told. None of them goes away by itself.
_CODES: Final[Mapping[str, str]] = {
    "context_length_exceeded": "contextWindowExceeded",
    "insufficient_quota": "usageLimitExceeded",
    "usage_limit_reached": "usageLimitExceeded",
    "usage_not_included": "usageLimitExceeded",
    "billing_hard_limit_reached": "usageLimitExceeded",
    "server_is_overloaded": "serverOverloaded",
    "slow_down": "serverOverloaded",
    "model_not_found": "modelNotFound",
    "cyber_policy": "cyberPolicy",
    "invalid_api_key": "unauthorized",
    "invalid_prompt": "badRequest",
    "invalid_request_error": "badRequest",
    "bio_policy": "badRequest",
}
# Those that do.
_PASSING: Final[Mapping[str, str]] = {
    "rate_limit_exceeded": "rateLimitExceeded",
    "server_error": "internalServerError",
}
# What servers without codes write.
_TOO_LONG: Final = re.compile(r"context (length|window|size)|maximum context|too many tokens", re.IGNORECASE)
_NO_REASONING: Final = re.compile(r"reasoning|encrypted|\binclude\b['\"` ]*(is|:|$)", re.IGNORECASE)
_WAIT: Final = re.compile(r"try again in (\d+(?:\.\d+)?)\s*(ms|s)\b", re.IGNORECASE)


class Failure(Exception):
    """One try came to nothing. `again` tells whether another may not; `after` is when, where the server says so."""

    def __init__(
        self,
        message: str,
        info: Any = "other",
        *,
        stage: Stage = "stream",
        again: bool = False,
        after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.info = info
        self.stage = stage
        self.again = again
        self.after = after
        self.status = status
        self.no_such_page = False  # the server has other pages, perhaps
        self.no_reasoning = False  # the model, or its server, knows nothing of reasoning


def unreachable(url: str, why: str) -> Failure:
    """There was no answer."""
    info = {"httpConnectionFailed": {"httpStatusCode": None}}
    return Failure(f"The model's server at {url} cannot be reached: {why}", info, stage="request", again=True)


def impossible(url: str, why: str) -> Failure:
    """There can be no request: something is wrong with what the provider is configured with."""
    return Failure(f"The request to {url} cannot be made: {why}", "badRequest", stage="request")


def disconnected(why: str) -> Failure:
    """The answer stopped before its end."""
    return Failure(why, {"responseStreamDisconnected": {"httpStatusCode": None}}, again=True)


def refused(status: int, body: object, after: float | None) -> Failure:
    """The server answered with an error."""
    error = body if isinstance(body, dict) else {}
    text = said(body)
    failure = Failure(
        f"The model's server answered {status}: {text}" if text else f"The model's server answered {status}.",
        _CODES.get(_code(error)) or _info(status, text),
        stage="request",
        again=(status in (408, 409, 429) or status >= 500) and _code(error) not in _CODES,
        after=after,
        status=status,
    )
    of_model = failure.info == "modelNotFound" or error.get("param") == "model" or "model" in text.lower()
    failure.no_such_page = status in (404, 405, 501) and not of_model
    disliked = _NO_REASONING.search(f"{error.get('param')}: {text}") is not None
    failure.no_reasoning = status in (400, 422) and disliked and failure.info == "badRequest"
    return failure


def told(error: object, otherwise: str) -> Failure:
    """The model's server says, in the middle of an answer, that there will be none."""
    code = _code(error if isinstance(error, dict) else {})
    text = said(error) or otherwise
    if code in _CODES:
        return Failure(text, _CODES[code])
    return Failure(text, _PASSING.get(code, "other"), again=True, after=_wait(text))


def said(body: object) -> str:
    """The words in an error, whatever it looks like."""
    match body:
        case {"message": str(text)} | {"error": {"message": str(text)}} | {"error": str(text)} | {"detail": str(text)}:
            return text
        case str(text):
            return text.strip()[:SHOWN]
    return "" if body is None else str(body)[:SHOWN]


def _code(error: Mapping[str, Any]) -> str:
    """The first word that says something: some servers put it in `type`."""
    words = [str(error.get(name)) for name in ("code", "type")]
    return next((word for word in words if word in _CODES or word in _PASSING), "")


def _info(status: int, text: str) -> Any:
    match status:
        case 400 | 413 | 422:
            return "contextWindowExceeded" if _TOO_LONG.search(text) else "badRequest"
        case 401:
            return "unauthorized"
        case 402:
            return "usageLimitExceeded"
        case 429:
            return {"responseTooManyFailedAttempts": {"httpStatusCode": status}}
        case 500:
            return "internalServerError"
    return {"httpConnectionFailed": {"httpStatusCode": status}}


def _wait(text: str) -> float | None:
    found = _WAIT.search(text)
    if found is None:
        return None
    return float(found[1]) / (1000 if found[2].lower() == "ms" else 1)
