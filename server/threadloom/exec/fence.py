"""From a policy of the protocol to the fence around one command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from threadloom.config import foreign, home
from threadloom.exec.base import Fence
from threadloom.exec.roots import within
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
        known = os.environ if environ is None else environ
        roots = tuple(dict.fromkeys(_roots(policy, cwd, known)))
        return Fence("workspace-write", roots, policy.network_access, _kept(roots, known))
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


def _kept(roots: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The homes, in which rights and decisions are written down; but for one that holds what is to be worked on."""
    homes = [str(place) for place in (home(environ), foreign(environ)) if place is not None]
    return tuple(place for place in homes if not any(within([place], root) for root in roots))
