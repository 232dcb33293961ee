"""What a server says beside its answers, and lists that wait until they are whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.server.cli.stock import here
from tests.server.cli.test_chat import chatting
from tests.support.processes import server_home
from tests.support.stores import Scribe

from threadloom.cli.asides import PARTIAL, _told
from threadloom.threads import recovering
from threadloom_protocol.v2.config import ConfigWarningNotification, WarningNotification
from threadloom_protocol.v2.stream import BackgroundEventNotification

COUNT = 30
PASSED_OVER = r"config\.toml:1:10: Invalid value; none of it is in force"


def broken(room: Path) -> None:
    home = server_home(room)
    home.mkdir()
    (home / "config.toml").write_text("model = [")


@pytest.mark.parametrize("words", [["list"], ["exec", "echo hello"], ["agents"], ["search", "loom"]])
def test_what_of_the_configuration_is_passed_over_is_told(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path)
    ran = here(monkeypatch, tmp_path, *words)
    assert ran.code == 0, ran
    assert ran.err.count("config.toml:1:10: Invalid value; none of it is in force") == 1, ran


def test_flags_that_are_passed_over_are_told_and_those_that_are_no_toml_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = here(monkeypatch, tmp_path, "list", "-c", "approval_policy=nonsense")
    assert (ran.code, ran.out) == (0, "")
    assert "--config: `approval_policy`: Input should be" in ran.err
    ran = here(monkeypatch, tmp_path, "list", "-c", "model=[")
    assert (ran.code, ran.out) == (2, "")
    assert "--config model: " in ran.err


async def test_a_chat_tells_it_too(tmp_path: Path) -> None:
    broken(tmp_path)
    async with chatting(tmp_path) as chat:
        await chat.sees(PASSED_OVER.replace(" ", r"\s"))
        await chat.leaves()


def test_lists_and_searches_wait_until_the_index_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scribe = Scribe(server_home(tmp_path))
    ids = scribe.threads(COUNT, 1_794_000_000_000)
    scribe.store.close()
    monkeypatch.setattr(recovering, "PATIENCE", 0.0)
    monkeypatch.setattr(recovering, "TELLING", 0.0)
    monkeypatch.setattr("threadloom.store.recovery.BATCH", 5)
    for words, found in ((["list", "-n", "100"], COUNT), (["search", "login", "-n", "100"], COUNT // 5)):
        (server_home(tmp_path) / "index.sqlite").unlink()
        ran = here(monkeypatch, tmp_path, *words)
        assert len(ran.out.splitlines()) == found, ran
        assert ran.err.count(f"is being made: 5 of {COUNT} logs are read.") == 1, ran
        assert PARTIAL not in ran.err
    (server_home(tmp_path) / "index.sqlite").unlink()
    assert here(monkeypatch, tmp_path, "show", ids[-1][:18]).code == 0


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (ConfigWarningNotification(summary="In short.", details="At length."), "At length."),
        (ConfigWarningNotification(summary="In short."), "In short."),
        (WarningNotification(message="The model is loaded."), "The model is loaded."),
        (("Half.", False, None), f"Half. {PARTIAL}"),
        (("Done.", True, None), "Done."),
        (("An agent is done.", True, "a thread"), None),
    ],
)
def test_a_server_elsewhere_says_that_its_answers_are_not_whole(params: Any, told: str | None) -> None:
    if isinstance(params, tuple):
        text, final, thread_id = params
        params = BackgroundEventNotification(thread_id=thread_id, message=text, is_final=final, level="info")
    assert _told(params, True) == told
