"""Calls go down: a module imports from its own row of the house and from the rows below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = [ROOT / "server", ROOT / "protocol", ROOT / "clients" / "python"]

# From the top of the house to its foundation. The longest prefix of a module's name gives its row.
ROWS = [
    ["threadloom.cli", "threadloom.app", "threadloom.compose", "threadloom.demo", "threadloom.housekeeping"],
    ["threadloom.connection", "threadloom.outbox", "threadloom.batch"],
    ["threadloom.transports"],
    ["threadloom.methods"],
    ["threadloom.dispatcher", "threadloom.routes", "threadloom.handshake"],
    ["threadloom.threads"],
    ["threadloom.agent", "threadloom.exec", "threadloom.store"],
    ["threadloom.config", "threadloom.events", "threadloom.ids", "threadloom.log", "threadloom"],
    ["threadloom_client"],
    ["threadloom_protocol.codegen"],
    ["threadloom_protocol.v2"],
    ["threadloom_protocol.spec", "threadloom_protocol.jsonrpc"],
    ["threadloom_protocol.model", "threadloom_protocol.errors", "threadloom_protocol"],
]
# The contract stands alone: whoever embeds it gets no server with it.
ALLOWED = {
    "threadloom_client": {"threadloom_client", "threadloom_protocol"},
    "threadloom_protocol": {"threadloom_protocol"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def row(name: str) -> int:
    ranked = [(len(prefix), at) for at, row in enumerate(ROWS) for prefix in row if f"{name}.".startswith(f"{prefix}.")]
    return max(ranked)[1]


def test_imports_go_down_and_never_up() -> None:
    upward = [
        f"{name} → {target}"
        for name, path in modules()
        for target in imports(path)
        if target.startswith("threadloom") and row(target) < row(name)
    ]
    assert upward == []


def test_the_contract_and_the_client_stand_without_the_server() -> None:
    strays = [
        f"{name} → {target}"
        for name, path in modules()
        for target in imports(path)
        if target.startswith("threadloom")
        and target.split(".")[0] not in ALLOWED.get(name.split(".")[0], {target.split(".")[0]})
    ]
    assert strays == []


def test_websockets_is_known_to_the_transports_alone() -> None:
    users = [name for name, path in modules() if any(target.split(".")[0] == "websockets" for target in imports(path))]
    assert all(name.startswith(("threadloom.transports", "threadloom_client")) for name in users)


def test_the_check_sees_an_upward_import() -> None:
    assert row("threadloom.dispatcher") > row("threadloom.app.App")
    assert row("threadloom_protocol.model.Wire") > row("threadloom.app")
    assert row("threadloom.__version__") > row("threadloom.cli.serve")
