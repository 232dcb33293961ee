"""Whatever Codex's schema lets a client send is never refused as badly shaped, but for what Codex itself refuses so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.codex import codex_types
from tests.support.conformance import Conformance
from tests.support.counts import count
from tests.support.places import running
from tests.support.schema_strategies import Strategies

from threadloom_protocol.errors import RpcError
from threadloom_protocol.spec import Origin, Stage
from threadloom_protocol.v2 import V2

SHARED = sorted(
    method
    for method, it in V2.requests.items()
    if it.origin is Origin.CODEX and it.stage is not Stage.PLANNED and method != "initialize"
)


def params_of(method: str) -> st.SearchStrategy[Any]:
    name = V2.requests[method].params.__name__
    types = codex_types()
    return Strategies(types).of(name) if name in types else st.none()


# What Codex answers with -32602, too, though its schema allows it.
AS_CODEX = re.compile(
    r"(command/exec|process/spawn|thread/shellCommand): timeoutMs must not be negative, and is -\d+"
    r"|(command/exec|process/spawn): a size needs `tty: true`"
    r"|command/exec: (timeoutMs and disableTimeout|outputBytesCap and disableOutputCap) exclude each other"
    r"|(command/exec|command/exec/resize|process/spawn|process/resizePty): rows and cols must be more than 0"
    r"|(command/exec/write|process/writeStdin) needs deltaBase64 or closeStdin"
    r"|deltaBase64 is not base64: .*"
    r"|Input exceeds the maximum length of \d+ characters\."
)


async def refusals(home: Path, method: str, examples: list[Any], conformance: Conformance) -> set[str]:
    """What is wrong with the params of these."""
    found = set()
    async with running("memory", home, conformance) as place, place.client(experimental=True) as client:
        for params in examples:
            try:
                await client.call(method, params)
            except RpcError as refusal:
                if refusal.wire_code == -32602 and not AS_CODEX.fullmatch(refusal.message):
                    found.add(refusal.message)
    return found


@pytest.mark.parametrize("method", SHARED)
def test_params_of_codex_are_never_badly_shaped(method: str, tmp_path: Path, conformance: Conformance) -> None:
    examples: list[Any] = []

    @settings(max_examples=count(100), deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(params_of(method))
    def gather(params: Any) -> None:
        examples.append(params)

    gather()
    assert examples
    assert not anyio.run(refusals, tmp_path, method, examples, conformance)
