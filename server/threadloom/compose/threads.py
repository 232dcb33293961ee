"""The threads of a home, with all that they stand on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyio.abc import TaskGroup

from threadloom.agent.collab.spawning import Nursery
from threadloom.agent.loop import Loop
from threadloom.agent.models.base import Catalog
from threadloom.compose.commands import policy
from threadloom.compose.models import model_of
from threadloom.compose.tools import tools
from threadloom.config import Settings
from threadloom.config.load import Configuration
from threadloom.config.loaded import Loaded
from threadloom.config.values import Config
from threadloom.exec.launch import Host
from threadloom.rounds import Rounds
from threadloom.store.memory import MemoryStore
from threadloom.store.rollout import Rollouts
from threadloom.threads.context.documents import Places
from threadloom.threads.context.rules import BASE, PATIENCE, SUMMARIZE, Rules
from threadloom.threads.defaults import Defaults, here, plain
from threadloom.threads.manager import Manager
from threadloom_protocol.v2.settings import ThreadSettings


def threads(
    settings: Settings,
    configuration: Configuration,
    models: Catalog,
    tasks: TaskGroup,
    host: Host,
    nursery: Nursery,
) -> Manager:
    """The threads of a home."""
    logs = Rollouts(settings.home)
    homes = tuple(it for it in (settings.home, settings.foreign) if it is not None)

    def loaded(cwd: str, own: Mapping[str, Any] | None) -> Loaded:
        return configuration.load(cwd, own) if own else configuration.recent(cwd)

    def start(cwd: str | None, overrides: Mapping[str, Any] | None) -> ThreadSettings:
        return _settings(loaded(cwd or here(), overrides).config, cwd)

    def made(cwd: str, own: Mapping[str, Any] | None, model: str, provider: str) -> Rules:
        return _rules(loaded(cwd, own), homes, models.window(model, provider))

    usual = Rounds(lambda cwd, model, provider: made(cwd, None, model, provider))

    def rules(of: ThreadSettings, own: Mapping[str, Any]) -> Rules:
        return made(of.cwd, own, of.model, of.model_provider) if own else usual(of.cwd, of.model, of.model_provider)

    return Manager(
        logs,
        MemoryStore(logs),
        Loop(models.model),
        tasks,
        Defaults(start, models.vouch),
        {tool.name: tool for tool in tools(configuration, models, host, nursery)},
        rules=rules,
        limits=lambda cwd, own: loaded(cwd, own).config.agents,
        patient=settings.patient,
    )


def _settings(config: Config, cwd: str | None) -> ThreadSettings:
    model = model_of(config)
    return plain(
        model.id,
        model.provider,
        cwd,
        approval_policy=config.approval_policy,
        approvals_reviewer=config.approvals_reviewer,
        sandbox_policy=policy(config),
        effort=config.model_reasoning_effort,
        summary=config.model_reasoning_summary,
        personality=config.personality,
        service_tier=config.service_tier,
    )


def _rules(loaded: Loaded, homes: tuple[Path, ...], window: int | None) -> Rules:
    config = loaded.config
    return Rules(
        places=Places(
            homes=homes,
            max_bytes=config.project_doc_max_bytes,
            fallbacks=config.project_doc_fallback_filenames,
            markers=config.project_root_markers,
        ),
        base_instructions=loaded.base_instructions or BASE,
        developer_instructions=config.developer_instructions,
        context_window=config.model_context_window or window,
        compact_limit=config.model_auto_compact_token_limit,
        compact_prompt=loaded.compact_prompt or SUMMARIZE,
        verbosity=config.model_verbosity,
        output_tokens=config.tool_output_token_limit,
        review_model=config.review_model,
        patience=PATIENCE if config.approval_timeout_secs is None else config.approval_timeout_secs,
    )
