"""Configuration as clients see it, over every transport."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.conformance import Conformance
from tests.support.flow import Flow
from tests.support.places import Place
from tests.support.processes import Log, command, environment
from tests.support.tap import Tap

from threadloom_client import Client, connect, open_transport
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import account, config, requirements, thread

SECONDS = 20.0


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server in this process sees no key of whoever runs the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def write(key: str, value: Any, **more: Any) -> config.ConfigValueWriteParams:
    return config.ConfigValueWriteParams(key_path=key, value=value, **{"merge_strategy": "replace", **more})


async def read(client: Client, cwd: Path | None = None, *, layers: bool = False) -> config.ConfigReadResponse:
    params = config.ConfigReadParams(cwd=str(cwd) if cwd else None, include_layers=layers)
    return await client.request(config.READ, params)


async def test_a_new_home_has_an_empty_configuration_and_nothing_managed(over: Place) -> None:
    async with over.client() as client:
        answer = await read(client)
        assert answer.config.model_dump(exclude_none=True) == {"model_provider": "rehearsal"}
        assert (answer.origins, answer.layers) == ({}, None)
        (layer,) = (await read(client, layers=True)).layers or []
        assert (layer.name.type, layer.config) == ("user", {})
        assert (await client.request(requirements.READ)).requirements is None
        assert not (over.home / "config.toml").exists()


async def test_a_default_provider_is_told_unless_it_is_openai(over: Place) -> None:
    async with over.client() as client:
        assert (await read(client)).config.model_provider == "rehearsal"
        await client.request(account.LOGIN, account.ApiKeyLoginAccountParams(api_key="sk-none"))
        assert (await read(client)).config.model_provider is None
        await client.request(config.WRITE_VALUE, write("model_provider", "ollama"))
        assert (await read(client)).config.model_provider == "ollama"


async def test_what_is_written_is_read_with_its_origin(over: Place) -> None:
    async with over.client() as client:
        wrote = await client.request(config.WRITE_VALUE, write("model", "m-1"))
        answer = await read(client, layers=True)
        assert answer.config.model == "m-1"
        assert answer.origins["model"].version == wrote.version
        assert answer.layers is not None
        assert answer.layers[0].config == {"model": "m-1"}
        assert (over.home / "config.toml").read_text() == 'model = "m-1"\n'


async def test_a_batch_is_written_whole_or_not_at_all(over: Place) -> None:
    def batch(*edits: tuple[str, Any]) -> config.ConfigBatchWriteParams:
        changes = [config.ConfigEdit(key_path=key, value=value, merge_strategy="upsert") for key, value in edits]
        return config.ConfigBatchWriteParams(edits=changes, reload_user_config=True)

    async with over.client() as client:
        good = batch(("sandbox_mode", "workspace-write"), ("sandbox_workspace_write", {"network_access": True}))
        assert (await client.request(config.BATCH_WRITE, good)).status == "ok"
        with pytest.raises(InvalidRequest) as refused:
            await client.request(config.BATCH_WRITE, batch(("model", "m"), ("approval_policy", "bogus")))
        assert refused.value.data == {"config_write_error_code": "configValidationError"}
        now = (await read(client)).config
        assert now.model is None
        assert now.sandbox_mode == "workspace-write"
        assert now.sandbox_workspace_write is not None
        assert now.sandbox_workspace_write.network_access


async def test_a_read_sent_right_behind_a_write_sees_it(over: Place) -> None:
    async with over.wire() as wire:
        for at in range(10):
            params = {"keyPath": "model", "value": f"m-{at}", "mergeStrategy": "replace"}
            await wire.send(
                {"id": f"w{at}", "method": "config/value/write", "params": params},
                {"id": f"r{at}", "method": "config/read", "params": {}},
            )
            answers = {answer["id"]: answer for answer in (await wire.read(), await wire.read())}
            assert answers[f"w{at}"]["result"]["status"] == "ok"
            assert answers[f"r{at}"]["result"]["config"]["model"] == f"m-{at}"


async def test_a_stale_version_is_a_conflict_that_a_client_can_tell(over: Place) -> None:
    async with over.client() as client:
        first = await client.request(config.WRITE_VALUE, write("model", "a"))
        await client.request(config.WRITE_VALUE, write("model", "b", expected_version=first.version))
        with pytest.raises(InvalidRequest) as refused:
            await client.request(config.WRITE_VALUE, write("model", "c", expected_version=first.version))
        assert refused.value.data == {"config_write_error_code": "configVersionConflict"}
        assert (await read(client)).config.model == "b"


async def test_the_layers_of_a_project_are_shown_and_count_once_trusted(over: Place, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    file = tmp_path / ".threadloom" / "config.toml"
    file.parent.mkdir()
    file.write_text('model = "of-the-project"\n')
    below = tmp_path / "src"
    below.mkdir()
    async with over.client() as client:
        before = await read(client, below, layers=True)
        assert before.config.model is None
        assert before.layers is not None
        assert before.layers[0].config == {"model": "of-the-project"}
        assert "not trusted" in (before.layers[0].disabled_reason or "")
        await client.request(config.WRITE_VALUE, write(f'projects."{tmp_path}".trust_level', "trusted"))
        after = await read(client, below)
        assert after.config.model == "of-the-project"
        assert after.origins["model"].name.type == "project"
        assert (await read(client)).config.model is None, "only there"


async def test_values_that_the_contract_has_no_room_for_are_left_out(over: Place) -> None:
    over.home.mkdir(exist_ok=True)
    (over.home / "config.toml").write_text('model = "m"\n[tools]\nweb_search = true\n[desktop]\nsize = 3\n')
    async with over.client() as client:
        shown = (await read(client)).config
        assert (shown.model, shown.tools, shown.desktop) == ("m", None, {"size": 3})


async def test_a_broken_file_is_told_to_every_client_and_the_server_goes_on(over: Place) -> None:
    over.home.mkdir(exist_ok=True)
    file = over.home / "config.toml"
    file.write_text('model = "m"\noops = = 1\n')
    for _ in range(2):
        async with over.client() as client:
            with anyio.fail_after(SECONDS), client.notifications(config.CONFIG_WARNING) as warnings:
                warning = (await anext(warnings)).params
            assert warning.path == str(file)
            assert warning.range is not None
            assert (warning.range.start.line, warning.range.start.column) == (2, 8)
            assert "config.toml:2:8" in (warning.details or "")
            answer = await read(client)
            assert (answer.config.model, answer.config.sandbox_mode) == (None, "read-only")


async def test_a_thread_starts_from_the_nearest_word(over: Place, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".threadloom").mkdir()
    (tmp_path / ".threadloom" / "config.toml").write_text('sandbox_mode = "read-only"\n')

    async def started(client: Client, **params: Any) -> tuple[Any, str]:
        answer = await client.request(thread.START, thread.ThreadStartParams(ephemeral=True, **params))
        return answer.approval_policy, answer.sandbox.type

    async with over.client() as client:
        assert await started(client) == ("on-request", "workspaceWrite")
        await client.request(config.WRITE_VALUE, write("approval_policy", "never"))
        assert await started(client, cwd=str(tmp_path)) == ("never", "workspaceWrite")
        await client.request(config.WRITE_VALUE, write(f'projects."{tmp_path}".trust_level', "trusted"))
        assert await started(client, cwd=str(tmp_path)) == ("never", "readOnly")
        own = {"approval_policy": "untrusted", "sandbox_mode": "danger-full-access"}
        assert await started(client, cwd=str(tmp_path), config=own) == ("untrusted", "dangerFullAccess")
        asked = await started(client, cwd=str(tmp_path), config=own, approval_policy="never", sandbox="read-only")
        assert asked == ("never", "readOnly")
        with pytest.raises(InvalidRequest, match="approval_policy"):
            await started(client, config={"approval_policy": "bogus"})


# ── how it is started ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_foreign_clients_find_their_configuration_and_keep_it(tmp_path: Path, conformance: Conformance) -> None:
    """`$CODEX_HOME` alone: Codex's file is read, ours lies over it, and theirs is as it was."""
    theirs = tmp_path / "config.toml"
    theirs.write_text('# theirs\nmodel = "codex"\n[model_providers.mock]\nname = "Mock"\n')
    environ = {key: value for key, value in environment(tmp_path).items() if key != "THREADLOOM_HOME"}
    words = command("--listen", "stdio://", "-c", 'review_model="flag"', "--enable", "thing")
    log = Log(words, tmp_path / "stderr.log")
    with log.path.open("wb") as stderr:
        pipes = await open_transport(words, env=environ | {"CODEX_HOME": str(tmp_path)}, cwd=tmp_path, stderr=stderr)
    async with connect(Tap(pipes, Flow(conformance))) as client:
        assert client.server.codex_home == str(tmp_path / "threadloom")
        answer = await read(client)
        assert (answer.config.model, answer.config.review_model) == ("codex", "flag")
        assert answer.config.model_extra == {
            "model_providers": {"mock": {"name": "Mock"}},
            "features": {"thing": True},
        }
        wrote = await client.request(config.WRITE_VALUE, write("model", "ours", file_path=str(theirs)))
        assert wrote.file_path == str(tmp_path / "threadloom" / "config.toml")
        assert (await read(client)).config.model == "ours"
    assert theirs.read_text() == '# theirs\nmodel = "codex"\n[model_providers.mock]\nname = "Mock"\n'
    log.assert_clean()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('model = "m"\nmodle = 1\n', "config.toml:2:1: unknown configuration key `modle`"),
        ("model = = 1\n", "config.toml:1:9: Invalid value"),
        ("model = 1\n", "config.toml:1:1: `model`: Input should be a valid string"),
    ],
)
def test_a_strict_server_does_not_start_on_a_faulty_file(tmp_path: Path, text: str, said: str) -> None:
    environ = environment(tmp_path)
    home = Path(environ["THREADLOOM_HOME"])
    home.mkdir()
    (home / "config.toml").write_text(text)
    ran = subprocess.run(
        command("--strict-config"), env=environ, cwd=tmp_path, input=b"", capture_output=True, timeout=60, check=False
    )
    assert ran.returncode == 2
    assert said in ran.stderr.decode()
    assert ran.stdout == b""


def test_a_flag_that_names_nothing_ends_the_start(tmp_path: Path) -> None:
    ran = subprocess.run(
        command("-c", "a..b=1"), env=environment(tmp_path), input=b"", capture_output=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr) == (2, b"threadloom: --config 'a..b': keyPath segments must not be empty\n")
