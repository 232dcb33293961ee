"""From a policy of the protocol to the fence around one command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from threadloom.exec.base import Fence
from threadloom_protocol.v2.values.policy import (
    ReadOnlySandboxPolicy,
    SandboxPolicy,
    WorkspaceWriteSandboxPolicy,
)


def fence_of(policy: SandboxPolicy, cwd: str, environ: Mapping[str, str] | None = None) -> Fence:
    """The fence that a policy means for a command in `cwd`; `environ` tells its TMPDIR, by default the server's."""
    if isinstance(policy, ReadOnlySandboxPolicy):
        return Fence("read-only", network=policy.network_access)
    if isinstance(policy, WorkspaceWriteSandboxPolicy):
        roots = _roots(policy, cwd, os.environ if environ is None else environ)
        return Fence("workspace-write", tuple(dict.fromkeys(roots)), policy.network_access)
    # An external sandbox is somebody else's fence: ours inside it would only break it.
    return Fence("danger-full-access", network=True)


def _roots(policy: WorkspaceWriteSandboxPolicy, cwd: str, environ: Mapping[str, str]) -> Iterator[str]:
    yield os.path.abspath(cwd)
    yield from (os.path.abspath(os.path.join(cwd, root)) for root in policy.writable_roots)
    if not policy.exclude_slash_tmp:
        yield "/tmp"  # noqa: S108 - the folder that the policy names
    tmpdir = environ.get("TMPDIR", "")
    if os.path.isabs(tmpdir) and not policy.exclude_tmpdir_env_var:
        yield os.path.abspath(tmpdir)
