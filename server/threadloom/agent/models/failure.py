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
_TOO_LONG: Final = re.compile(
    r"context (length|window|size)|maximum (context|prompt length|number of tokens)|too many tokens|prompt is too long",
    re.IGNORECASE,
)
_NO_REASONING: Final = re.compile(r"reasoning|encrypted|\binclude\b['\"` ]*(is|:|$)", re.IGNORECASE)
# Members of a request that nobody has asked for: some servers, or models of theirs, refuse what they do not know.
_OPTIONAL: Final = re.compile(r"\b(?:parallel_tool_calls|prompt_cache_key|stream_options)\b")
# What the templates of some models say of instructions that are not the first thing, or come in a role of their own.
_OUT_OF_PLACE: Final = re.compile(r"system message must be|unexpected message role|role.{1,20}developer", re.IGNORECASE)
_THOUGHTS: Final = re.compile(
    r"reasoning_content.*(passed back|missing|required)|missing.*reasoning_content", re.I | re.S
)
_SEALED: Final = re.compile(r"invalid_encrypted_content|encrypted content\b.*\bcould not be", re.IGNORECASE | re.DOTALL)
_PICTURE: Final = re.compile(r"image|multi-?modal|vision\b", re.IGNORECASE)
_WAIT: Final = re.compile(
    r"(?:try again in|retry after) (?=\d)(?:(\d{1,9})m(?=\d|\b))?(?:(\d+(?:\.\d+)?)\s*(ms|s|seconds?)\b)?",
    re.IGNORECASE,
)


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
        self.unknown: frozenset[str] = frozenset()  # members of the request that it could do without
        self.out_of_place = False  # it takes instructions at the very beginning alone
        self.wants_thoughts = False  # it takes nothing of the model's without what had led to it
        self.no_key = False  # it cannot open reasoning that somebody else has sealed
        self.no_pictures = False  # it does not take those that it was shown


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
    info, again = _judged(status, error, text)
    told = f"The model's server answered {status}: {text}" if text else f"The model's server answered {status}."
    after = _wait(text) if after is None and again else after
    failure = Failure(told, info, stage="request", again=again, after=after, status=status)
    of_model = failure.info == "modelNotFound" or error.get("param") == "model" or "model" in text.lower()
    failure.no_pictures = status in (400, 404, 415, 422, 500) and _of_pictures(error, text)
    failure.no_such_page = status in (404, 405, 501) and not of_model and not failure.no_pictures
    if status in (400, 422):
        failure.unknown = frozenset(_OPTIONAL.findall(f"{error.get('param')}: {text}"))
    failure.out_of_place = status in (400, 422, 500) and _OUT_OF_PLACE.search(text) is not None
    failure.no_key = status in (400, 422) and _SEALED.search(f"{error.get('code')}: {text}") is not None
    failure.wants_thoughts = status in (400, 422) and _THOUGHTS.search(text) is not None
    disliked = (
        not (failure.no_key or failure.wants_thoughts)
        and _NO_REASONING.search(f"{error.get('param')}: {text}") is not None
    )
    failure.no_reasoning = status in (400, 422) and disliked and failure.info == "badRequest"
    return failure


def told(error: object, otherwise: str) -> Failure:
    """The model's server says, in the middle of an answer, that there will be none."""
    known = error if isinstance(error, dict) else {}
    text = said(error) or otherwise
    code = known.get("code")
    status = code if type(code) is int and 400 <= code < 600 else None  # where it came too late for the head
    info, again = _judged(status, known, text)
    failure = Failure(text, info, again=again, after=_wait(text) if again else None)
    failure.no_pictures = _of_pictures(known, text)
    return failure


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


def _of_pictures(error: Mapping[str, Any], text: str) -> bool:
    return _PICTURE.search(f"{error.get('param')} {error.get('code')} {text}") is not None


def _judged(status: int | None, error: Mapping[str, Any], text: str) -> tuple[Any, bool]:
    """What clients are told, and whether another try may help. What is too long is so under any code but a limit's."""
    code = _code(error)
    info = _CODES.get(code)
    limited = status == 429 or code == "rate_limit_exceeded"
    if info in (None, "badRequest") and (status == 413 or (not limited and _TOO_LONG.search(text))):
        return "contextWindowExceeded", False
    if info is not None:
        return info, False
    if status is None:
        return _PASSING.get(code, "other"), True
    return _info(status), status in (408, 409, 429) or status >= 500


def _info(status: int) -> Any:
    match status:
        case 400 | 422:
            return "badRequest"
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
    minutes, seconds, unit = found.groups() if found is not None else (None, None, None)
    if minutes is None and seconds is None:
        return None
    return 60.0 * int(minutes or 0) + float(seconds or 0) / (1000 if unit and unit.lower() == "ms" else 1)
