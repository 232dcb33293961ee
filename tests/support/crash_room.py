"""A room of the tests' own: children on request, as long as no method of the contract makes them."""

from __future__ import annotations

from threadloom_protocol.model import Params, Result
from threadloom_protocol.spec import ClientRequest, Origin


class CrashSpawnParams(Params):
    """Begin a thread that another one owns."""

    thread_id: str
    name: str | None = None


class CrashSpawnResponse(Result):
    """Its id."""

    thread_id: str


SPAWN = ClientRequest("crash/spawn", CrashSpawnParams, CrashSpawnResponse, origin=Origin.OURS)
