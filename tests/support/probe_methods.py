"""The handlers of the tests' own room."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from itertools import count
from typing import cast

import anyio
from tests.support import probe

from threadloom.connection import Connection
from threadloom.routes import Context, answers
from threadloom_protocol.jsonrpc import Response

# Tests in this process open these; for a server of its own, another request does.
GATES: dict[str, anyio.Event] = defaultdict(anyio.Event)
NUMBERS = count()


@answers(probe.ECHO)
def echo(ctx: Context, params: probe.ProbeEchoParams) -> probe.ProbeEchoResponse:
    return probe.ProbeEchoResponse(text=params.text, given=sorted(params.model_fields_set))


@answers(probe.FAIL)
def fail(ctx: Context, params: probe.ProbeFailParams) -> probe.ProbeFailResponse:
    raise KeyError("a detail that no client may see")


@answers(probe.HOLD)
async def hold(ctx: Context, params: probe.ProbeHoldParams) -> probe.ProbeHoldResponse:
    await GATES[params.gate].wait()
    return probe.ProbeHoldResponse(gate=params.gate)


@answers(probe.OPEN)
def open_gate(ctx: Context, params: probe.ProbeOpenParams) -> probe.ProbeOpenResponse:
    GATES.pop(params.gate, anyio.Event()).set()
    return probe.ProbeOpenResponse()


@answers(probe.NOTIFY)
def notify(ctx: Context, params: probe.ProbeNotifyParams) -> probe.ProbeNotifyResponse:
    connection = cast(Connection, ctx.peer)
    for number in range(params.count):
        connection.notify(probe.TICKED, probe.ProbeTicked(number=number, padding="x" * params.size))
        connection.notify(probe.WHISPERED, probe.ProbeWhispered(number=number))
    return probe.ProbeNotifyResponse(count=params.count)


@answers(probe.ASK)
async def ask(ctx: Context, params: probe.ProbeAskParams) -> probe.ProbeAskResponse:
    answered = anyio.Event()
    answers: list[Response] = []

    def hear(response: Response) -> None:
        answers.append(response)
        answered.set()

    question = probe.ProbeQuestionParams(question=params.question)
    cast(Connection, ctx.peer).ask(f"probe-{next(NUMBERS)}", probe.QUESTION, question, hear)
    await answered.wait()
    if answers[0].error is not None:
        return probe.ProbeAskResponse(code=answers[0].error["code"])
    return probe.ProbeAskResponse(answer=answers[0].result["answer"])


@answers(probe.PRINT)
def print_text(ctx: Context, params: probe.ProbePrintParams) -> probe.ProbePrintResponse:
    print(params.text, flush=True)
    sys.__stdout__.write(params.text)  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]
    os.write(1, params.text.encode())
    subprocess.run([sys.executable, "-c", f"print({params.text!r})"], check=True, timeout=20)
    return probe.ProbePrintResponse()


@answers(probe.SECRET)
def secret(ctx: Context, params: probe.ProbeSecretParams) -> probe.ProbeSecretResponse:
    return probe.ProbeSecretResponse()
