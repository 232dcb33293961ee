"""The contract as loose files: complete in themselves, named and placed as Codex's generators do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from tests.clients.node import PACKAGE, compile_project
from tests.support.codex import codex_binary

from threadloom.cli.generate import write_json_schema, write_ts
from threadloom_protocol.codegen import layout, schema
from threadloom_protocol.spec import ClientNotification, Origin
from threadloom_protocol.v2 import V2

THREADLOOM = Path(sys.executable).with_name("threadloom")
SECONDS = 60


@pytest.fixture(scope="module", params=[True, False], ids=["experimental", "stable"])
def experimental(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def files(experimental: bool) -> dict[str, Any]:
    return {path: json.loads(text) for path, text in layout.json_files(V2, experimental=experimental).items()}


@pytest.fixture(scope="module")
def codexs(experimental: bool, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files that Codex writes."""
    out = tmp_path_factory.mktemp("codex")
    environment = os.environ | {"HOME": str(out), "CODEX_HOME": str(out)}
    words = [str(codex_binary()), "app-server", "generate-json-schema", "--out", str(out / "json")]
    subprocess.run(
        words + ["--experimental"] * experimental, env=environment, check=True, capture_output=True, timeout=SECONDS
    )
    return _names(out / "json")


def test_what_is_shared_has_the_names_that_codex_gives_it(files: dict[str, Any], codexs: set[str]) -> None:
    ours = {
        f"v2/{name}.json"
        for it in schema.declarations(V2)
        if not isinstance(it, ClientNotification) and it.origin is Origin.OURS
        for name in schema.type_names(it)
    }
    assert ours
    assert set(files) - codexs == ours


def test_what_every_client_may_use_is_not_hidden_as_experimental(codexs: set[str], files: dict[str, Any]) -> None:
    declared = set(layout.json_files(V2, experimental=True))
    assert codexs & declared <= set(files)


def test_each_file_is_a_schema_that_is_complete_in_itself(files: dict[str, Any]) -> None:
    Draft7Validator.check_schema(files[layout.FLAT_BUNDLE])
    for path, content in files.items():
        for target in _targets(content):
            place = content
            for step in target.removeprefix("#/").split("/"):
                assert step in place, (path, target)
                place = place[step]


def test_a_file_says_what_its_type_is(files: dict[str, Any]) -> None:
    params = files["v2/ThreadArchiveParams.json"]
    assert params["title"] == "ThreadArchiveParams"
    assert params["properties"] == {"threadId": {"type": "string"}}
    good = {"id": 1, "method": "thread/archive", "params": {"threadId": "1"}}
    assert Draft7Validator(files["ClientRequest.json"]).is_valid(good)
    assert not Draft7Validator(files["ClientRequest.json"]).is_valid({**good, "params": {}})
    assert Draft7Validator(files["JSONRPCMessage.json"]).is_valid({"id": "x", "error": {"code": 1, "message": "no"}})
    assert not Draft7Validator(files["JSONRPCMessage.json"]).is_valid({"error": {"code": 1}})


def test_the_bundle_keeps_v2_in_a_namespace_of_its_own(files: dict[str, Any]) -> None:
    definitions = files[layout.BUNDLE]["definitions"]
    assert "ThreadStartParams" in definitions["v2"]
    assert "ThreadStartParams" not in definitions
    assert {"InitializeParams", "ClientRequest", "FileChangeRequestApprovalParams"} <= set(definitions)
    message = {"method": "thread/closed", "params": {"threadId": 1}}
    whole = {"$ref": "#/definitions/ServerNotification", "definitions": definitions}
    assert not Draft7Validator(whole).is_valid(message)


def test_what_is_written_is_what_was_generated(experimental: bool, files: dict[str, Any], tmp_path: Path) -> None:
    written = write_json_schema(tmp_path / "new" / "json", experimental=experimental)
    assert {path.relative_to(tmp_path / "new" / "json").as_posix() for path in written} == set(files)
    assert _names(tmp_path / "new" / "json") == set(files)


def test_the_typescript_that_is_written_compiles(experimental: bool, tmp_path: Path) -> None:
    written = write_ts(tmp_path, experimental=experimental)
    assert [path.name for path in written] == ["index.ts", "v2.ts"]
    config = {"extends": str(PACKAGE / "tsconfig.json"), "compilerOptions": {"noEmit": True, "rootDir": "."}}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config | {"include": ["*.ts"]}))
    compiled = compile_project(tmp_path / "tsconfig.json")
    assert (compiled.returncode, compiled.stdout) == (0, "")
    assert ("@experimental" in written[1].read_text("utf-8")) is experimental


@pytest.mark.parametrize(("command", "file"), [("generate-ts", "v2.ts"), ("generate-json-schema", "v2/Turn*.json")])
def test_the_commands_write_to_a_folder_or_say_why_not(command: str, file: str, tmp_path: Path) -> None:
    def run(out: Path) -> subprocess.CompletedProcess[str]:
        words = [str(THREADLOOM), "app-server", command, "--out", str(out)]
        return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)

    done = run(tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((tmp_path / "out").glob(file))
    (tmp_path / "taken").write_text("a file, not a folder")
    failed = run(tmp_path / "taken")
    assert failed.returncode == 1
    assert failed.stderr.startswith(f"threadloom: cannot write to {tmp_path / 'taken'}: ")


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.json")}


def _targets(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*(_targets(value) for value in part.values()))
    return set().union(*map(_targets, part)) if isinstance(part, list) else set()
