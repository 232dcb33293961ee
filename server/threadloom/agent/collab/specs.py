"""The tools for agents, as the model is told of them."""

from __future__ import annotations

from typing import Final

from threadloom.agent.collab.validate import WAIT_LEAST, WAIT_MOST, WAIT_USUAL
from threadloom.agent.sampling import Item
from threadloom.agent.tools.spec import function, text, values

_TEXT: Final[Item] = {"type": "string"}
_FLAG: Final[Item] = {"type": "boolean"}


def _flag(description: str) -> Item:
    return {**_FLAG, "description": description}


_AGENT: Final = text("The agent's id, as spawn_agent gave it.")
_SESSION: Final = text("The session's id, as create_session gave it.")
_SAYING: Final[Item] = {
    "message": text("What to tell it, in words. Give this or `items`, not both."),
    "items": {
        "type": "array",
        "description": "What to tell it, in parts. Give this or `message`, not both.",
        "items": values(
            {
                "type": {"type": "string", "enum": ["text", "image", "local_image", "skill", "mention"]},
                "text": text("Of a text."),
                "image_url": text("Of an image: a data URL."),
                "path": text("Of a local_image, a skill or a mention."),
                "name": text("Of a skill or a mention."),
            },
            "type",
        ),
    },
}
_CALLBACK: Final[Item] = {
    "type": "object",
    "description": "Whether and how it reports to you when it comes to rest. As you do yourself, if not given.",
    "properties": {
        "enabled": _flag("Whether it reports at all."),
        "include_last_message": _flag("With its last message. On by default."),
        "include_original_prompt": _flag("With what it was told at first. Off by default."),
        "template": text("The text of a report, in Handlebars."),
        "coalesce": {
            "type": "object",
            "description": "Gathers several reports into one.",
            "properties": {"window_ms": {"type": "integer"}, "max": {"type": "integer"}},
            "required": ["window_ms", "max"],
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}

SPAWN_AGENT: Final = function(
    "spawn_agent",
    "Start an agent that works on its own beside you, on a task that you give it in full: it sees nothing of your "
    "conversation. It belongs to you and ends with you. Answers at once with its `agent_id`; `wait` for what it says.",
    {
        **_SAYING,
        "agent_type": text("What kind of agent: see list_agents. As you are, if not given."),
        "agent_name": text("Which persona of that kind."),
        "working_directory": text("Where it works; where you do, if not given. Elsewhere, the user is asked."),
        "model": text("The model it runs on. The kind's, or yours, if not given."),
        "reasoning_effort": text("How much it thinks. The kind's, or yours, if not given."),
        "thread_note": text("A line for people to read beside it. What it is, if not given."),
        "callback": _CALLBACK,
        "on_parent_close": {
            "type": "string",
            "enum": ["cancel", "abandon"],
            "description": "What becomes of it when you are closed: it ends (the default), or goes on without you.",
        },
    },
)
SEND_INPUT: Final = function(
    "send_input",
    "Tell an agent something. It joins what the agent is doing, or sets it to work again where it was at rest.",
    {"id": _AGENT, **_SAYING, "interrupt": _flag("End what it is doing first. Off by default.")},
    "id",
)
WAIT: Final = function(
    "wait",
    "Wait until one of these agents is at rest, and learn what it said. Those that are at rest already count. "
    "`timed_out` is true where none was in time; they work on.",
    {
        "ids": {"type": "array", "items": _TEXT, "description": "The agents' ids; at least one."},
        "timeout_ms": {
            "type": "integer",
            "description": f"Milliseconds, from {WAIT_LEAST} to {WAIT_MOST}; {WAIT_USUAL} if not given. Rather wait "
            "long than ask often.",
        },
    },
    "ids",
)
RESUME_AGENT: Final = function(
    "resume_agent",
    "Take up an agent that was closed, with the agents that were closed with it. Nothing happens to one that is open.",
    {"id": _AGENT},
    "id",
)
CLOSE_AGENT: Final = function(
    "close_agent",
    "End an agent and every agent it has started, when you need it no more. Its work stays.",
    {"id": _AGENT},
    "id",
)
LIST_AGENTS: Final = function(
    "list_agents",
    "The kinds of agents that spawn_agent can start, with the tools they may and may not use.",
    {
        "agent_type": text("Only this kind."),
        "expanded": _flag("With models, efforts and prompts. Off by default."),
    },
)
LIST_ACTIVE_AGENTS: Final = function(
    "list_active_agents",
    "The agents that were started and how each stands. Those at rest are listed, too: they wait for input.",
    {
        "scope": {
            "type": "string",
            "enum": ["children", "descendants", "all"],
            "description": "Those you have started (the default), those below them as well, or all of your tree.",
        },
        "include_tree": _flag("With parent_thread_id and depth. Off by default."),
        "include_closed": _flag("With those that are closed. Off by default."),
    },
)
SET_THREAD_NOTE: Final = function(
    "set_thread_note",
    "Pin a line to an agent, for people to read. A blank one takes it away.",
    {"id": _AGENT, "note": text("At most 500 characters.")},
    "id",
    "note",
)
READ_AGENT: Final = function(
    "read_agent",
    "All that an agent has said in one of its turns, in pieces where that is long.",
    {
        "id": _AGENT,
        "turn_id": text("Which turn; the last one if not given."),
        "offset": {"type": "integer", "description": "From which character on: `next_offset` of the last piece."},
        "limit": {"type": "integer", "description": "How many characters at most."},
    },
    "id",
)

CREATE_SESSION: Final = function(
    "create_session",
    "Start a session of its own for a task that stands by itself. It sees nothing of your conversation, asks nobody "
    "anything, and leaves one message. Answers at once with its `session_id`; get the message with wait_session.",
    {
        "session_type": text("What kind of session: tester, mathematician, linter_fixer, default; see list_agents."),
        "prompt": text("The task, in full."),
    },
    "session_type",
    "prompt",
)
WAIT_SESSION: Final = function(
    "wait_session",
    "The last message of a session, once it has ended.",
    {
        "session_id": _SESSION,
        "timeout_ms": {
            "type": "integer",
            "description": "Milliseconds to wait for its end; 0 or less does not wait, and fails where it has not.",
        },
    },
    "session_id",
    "timeout_ms",
)
CANCEL_SESSION: Final = function(
    "cancel_session",
    "End a session before it has ended by itself. `cancelled` is false where it had.",
    {"session_id": _SESSION},
    "session_id",
)
