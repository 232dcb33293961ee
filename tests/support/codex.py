"""The real Codex, from its npm package: its binary, and the contract that it prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

VERSION = "0.166.0"
PACKAGES = Path(__file__).parents[1] / "clients" / "node_modules" / "@openai"
TIMEOUT = 60  # seconds; it takes a tenth of one

Schema = dict[str, Any]


def codex_binary() -> Path:
    """The native executable, without the Node script around it."""
    found = sorted(PACKAGES.glob("codex*/vendor/*/bin/codex"))
    if not found:
        pytest.fail(f"Codex {VERSION} is not installed in tests/clients: `make test` does that, or `npm install` there")
    return found[0]


@cache
def codex_schema(*, experimental: bool = True) -> Schema:
    """The one document with everything in it: `definitions`, and those of v2 in `definitions.v2`."""
    (text,) = _generate("generate-json-schema", "codex_app_server_protocol.schemas.json", experimental=experimental)
    document: Schema = json.loads(text)
    return document


@cache
def codex_types(*, experimental: bool = True) -> dict[str, Schema]:
    """Every type by its name, as a schema that is complete in itself."""
    definitions = _flat(codex_schema(experimental=experimental)["definitions"])
    return {name: definition | {"definitions": definitions} for name, definition in definitions.items()}


@cache
def codex_methods(*, experimental: bool = True) -> dict[str, frozenset[str]]:
    """The methods of each direction, by the name of its union: `ClientRequest`, `ServerNotification` …"""
    kinds = ("ClientRequest", "ClientNotification", "ServerRequest", "ServerNotification")
    # The JSON Schema leaves three of the old methods out; the TypeScript has them all.
    texts = _generate("generate-ts", *(f"{kind}.ts" for kind in kinds), experimental=experimental)
    return {kind: frozenset(re.findall(r'"method": "([^"]+)"', text)) for kind, text in zip(kinds, texts, strict=True)}


def _generate(command: str, *files: str, experimental: bool) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="codex-") as folder:
        out = Path(folder, "out")
        words = [str(codex_binary()), "app-server", command, "--out", str(out)]
        environment = os.environ | {"HOME": folder, "CODEX_HOME": folder}
        subprocess.run(
            words + ["--experimental"] * experimental, env=environment, check=True, capture_output=True, timeout=TIMEOUT
        )
        return [Path(out, file).read_text(encoding="utf-8") for file in files]


def _flat(definitions: Schema) -> dict[str, Schema]:
    """Both generations of names in one: where both have a name, v2 means it."""
    old = {name: it for name, it in definitions.items() if name != "v2"}
    text = json.dumps(old | definitions["v2"]).replace("#/definitions/v2/", "#/definitions/")
    flat: dict[str, Schema] = json.loads(text)
    return flat
