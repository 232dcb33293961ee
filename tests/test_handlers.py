"""Every declared method has its handler: a server need not be started, and wait for its rooms, to find one missing."""

from __future__ import annotations

from threadloom.app import HANDLERS
from threadloom.routes import Routes
from threadloom_protocol.v2 import V2


def test_every_declared_method_has_its_handler() -> None:
    routes = Routes(V2, HANDLERS)
    while routes.load_next():
        pass
    assert {method for method in V2.requests if routes.find(method).request.method != method} == set()


def test_every_room_that_has_handlers_is_declared() -> None:
    assert set(HANDLERS) <= set(V2.names)
