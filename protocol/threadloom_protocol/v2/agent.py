"""Agents, for clients: which kinds there are, which are at work, and how to start and address one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, Origin
from threadloom_protocol.v2.values.common import ReasoningEffort
from threadloom_protocol.v2.values.content import UserInput
from threadloom_protocol.v2.values.genealogy import CallbackConfig, OnParentClose
from threadloom_protocol.v2.values.status import CollabAgentStatus
from threadloom_protocol.v2.values.threads import Thread

# Where a template was found; the first of the three wins.
AgentSource = TypeAliasType("AgentSource", Literal["project", "user", "builtIn"])

# Owned directly, owned at any depth, or anywhere in the tree.
AgentScope = TypeAliasType("AgentScope", Literal["children", "descendants", "all"])


class AgentListParams(Params):
    """List the kinds of agents that can be spawned from a directory (the server's own by default).

    `agentType` asks for one kind; `expanded` adds the prompts.
    """

    cwd: str | None = None
    agent_type: str | None = None
    expanded: bool = False


class AgentPersona(Value):
    """A named variant of a kind of agent. `prompt` only if it was asked for."""

    name: str
    description: str | None
    model: str | None
    reasoning_effort: ReasoningEffort | None
    prompt: str | None


class AgentTemplate(Value):
    """A kind of agent. `allowList` null means every tool; `defaultPrompt` only if it was asked for."""

    agent_type: str
    description: str
    source: AgentSource
    path: str | None
    model: str | None
    model_provider: str | None
    reasoning_effort: ReasoningEffort | None
    read_only: bool
    allow_list: list[str] | None
    deny_list: list[str]
    agent_names: list[AgentPersona]
    default_prompt: str | None


class AgentTemplateError(Value):
    """A template that was skipped, and why."""

    path: str
    message: str


class AgentListResponse(Result):
    """The catalogue, and what in it could not be read."""

    data: list[AgentTemplate]
    errors: list[AgentTemplateError]


class AgentActiveParams(Params):
    """List the agents that a thread owns. Those at rest count, for they take input; `includeClosed` adds the others."""

    thread_id: str
    scope: AgentScope = "children"
    include_closed: bool = False


class ActiveAgent(Value):
    """A spawned agent as it is at this moment."""

    thread_id: str
    parent_thread_id: str | None
    depth: UInt
    name: str | None
    note: str | None
    agent_type: str | None
    agent_name: str | None
    status: CollabAgentStatus
    status_duration_sec: UInt
    model: str | None
    reasoning_effort: ReasoningEffort | None
    updated_at: int


class AgentActiveResponse(Result):
    """Parents before their children."""

    data: list[ActiveAgent]


class AgentSpawnParams(Params):
    """Spawn an agent that a thread will own, and give it its first input.

    What is left out comes from the persona, then from the template, then from the parent. A child has never more
    rights than its parent. Without `note` it gets one that says what it is.
    """

    thread_id: str
    input: list[UserInput]
    agent_type: str | None = None
    agent_name: str | None = None
    model: str | None = None
    reasoning_effort: ReasoningEffort | None = None
    working_directory: str | None = None
    note: str | None = None
    on_parent_close: OnParentClose = "cancel"
    callback_config: CallbackConfig | None = None


class AgentSpawnResponse(Result):
    """The child; its first turn is under way."""

    thread: Thread


class AgentSendInputParams(Params):
    """Say something to an agent: joins its running turn, or starts one if it is at rest.

    With `interrupt` the running turn ends first. The same `clientUserMessageId` again gets the first answer again.
    """

    thread_id: str
    input: list[UserInput] = Field(min_length=1)
    interrupt: bool = False
    client_user_message_id: str | None = None


class AgentSendInputResponse(Result):
    """The input is in the agent's log under this id."""

    submission_id: str


LIST = ClientRequest("agent/list", AgentListParams, AgentListResponse, origin=Origin.OURS)
ACTIVE = ClientRequest("agent/active", AgentActiveParams, AgentActiveResponse, origin=Origin.OURS)
SPAWN = ClientRequest("agent/spawn", AgentSpawnParams, AgentSpawnResponse, origin=Origin.OURS)
SEND_INPUT = ClientRequest("agent/sendInput", AgentSendInputParams, AgentSendInputResponse, origin=Origin.OURS)
