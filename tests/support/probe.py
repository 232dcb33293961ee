"""A room of the tests' own: methods that wait, fail, notify and ask on request."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from threadloom_protocol.model import EXPERIMENTAL, Event, Params, Result, Value
from threadloom_protocol.spec import ClientRequest, Origin, ServerNotification, ServerRequest, Stage


class Circle(Value):
    """One arm of a union."""

    type: Literal["circle"] = "circle"
    radius: int


class Square(Value):
    """Another arm."""

    type: Literal["square"] = "square"
    side: int
    color: str | None = None


Shape = Annotated[Circle | Square, Field(discriminator="type")]


class ProbeEchoParams(Params):
    """Give back what came."""

    text: str = ""
    note: str | None = None
    number: int = 0
    shapes: list[Shape] = Field(default_factory=list)
    hidden: Annotated[str | None, EXPERIMENTAL] = None


class ProbeEchoResponse(Result):
    """What came, and which members were there."""

    text: str
    given: list[str]


class ProbeFailParams(Params):
    """Fail in a way that no handler foresaw."""


class ProbeFailResponse(Result):
    """Never sent."""


class ProbeHoldParams(Params):
    """Do not answer until the test says so."""

    gate: str
    thread_id: str | None = None


class ProbeHoldResponse(Result):
    """The gate that has opened."""

    gate: str


class ProbeOpenParams(Params):
    """Let those go who wait at a gate."""

    gate: str


class ProbeOpenResponse(Result):
    """It is open."""


class ProbeNotifyParams(Params):
    """Have notifications sent to the one who asks."""

    count: int = 1
    size: int = 0


class ProbeNotifyResponse(Result):
    """They were sent before this."""

    count: int


class ProbeAskParams(Params):
    """Have the server ask something, and hear what it was told."""

    question: str


class ProbeAskResponse(Result):
    """The answer the server got, or the code of the error it got."""

    answer: str | None = None
    code: int | None = None


class ProbeQuestionParams(Params):
    """What the server wants to know."""

    question: str


class ProbeQuestionResponse(Result):
    """What it is told."""

    answer: str


class ProbeSecretParams(Params):
    """For those who asked for experimental methods."""


class ProbeSecretResponse(Result):
    """It is no secret that there is one."""


class ProbePrintParams(Params):
    """Write to standard output, in every way there is."""

    text: str


class ProbePrintResponse(Result):
    """It was written."""


class ProbeTicked(Event):
    """One of several."""

    number: int
    padding: str = ""


class ProbeWhispered(Event):
    """For those who asked for experimental methods."""

    number: int


ECHO = ClientRequest("probe/echo", ProbeEchoParams, ProbeEchoResponse, origin=Origin.OURS)
FAIL = ClientRequest("probe/fail", ProbeFailParams, ProbeFailResponse, origin=Origin.OURS)
HOLD = ClientRequest("probe/hold", ProbeHoldParams, ProbeHoldResponse, origin=Origin.OURS)
OPEN = ClientRequest("probe/open", ProbeOpenParams, ProbeOpenResponse, origin=Origin.OURS)
NOTIFY = ClientRequest("probe/notify", ProbeNotifyParams, ProbeNotifyResponse, origin=Origin.OURS)
ASK = ClientRequest("probe/ask", ProbeAskParams, ProbeAskResponse, origin=Origin.OURS)
PRINT = ClientRequest("probe/print", ProbePrintParams, ProbePrintResponse, origin=Origin.OURS)
SECRET = ClientRequest("probe/secret", ProbeSecretParams, ProbeSecretResponse, experimental=True, origin=Origin.OURS)
PLANNED = ClientRequest("probe/plan", ProbeFailParams, ProbeFailResponse, stage=Stage.PLANNED, origin=Origin.OURS)
QUESTION = ServerRequest("probe/question", ProbeQuestionParams, ProbeQuestionResponse, origin=Origin.OURS)
TICKED = ServerNotification("probe/ticked", ProbeTicked, origin=Origin.OURS)
WHISPERED = ServerNotification("probe/whispered", ProbeWhispered, experimental=True, origin=Origin.OURS)
