"""Where each client method of Codex stands here: one of four states, and why where it is refused on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from threadloom_protocol.codegen import ignored
from threadloom_protocol.spec import ClientRequest, Origin, Stage, Surface

CODEX_VERSION: Final = "0.166.0"
CODEX_METHODS: Final = tuple(Path(__file__).with_name("codex_methods.txt").read_text(encoding="utf-8").split())

ON_PURPOSE: Final = "−32601 on purpose"

# A method, or with `*` at the end all that begin so → why a client gets −32601, which it knows how to take.
REFUSED: Final[Mapping[str, str]] = {
    "account/bedrock/*": "Models come from OpenAI-compatible providers; Amazon's own set-up is not among them.",
    "account/gatewayOAuth/*": "There is no gateway of OpenAI's between this server and a model.",
    "account/gcp/setup": "Models come from OpenAI-compatible providers; Google's own set-up is not among them.",
    "account/rateLimitResetCredit/consume": "Credits belong to ChatGPT plans, which this server does not bill.",
    "account/rateLimits/read": "Rate limits are the provider's; they show as errors of the turn that met them.",
    "account/sendAddCreditsNudgeEmail": "This server sends no mail.",
    "account/usage/read": "Usage is counted per thread, in `thread/tokenUsage/updated`, not per account.",
    "account/workspaceMessages/read": "There is no workspace of OpenAI's behind this server.",
    "accountSession/*": "One home has one account; a second account is a second home.",
    "app/read": "There are no apps (connectors) to read; `app/list` says so.",
    "config/mcpServer/reload": "A changed MCP configuration holds for the next tree of threads that starts.",
    "environment/*": "Threads run on the machine of the server; there are no other environments.",
    "experimentalFeature/enablement/set": "There are no feature switches; `experimentalFeature/list` says so.",
    "externalAgentConfig/*": "Nothing is imported from other agents' configuration.",
    "feedback/*": "Nothing is sent to a vendor.",
    "fuzzyFileSearch": "Clients look for files themselves, on their own side or with `fs/readDirectory`.",
    "fuzzyFileSearch/*": "Clients look for files themselves, on their own side or with `fs/readDirectory`.",
    "getAuthStatus": "A leftover of protocol v1; `account/read` has the answer.",
    "getConversationSummary": "A leftover of protocol v1; `thread/read` has the answer.",
    "gitDiffToRemote": "A leftover of protocol v1; `turn/diff/updated` shows what a turn changed.",
    "marketplace/*": "There are no plugins, so there is no market for them.",
    "mcpServer/*": "MCP servers are the agent's tools; a client that wants one talks to it itself.",
    "memory/*": "Nothing is remembered beyond the threads themselves.",
    "mock/experimentalMethod": "Exists only for Codex's own tests.",
    "modelProvider/capabilities/read": "What a model can do stands with the model, in `model/list`.",
    "plugin/install": "There are no plugins to install.",
    "plugin/read": "There are no plugins to read; `plugin/list` says so.",
    "plugin/reconcile": "There are no plugins to bring into line.",
    "plugin/search": "There are no plugins to find; `plugin/list` says so.",
    "plugin/share/*": "There are no plugins to share.",
    "plugin/skill/read": "There are no plugins to read skills from.",
    "plugin/uninstall": "There are no plugins to remove.",
    "project/create": "Threads are found by directory and tree, not sorted into projects.",
    "project/delete": "Threads are found by directory and tree, not sorted into projects.",
    "project/import": "Threads are found by directory and tree, not sorted into projects.",
    "project/move": "Threads are found by directory and tree, not sorted into projects.",
    "project/read": "Threads are found by directory and tree, not sorted into projects.",
    "project/update": "Threads are found by directory and tree, not sorted into projects.",
    "remoteControl/*": "Remote clients connect by WebSocket with a token; no relay of OpenAI's is involved.",
    "rollout/compress": "Logs stay plain text; what is large in them lies out of line.",
    "server/diagnostics": "Health is at `/healthz` and `/readyz`, the rest in the structured log.",
    "skills/config/write": "Skills are given to a turn as input; they have no switches.",
    "skills/extraRoots/set": "Skills are given to a turn as input; they are not searched for.",
    "thread/approveGuardianDeniedAction": "A refusal by the reviewing model is final; a new turn may ask again.",
    "thread/attachment/*": "Files reach a thread as input of a turn.",
    "thread/attachmentOwner/list": "Files reach a thread as input of a turn.",
    "thread/decrement_elicitation": "A pending question waits by itself; clients need not announce dialogues.",
    "thread/increment_elicitation": "A pending question waits by itself; clients need not announce dialogues.",
    "thread/items/read": "`thread/items/list` reads from any item on.",
    "thread/memory/read": "Nothing is remembered beyond the threads themselves.",
    "thread/memoryMode/set": "Nothing is remembered beyond the threads themselves.",
    "thread/prediction/request": "The server does not guess what a person will say next.",
    "thread/readState/update": "How far a person has read is the client's own business.",
    "thread/realtime/*": "No voice: conversations are text and pictures.",
    "thread/sample": "Sampling beside the conversation is what a fork or an ephemeral thread is for.",
    "thread/sample/cancel": "Sampling beside the conversation is what a fork or an ephemeral thread is for.",
    "thread/section/move": "There are no sections to move a thread into.",
    "thread/timeline/list": "A part of voice conversations, which this server does not have.",
    "threadSection/create": "Threads are found by directory and tree, not sorted into sections.",
    "threadSection/delete": "Threads are found by directory and tree, not sorted into sections.",
    "threadSection/update": "Threads are found by directory and tree, not sorted into sections.",
    "turn/settings/update": "Settings change for later turns, with `thread/settings/update`.",
    "userVerification/*": "Who a person is, is settled when a connection opens, by its token.",
    "windowsSandbox/*": "The sandbox is Linux's; on Windows commands need somebody else's fence.",
}


def unplaced(surface: Surface, codex_methods: Iterable[str] = CODEX_METHODS) -> list[str]:
    """What is wrong with the table, a line each: methods in no state or in two, reasons for nothing."""
    methods = set(codex_methods)
    shared = _shared(surface)
    return [
        *(f"{it}: neither declared nor refused" for it in sorted(methods) if not (it in shared or _reasons(it))),
        *(f"{it}: declared and refused" for it in sorted(methods) if it in shared and _reasons(it)),
        *(f"{it}: refused twice" for it in sorted(methods) if len(_reasons(it)) > 1),
        *(f"{it}: refused, but no method of Codex" for it in REFUSED if not any(_fits(it, m) for m in methods)),
        *(f"{it}: declared as Codex's, but is not" for it in sorted(shared.keys() - methods)),
    ]


def render(surface: Surface, codex_methods: Iterable[str] = CODEX_METHODS) -> str:
    """The table as Markdown."""
    rows = [(method, *_place(method, _shared(surface))) for method in sorted(codex_methods)]
    return "\n".join(_document(rows)) + "\n"


def _document(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    counts = Counter(state for _, state, _ in rows)
    yield "# Codex's methods, and where each stands here"
    yield ""
    yield f"Generated from the declarations in `protocol/`. The {len(rows)} methods are those that clients can send to"
    yield f"Codex {CODEX_VERSION}, experimental ones included. What this product adds is in [`v2.md`](v2.md)."
    yield ""
    yield "| state | methods | meaning |"
    yield "|---|---:|---|"
    for state, meaning in MEANINGS.items():
        yield f"| {state} | {counts[state]} | {meaning} |"
    yield ""
    yield "| method | state | remark |"
    yield "|---|---|---|"
    for method, state, remark in rows:
        yield f"| `{method}` | {state} | {remark} |"
    yield ""
    yield from ignored.section()


MEANINGS: Final = {
    Stage.READY.value: "does what it says",
    Stage.EMPTY.value: "the right shape with nothing in it: there is no such thing here",
    Stage.PLANNED.value: "declared; gets −32601 until it is there",
    ON_PURPOSE: "there will be no such thing here; the remark says why",
}


def _shared(surface: Surface) -> dict[str, ClientRequest[Any, Any]]:
    return {method: it for method, it in surface.requests.items() if it.origin is Origin.CODEX}


def _place(method: str, shared: Mapping[str, ClientRequest[Any, Any]]) -> tuple[str, str]:
    if method in shared:
        return shared[method].stage.value, "experimental" if shared[method].experimental else ""
    return ON_PURPOSE, " ".join(_reasons(method))


def _reasons(method: str) -> list[str]:
    return [reason for pattern, reason in REFUSED.items() if _fits(pattern, method)]


def _fits(pattern: str, method: str) -> bool:
    return method.startswith(pattern[:-1]) if pattern.endswith("*") else method == pattern
