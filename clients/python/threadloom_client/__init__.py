"""A client for Threadloom: `async with connect("ws://127.0.0.1:4500") as client: …`."""

from threadloom_client.client import Client
from threadloom_client.connect import connect, open_transport
from threadloom_client.errors import Disconnected, Lagged, Refused, RequestTimeout, UnexpectedAnswer
from threadloom_client.notifications import Notification, Subscription, Unknown
from threadloom_client.transport import Closed, Transport

__all__ = [
    "Client",
    "Closed",
    "Disconnected",
    "Lagged",
    "Notification",
    "Refused",
    "RequestTimeout",
    "Subscription",
    "Transport",
    "UnexpectedAnswer",
    "Unknown",
    "connect",
    "open_transport",
]
