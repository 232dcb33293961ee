"""The TypeScript bindings: what is right compiles, what is wrong does not, and a program on them works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.clients.node import PACKAGE, Peer, compile_project, playing, run_node
from tests.support.processes import listening

from threadloom_protocol.codegen.examples import Examples
from threadloom_protocol.codegen.schema import document
from threadloom_protocol.v2 import V2

HEAD = """\
import { type Client, type ClientRequest, type ServerNotification, type Thread, type TurnStartParams } from "PACKAGE";
declare const client: Client;
declare const it: ServerNotification;
declare function never(it: never): never;
"""

# What the examples of the package's README take for granted.
SURROUNDINGS = """\
import { connect, type Client, type CommandExecutionRequestApprovalParams, type Thread } from "PACKAGE";
declare const token: string;
declare const root: string;
declare function show(text: string): void;
declare function ask(params: CommandExecutionRequestApprovalParams): Promise<"accept" | "decline">;
declare function redraw(thread: Thread): void;
"""

# Each is a line that compiles, and nearly the same line that must not; then the compiler's reason.
PAIRS = {
    "the type of a member": (
        'client.request("thread/name/set", { threadId: "1", name: "x" });',
        'client.request("thread/name/set", { threadId: 1, name: "x" });',
        "TS2322",
    ),
    "a missing member": (
        'client.request("thread/archive", { threadId: "1" });',
        'client.request("thread/archive", {});',
        "TS2741",
    ),
    "params left out": ('client.request("model/list");', 'client.request("thread/archive");', "TS2554"),
    "an unknown method": ('client.request("thread/list");', 'client.request("thread/nonsense");', "TS2345"),
    "an unknown member": (
        'client.request("thread/list", { limit: 1 });',
        'client.request("thread/list", { limits: 1 });',
        "TS2561",
    ),
    "the type of a result": (
        'client.request("model/list", {}).then(({ data }) => data.map((model) => model.id));',
        'client.request("model/list", {}).then(({ data }) => data.map((model) => model.nonsense));',
        "TS2339",
    ),
    "narrowing by method": (
        'if (it.method === "item/agentMessage/delta") it.params.delta.trim();',
        'if (it.method === "turn/completed") it.params.delta.trim();',
        "TS2339",
    ),
    "a member before narrowing": (
        'if (it.method === "turn/completed") it.params.turn.id.trim();',
        "it.params.turn.id.trim();",
        "TS2339",
    ),
    "a method that is none": (
        'if (it.method === "thread/started") it.params.thread.id.trim();',
        'if (it.method === "thread/begun") never(it);',
        "TS2367",
    ),
    "narrowing by type, deeper down": (
        'if (it.method === "item/completed" && it.params.item.type === "agentMessage") it.params.item.text.trim();',
        'if (it.method === "item/completed" && it.params.item.type === "fileChange") it.params.item.text.trim();',
        "TS2339",
    ),
    "a switch that forgets one": (
        """declare const two: Extract<ServerNotification, { method: "turn/started" | "turn/completed" }>;
           switch (two.method) { case "turn/started": break; case "turn/completed": break; default: never(two); }""",
        """declare const two: Extract<ServerNotification, { method: "turn/started" | "turn/completed" }>;
           switch (two.method) { case "turn/started": break; default: never(two); }""",
        "TS2345",
    ),
    "null where a member may only be absent": (
        "const thread: Pick<Thread, 'seq'> = {}; thread;",
        "const thread: Pick<Thread, 'seq'> = { seq: null }; thread;",
        "TS2322",
    ),
    "absence where a member may only be null": (
        "const thread: Pick<Thread, 'name'> = { name: null }; thread;",
        "const thread: Pick<Thread, 'name'> = {}; thread;",
        "TS2741",
    ),
    "null where a member may be null or absent": (
        "const params: TurnStartParams = { threadId: '1', input: [], model: null }; params;",
        "const params: TurnStartParams = { threadId: '1', input: null, model: null }; params;",
        "TS2322",
    ),
    "the answer of a handler": (
        'client.onRequest("item/fileChange/requestApproval", () => ({ decision: "accept" }));',
        'client.onRequest("item/fileChange/requestApproval", () => ({ decision: "perhaps" }));',
        "TS2322",
    ),
    "one notification": (
        'client.onNotification("thread/closed", (params) => params.threadId.trim());',
        'client.onNotification("thread/closed", (params) => params.delta);',
        "TS2339",
    ),
    "a whole request": (
        'const ask: ClientRequest = { id: 1, method: "thread/archive", params: { threadId: "1" } }; ask;',
        'const ask: ClientRequest = { id: 1, method: "thread/archive", params: { input: [] } }; ask;',
        "TS2322",
    ),
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The compiler's codes for every good and bad line, by the name of its file; all in one run."""
    project = tmp_path_factory.mktemp("pairs")
    for number, (good, bad, _) in enumerate(PAIRS.values()):
        for name, line in (("good", good), ("bad", bad)):
            text = HEAD.replace("PACKAGE", str(PACKAGE / "src" / "index.js")) + line + "\n"
            (project / f"{name}{number}.ts").write_text(text)
    first, *others = re.findall(r"^```ts\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    examples = [first.partition("\n")[2], *(f"declare const client: Client;\n{it}" for it in others)]
    for number, example in enumerate(examples):
        text = SURROUNDINGS.replace("PACKAGE", str(PACKAGE / "src" / "index.js"))
        (project / f"readme{number}.ts").write_text(text + example)
    settings = {"noEmit": True, "rootDir": "/", "noUnusedLocals": False}
    config = {"extends": str(PACKAGE / "tsconfig.json"), "compilerOptions": settings, "include": ["*.ts"]}
    (project / "tsconfig.json").write_text(json.dumps(config))
    (project / "package.json").write_text('{"type": "module"}')
    found: dict[str, list[str]] = {}
    output = compile_project(project / "tsconfig.json").stdout
    for place, code in re.findall(r"^(\S+)\.ts\(\d+,\d+\): error (TS\d+):", output, re.MULTILINE):
        found.setdefault(Path(place).name, []).append(code)
    return found


def test_the_package_and_its_example_compile_under_strict_rules(built: Path) -> None:
    settings = json.loads((PACKAGE / "tsconfig.json").read_text())["compilerOptions"]
    assert settings["strict"]
    assert settings["noUncheckedIndexedAccess"]
    assert settings["exactOptionalPropertyTypes"]
    assert (built / "src" / "index.js").exists()
    assert (built / "examples" / "handshake.js").exists()


@pytest.mark.parametrize(("number", "what"), list(enumerate(PAIRS)), ids=list(PAIRS))
def test_what_is_right_compiles_and_what_is_wrong_does_not(
    errors: dict[str, list[str]], number: int, what: str
) -> None:
    assert errors.get(f"good{number}") is None
    assert errors.get(f"bad{number}") == [PAIRS[what][2]]


def test_what_the_readme_shows_compiles(errors: dict[str, list[str]]) -> None:
    assert {name: codes for name, codes in errors.items() if name.startswith("readme")} == {}


async def test_the_example_shakes_hands_with_the_server(built: Path, tmp_path: Path) -> None:
    async with listening("ws://127.0.0.1:0", tmp_path) as server:
        code, said, complaints = await run_node(built / "examples" / "handshake.js", server.url)
    assert (code, complaints) == (0, "")
    first, models, *_, last = said.splitlines()
    assert first.startswith("server threadloom on ")
    assert re.fullmatch(r"models \S.*", models)
    assert last == "bye"


async def test_the_example_tells_notifications_apart_by_their_method(built: Path) -> None:
    examples = Examples(document(V2)["definitions"])

    async def script(peer: Peer) -> None:
        await _welcome(peer, examples)
        for method in ("thread/started", "turn/started", "item/agentMessage/delta", "turn/completed", "warning"):
            await peer.say(method=method, params=examples.of(V2.notifications[method].params.__name__))
        asked = await peer.hear("model/list")
        await peer.say(id=asked["id"], result=examples.of("ModelListResponse"))
        await peer.connection.wait_closed()

    async with playing(script) as url:
        code, said, complaints = await run_node(built / "examples" / "handshake.js", url)
    assert (code, complaints) == (0, "")
    thread, turn = examples.of("Thread"), examples.of("Turn")
    assert said.splitlines() == [
        "server threadloom on linux",
        f"thread {thread['id']} in {thread['cwd']}",
        f"turn {turn['id']} of {thread['id']}",
        'agent says "Hel"',
        f"turn {turn['id']} is {turn['status']}",
        "also: warning",
        f"models {examples.of('Model')['id']}",
        "bye",
    ]


async def test_the_example_presents_its_token_as_a_browser_would(built: Path) -> None:
    examples = Examples(document(V2)["definitions"])
    seen: list[str | None] = []

    async def script(peer: Peer) -> None:
        assert peer.connection.request is not None
        seen.append(peer.connection.request.headers.get("Sec-WebSocket-Protocol"))
        await _welcome(peer, examples)
        await peer.connection.close(4001, "enough")

    async with playing(script, subprotocols=["bearer.s3cret"]) as url:
        code, _, complaints = await run_node(built / "examples" / "handshake.js", url, "s3cret")
    assert seen == ["bearer.s3cret"]
    assert code == 1
    assert "ConnectionClosed: the connection is closed: enough" in complaints


async def _welcome(peer: Peer, examples: Examples) -> None:
    asked = await peer.hear("initialize")
    assert asked["params"]["clientInfo"]["name"] == "handshake"
    result: dict[str, Any] = examples.of("InitializeResponse") | {"server": examples.of("ServerInfo")}
    await peer.say(id=asked["id"], result=result)
    await peer.hear("initialized")
