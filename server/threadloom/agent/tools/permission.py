"""What a command may do unasked: run inside its fence, wait for a word, or not run at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from threadloom.exec.base import Fence, Kind
from threadloom.exec.sandbox.guards import in_repository, linked
from threadloom_protocol.v2.values.policy import AskForApproval, GranularAskForApproval

SHOWN: Final = 5  # paths that a sentence names

OPEN: Final = Fence("danger-full-access", network=True)

NEVER: Final = (
    "Not run: it would need an approval, and this thread's approval policy lets nobody be asked. "
    "Do it inside the sandbox, or another way."
)
EXPOSED_GIT: Final = "The sandbox of this machine cannot keep the repository's .git from being changed."
EXPOSED_MODES: Final = (
    "The sandbox of this machine cannot keep the modes and times of files outside of the workspace from being changed."
)
LINKED: Final = "{} is a link: no sandbox can keep a command from putting another in its place."
CLOSED: Final = "Not done: this agent may only read, and nobody can let it do more. Tell whoever asked for it."


class Run(NamedTuple):
    """Unasked, inside this fence."""

    fence: Fence


class Ask(NamedTuple):
    """Inside this fence, once somebody has said yes."""

    fence: Fence
    reason: str | None = None


class Refuse(NamedTuple):
    """Not at all."""

    why: str


class Wish(NamedTuple):
    """A command, as the policy looks at it."""

    argv: Sequence[str]
    fence: Fence  # of the thread
    cwd: str  # where it would run
    escalated: bool = False  # the model wants out of the fence
    justification: str | None = None
    elsewhere: bool = False  # not in the thread's own folder


class Walls(NamedTuple):
    """What the sandbox of this machine can do."""

    kind: Kind
    guards_git: bool  # and what else takes mounts of its own: see `Host.guards_git`


def verdict(policy: AskForApproval, wish: Wish, walls: Walls, *, asked: bool = False) -> Run | Ask | Refuse:
    """What becomes of a wish. What somebody was `asked` already waits for their answer, whatever has changed since."""
    question = _question(policy, wish, walls)
    if question is None:
        return Ask(wish.fence) if asked else Run(wish.fence)
    return question if asked or may_ask(policy) else Refuse(NEVER)


def _question(policy: AskForApproval, wish: Wish, walls: Walls) -> Ask | None:
    """What somebody has to be asked, if anything."""
    fenced = wish.fence.mode != "danger-full-access"
    if wish.escalated and fenced:
        return Ask(OPEN, wish.justification)
    leak = _leak(wish, walls)
    if policy == "never" and leak is None:
        return None
    from threadloom.exec.shell.danger import is_dangerous
    from threadloom.exec.shell.safe import is_safe

    if is_safe(wish.argv, elsewhere=wish.elsewhere):
        return None
    if leak is not None:
        return Ask(wish.fence, leak)
    if policy == "untrusted" or is_dangerous(wish.argv):
        return Ask(wish.fence, wish.justification)
    return None


def _leak(wish: Wish, walls: Walls) -> str | None:
    """What the sandbox would let be changed though the fence says no: there are no mounts of its own, or a link."""
    if wish.fence.mode != "workspace-write" or walls.kind == "none":
        return None
    if not walls.guards_git:
        return EXPOSED_GIT if in_repository(wish.fence, wish.cwd) else EXPOSED_MODES
    link = linked(wish.fence, wish.cwd)
    return None if link is None else LINKED.format(link)


def may_ask(policy: AskForApproval) -> bool:
    """Whether somebody may be asked to let a command out of its fence."""
    if isinstance(policy, GranularAskForApproval):
        return policy.granular.sandbox_approval
    return policy != "never"


def patch_verdict(policy: AskForApproval, fence: Fence, outside: Sequence[str]) -> Run | Ask | Refuse:
    """What becomes of a patch that would write to these paths `outside` of the fence, or to none."""
    question = _patch_question(policy, fence, outside)
    if question is None:
        return Run(fence)
    return question if may_ask(policy) else Refuse(_unwritable(outside))


def _patch_question(policy: AskForApproval, fence: Fence, outside: Sequence[str]) -> Ask | None:
    if outside and fence.mode == "read-only":
        return Ask(fence, "The sandbox is read-only: no file may be changed unasked.")
    if outside:
        return Ask(fence, f"Outside of what may be changed unasked: {_few(outside)}.")
    return Ask(fence) if policy == "untrusted" else None


def _unwritable(outside: Sequence[str]) -> str:
    return (
        f"Not applied, and no file has changed: {_few(outside)} may not be written in this sandbox, and this thread's "
        "approval policy lets nobody be asked. Stay inside the sandbox, or tell the user what is to be changed."
    )


def _few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more
