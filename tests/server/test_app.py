"""The server as a whole: what it does by itself, and how that ends."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from threadloom.app import App
from threadloom.config import Settings

PATIENCE = 30.0


async def test_what_asks_models_ends_before_they_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    asking = anyio.Event()

    async def warm() -> None:
        asking.set()
        try:
            await anyio.sleep_forever()
        finally:
            told.append("no more questions")

    async def aclose() -> None:
        told.append("closed")

    with anyio.fail_after(PATIENCE):
        async with App(Settings(tmp_path, {"model_provider": "rehearsal"})).running() as app:
            monkeypatch.setattr(app.models, "warm", warm)
            monkeypatch.setattr(app.models, "aclose", aclose)
            assert app.threads.loaded == {}
            await asking.wait()
    assert told == ["no more questions", "closed"]
