"""What the tests of other people's languages and clients share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

import pytest
from tests.clients.node import PACKAGE, compile_project
from tests.clients.witness import LAST, SEEN_IN, witnessed
from tests.support.conformance import Conformance

if TYPE_CHECKING:
    from tests.clients.sdk import Bench


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its example, compiled."""
    out = tmp_path_factory.mktemp("typescript")
    (out / "package.json").write_text('{"type": "module"}')
    compiled = compile_project(PACKAGE, "--outDir", str(out))
    assert (compiled.returncode, compiled.stdout) == (0, "")
    return out


@pytest.fixture
def foreign(conformance: Conformance) -> Iterator[Conformance]:
    """The check of messages, for a client that nobody here wrote."""
    with witnessed(conformance):
        yield conformance


@pytest.fixture
def room(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a short name, for a client that sees nothing of the user's."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "CODEX_", "THREADLOOM_HOME")):
            monkeypatch.delenv(name)
    return tmp_path_factory.mktemp("room")


@pytest.fixture
def bench(room: Path, foreign: Conformance) -> Iterator[Bench]:
    """OpenAI's SDK on our server. It waits for ever where no answer comes, so that here its servers end in time."""
    from tests.clients.sdk import SECONDS, Bench  # late: it is not needed, and may not be there, for other tests

    bench = Bench(room)
    timer = Timer(SECONDS, bench.recorded.kill)
    timer.start()
    yield bench
    assert timer.is_alive(), f"this took more than {SECONDS} seconds"
    timer.cancel()
    bench.recorded.kill()
    bench.recorded.judge(foreign)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is said of all tests of foreign clients is said behind them, and only where all of them run or have run."""
    last = [item for item in items if item.path.name == LAST]
    rest = [item for item in items if item.path.name != LAST]
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {LAST}
    if (
        last
        and SEEN_IN not in os.environ
        and not here <= {item.path.name for item in rest if item.path.parent == Path(__file__).parent}
    ):
        config.hook.pytest_deselected(items=last)
        last = []
    items[:] = rest + last
