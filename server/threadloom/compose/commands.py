"""What commands start from, as it is configured: their variables and their fence."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from anyio.abc import TaskGroup

from threadloom.config.load import Configuration
from threadloom.config.values import Config
from threadloom.exec.environment import NONE, environment
from threadloom.exec.errands import Errands
from threadloom.exec.launch import Host
from threadloom.threads.defaults import fence
from threadloom_protocol.v2.values.policy import SandboxPolicy, WorkspaceWriteSandboxPolicy


def errands(configuration: Configuration, host: Host, tasks: TaskGroup, present: Callable[[object], bool]) -> Errands:
    """The commands of clients."""
    return Errands(
        host,
        tasks,
        partial(variables, configuration),
        lambda cwd: policy(configuration.recent(cwd).config),
        present,
    )


def variables(configuration: Configuration, cwd: str, extra: Mapping[str, str] = NONE) -> dict[str, str]:
    """The variables of commands in a folder."""
    config = configuration.recent(cwd).config
    secrets = [it.env_key for it in config.model_providers.values() if it.env_key]
    return environment(os.environ, config.shell_environment_policy, secrets=secrets, extra=extra)


def policy(config: Config) -> SandboxPolicy:
    """The fence around commands, unless somebody asks for another."""
    chosen = fence(config.sandbox_mode)
    if not isinstance(chosen, WorkspaceWriteSandboxPolicy):
        return chosen
    asked = config.sandbox_workspace_write
    return chosen.model_copy(
        update={
            "writable_roots": list(asked.writable_roots),
            "network_access": asked.network_access,
            "exclude_tmpdir_env_var": asked.exclude_tmpdir_env_var,
            "exclude_slash_tmp": asked.exclude_slash_tmp,
        }
    )
