"""The states of threads and agents."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Value


class NotLoadedThreadStatus(Value):
    """On disk only."""

    type: Literal["notLoaded"] = "notLoaded"


class IdleThreadStatus(Value):
    """At rest."""

    type: Literal["idle"] = "idle"


class SystemErrorThreadStatus(Value):
    """At rest after a turn that failed."""

    type: Literal["systemError"] = "systemError"


# What a running turn waits for.
ThreadActiveFlag = TypeAliasType("ThreadActiveFlag", Literal["waitingOnApproval", "waitingOnUserInput"])


class ActiveThreadStatus(Value):
    """In a turn; the flags say what it waits for."""

    type: Literal["active"] = "active"
    active_flags: list[ThreadActiveFlag]


ThreadStatus = TypeAliasType(
    "ThreadStatus",
    Annotated[
        NotLoadedThreadStatus | IdleThreadStatus | SystemErrorThreadStatus | ActiveThreadStatus,
        Field(discriminator="type"),
    ],
)


# How an agent stands: not yet begun, in a turn, at rest after one, closed, unknown.
CollabAgentStatus = TypeAliasType(
    "CollabAgentStatus",
    Literal["pendingInit", "running", "interrupted", "completed", "errored", "shutdown", "notFound"],
)
