"""The SDK is heavy: nothing loads it before a model on a server is asked, or warmed up."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = """
import sys
{code}
heavy = [name for name in ("openai", "httpx2", "httpcore2") if name in sys.modules]
print(" ".join(heavy))
"""
WARM = """
import anyio
from threadloom.agent.models.provider import Provider
from threadloom.agent.models.remote import Remote
anyio.run(Remote(Provider("p", base_url="http://127.0.0.1:9/v1")).warm)
"""
LIGHT = [
    "import threadloom.app",
    "import threadloom.compose",
    "from threadloom.agent.models.remote import Remote",
    "from threadloom.agent.models.provider import Provider; from threadloom.agent.models.remote import Remote; "
    "Remote(Provider('p'))",
]


def loaded(code: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", PROBE.format(code=code)], capture_output=True, text=True, check=True, timeout=60
    )
    return run.stdout.split()


@pytest.mark.parametrize("code", LIGHT)
def test_the_house_stands_without_it(code: str) -> None:
    assert loaded(code) == []


def test_warming_up_loads_it() -> None:
    assert "openai" in loaded(WARM)
