"""The birth of an agent, or of a sub-session, as its parent orders it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadloom.agent.collab.base import SpawnOrder
from threadloom.threads.birth import Birth
from threadloom_protocol.v2.values.genealogy import CallbackConfig, SpawnConfig, SpawnPoint
from threadloom_protocol.v2.values.policy import ReadOnlySandboxPolicy
from threadloom_protocol.v2.values.sources import OtherSubAgentSource, SubAgentSessionSource

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread


def ordered(parent: Thread, order: SpawnOrder) -> Birth:
    """What an agent starts from: its parent's own, but for what was ordered."""
    rest = parent.state.rest
    settings = rest.settings.model_copy(
        update={
            "model": order.model,
            "model_provider": order.model_provider,
            "effort": order.reasoning_effort,
            "sandbox_policy": order.sandbox,
            "active_permission_profile": None,
            "cwd": order.cwd,
            **({"approval_policy": "never"} if order.kind == "subSession" else {}),
        }
    )
    own = order.kind == "subSession"  # it starts from its own context alone
    point = order.spawn_point
    return Birth(
        settings=settings,
        owner=parent.id,
        base_instructions=order.prompt if own else rest.base_instructions,
        developer_instructions=None if own else order.prompt,
        config=rest.config,
        note=order.note,
        originator=rest.thread.originator,
        source=None
        if order.kind == "agent"
        else SubAgentSessionSource(sub_agent=OtherSubAgentSource(other=order.kind)),
        role=order.agent_type,
        nickname=order.agent_name,
        spawn_config=_config(parent, order),
        spawn_point=None if point is None else SpawnPoint(turn_id=point[0], item_index=point[1]),
        facts={"policy": order.policy.to_json(), "input": list(order.content), "callId": order.call_id},
    )


def _config(parent: Thread, order: SpawnOrder) -> SpawnConfig:
    policy = order.policy
    return SpawnConfig(
        kind=order.kind,
        agent_type=order.agent_type,
        agent_name=order.agent_name,
        model=order.model,
        reasoning_effort=order.reasoning_effort,
        working_directory=order.cwd,
        read_only=policy.read_only or isinstance(order.sandbox, ReadOnlySandboxPolicy),
        allow_list=list(policy.allow[-1]) if policy.allow else None,
        deny_list=list(policy.deny),
        on_parent_close=order.on_parent_close,
        callback_config=order.callback or parent.state.rest.callback or CallbackConfig(),
    )
