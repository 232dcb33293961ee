"""The handshake once more: the first one is read by the connection, so what comes here comes too late."""

from __future__ import annotations

from threadloom.routes import Context, answers
from threadloom_protocol.errors import AlreadyInitialized
from threadloom_protocol.v2 import lifecycle


@answers(lifecycle.INITIALIZE)
def initialize(ctx: Context, params: lifecycle.InitializeParams) -> lifecycle.InitializeResponse:
    """One handshake per connection."""
    raise AlreadyInitialized
