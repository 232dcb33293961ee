"""Why a turn failed, for programs to tell apart."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import UInt16, Value


class HttpFailure(Value):
    """The HTTP status, if there was one."""

    http_status_code: UInt16 | None = None


class HttpConnectionFailedCodexErrorInfo(Value):
    """The model could not be reached."""

    http_connection_failed: HttpFailure


class ResponseStreamConnectionFailedCodexErrorInfo(Value):
    """The stream of the answer could not be opened."""

    response_stream_connection_failed: HttpFailure


class ResponseStreamDisconnectedCodexErrorInfo(Value):
    """The stream of the answer broke off."""

    response_stream_disconnected: HttpFailure


class ResponseTooManyFailedAttemptsCodexErrorInfo(Value):
    """The retries are used up."""

    response_too_many_failed_attempts: HttpFailure


NonSteerableTurnKind = TypeAliasType("NonSteerableTurnKind", Literal["review", "compact"])


class NotSteerable(Value):
    """What kind of turn takes no input."""

    turn_kind: NonSteerableTurnKind


class ActiveTurnNotSteerableCodexErrorInfo(Value):
    """The running turn takes no input."""

    active_turn_not_steerable: NotSteerable


# What went wrong. Unknown words and objects are passed on.
CodexErrorInfo = TypeAliasType(
    "CodexErrorInfo",
    Literal[
        "contextWindowExceeded",
        "sessionBudgetExceeded",
        "usageLimitExceeded",
        "rateLimitExceeded",
        "flexUnavailable",
        "serverOverloaded",
        "modelNotFound",
        "policyCapacityUnavailable",
        "cyberPolicy",
        "misalignmentPolicyViolation",
        "tooManyDenials",
        "internalServerError",
        "unauthorized",
        "badRequest",
        "threadRollbackFailed",
        "sandboxError",
        "other",
    ]
    | HttpConnectionFailedCodexErrorInfo
    | ResponseStreamConnectionFailedCodexErrorInfo
    | ResponseStreamDisconnectedCodexErrorInfo
    | ResponseTooManyFailedAttemptsCodexErrorInfo
    | ActiveTurnNotSteerableCodexErrorInfo
    | str
    | dict[str, Any],
)


class MisalignmentSteer(Value):
    """What the model was told then."""

    message: str


class MisalignmentErrorDetails(Value):
    """What a safety check objected to."""

    error_type: str | None = None
    detailed_explanation: str | None = None
    steer: MisalignmentSteer | None = None
    review_target: str | None = None
