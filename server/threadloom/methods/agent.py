"""Agents, for clients: which kinds there are, which are at work, and how to start and address one."""

from __future__ import annotations

from typing import Final

import orjson

from threadloom.agent.collab.spawning import Wanted, born
from threadloom.agent.collab.validate import Refused
from threadloom.agent.sampling import Item
from threadloom.agent.templates.base import Persona, Source, Template, UnknownTemplate
from threadloom.routes import Context, answers
from threadloom.threads.defaults import absolute
from threadloom.threads.speech import ready_to_hear, speak
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import agent
from threadloom_protocol.v2.values.content import UserInput
from threadloom_protocol.v2.values.items import UserMessageThreadItem

_SOURCES: Final[dict[Source, agent.AgentSource]] = {"project": "project", "user": "user", "built-in": "builtIn"}


@answers(agent.LIST)
async def list_agents(ctx: Context, params: agent.AgentListParams) -> agent.AgentListResponse:
    """The catalogue of a directory, and what of it cannot be used."""
    catalog = ctx.nursery.catalogs(absolute(params.cwd or "."))
    found = catalog.look()
    try:
        kinds = found.templates if params.agent_type is None else [catalog.get(params.agent_type)]
    except UnknownTemplate as unknown:
        raise InvalidRequest(str(unknown)) from unknown
    return agent.AgentListResponse(
        data=[_kind(it, params.expanded) for it in kinds],
        errors=[agent.AgentTemplateError(path=it.path, message=it.reason) for it in found.faults],
    )


def _kind(template: Template, expanded: bool) -> agent.AgentTemplate:
    return agent.AgentTemplate(
        agent_type=template.name,
        description=template.description,
        source=_SOURCES[template.source],
        path=template.path or None,
        model=template.model,
        model_provider=template.model_provider,
        reasoning_effort=template.reasoning_effort,
        read_only=template.read_only,
        allow_list=None if template.allow_list is None else list(template.allow_list),
        deny_list=list(template.deny_list),
        agent_names=[_persona(it, expanded) for it in template.personas],
        default_prompt=template.prompt if expanded else None,
    )


def _persona(persona: Persona, expanded: bool) -> agent.AgentPersona:
    return agent.AgentPersona(
        name=persona.name,
        description=persona.description,
        model=persona.model,
        reasoning_effort=persona.reasoning_effort,
        prompt=persona.prompt if expanded else None,
    )


@answers(agent.ACTIVE)
async def active(ctx: Context, params: agent.AgentActiveParams) -> agent.AgentActiveResponse:
    """The agents of a thread, as they stand now."""
    await ctx.readable()
    ctx.threads.row(params.thread_id)
    now = ctx.threads.clock()
    found = ctx.threads.branch(params.thread_id).active(params.scope, include_closed=params.include_closed)
    return agent.AgentActiveResponse(
        data=[
            agent.ActiveAgent(
                status_duration_sec=max(0, now - it.since) // 1000,
                **{name: value for name, value in it._asdict().items() if name != "since"},
            )
            for it in found
        ]
    )


@answers(agent.SPAWN)
async def spawn(ctx: Context, params: agent.AgentSpawnParams) -> agent.AgentSpawnResponse:
    """Start an agent. A client may have it work anywhere: it is the user who asks."""
    if not params.input:
        raise InvalidRequest("input must not be empty")
    threads = await ctx.stored()
    threads.row(params.thread_id)
    tree = threads.branch(params.thread_id)
    wanted = Wanted(
        _items(params.input),
        params.agent_type,
        params.agent_name,
        params.working_directory,
        params.model,
        params.reasoning_effort,
        params.note,
        on_parent_close=params.on_parent_close,
        callback=params.callback_config,
    )
    try:
        made = born(tree, await ctx.nursery.ready(tree, wanted))
    except Refused as refusal:
        raise InvalidRequest(str(refusal)) from refusal
    await threads.settled()
    return agent.AgentSpawnResponse(thread=threads.reader.view(made))


def _items(content: list[UserInput]) -> list[Item]:
    return [orjson.loads(it.to_json()) for it in content]


@answers(agent.SEND_INPUT)
async def send_input(ctx: Context, params: agent.AgentSendInputParams) -> agent.AgentSendInputResponse:
    """Say something to an agent; what is sent again is not said again."""
    it = (await ctx.stored()).get(params.thread_id)
    client_id = params.client_user_message_id
    files = await ready_to_hear(it, params.input, interrupt=params.interrupt, client_id=client_id)
    if (turn_id := it.known_turn(client_id)) is not None:  # maybe over another connection, while this one waited
        return agent.AgentSendInputResponse(submission_id=await _known(ctx, it, turn_id, client_id))
    submission = speak(it, params.input, files, client_id)
    await ctx.threads.settled()
    return agent.AgentSendInputResponse(submission_id=submission)


async def _known(ctx: Context, it: Thread, turn_id: str, client_id: str | None) -> str:
    """The item of a message that came before."""
    await ctx.threads.settled()
    entries = ctx.threads.reader.items(it.id, turn_id=turn_id)
    return next(
        (
            entry.item.id
            for entry in entries
            if isinstance(entry.item, UserMessageThreadItem) and entry.item.client_id == client_id
        ),
        turn_id,
    )
