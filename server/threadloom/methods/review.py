"""Reviews: somebody else looks at the code, in a turn of the thread."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from threadloom.agent.collab.spawning import Wanted
from threadloom.agent.collab.validate import Refused
from threadloom.routes import Context, Then, answers
from threadloom.threads.review import Review
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import review
from threadloom_protocol.v2.values.content import TextUserInput
from threadloom_protocol.v2.values.items import UserMessageThreadItem
from threadloom_protocol.v2.values.turns import Turn

REVIEWER: Final = "reviewer"
SHA: Final = 7  # digits of a commit that people read


@answers(review.START)
async def start(ctx: Context, params: review.ReviewStartParams) -> Then[review.ReviewStartResponse]:
    """Begin a turn in which the reviewer works."""
    title, prompt = _asked(params.target)
    it = (await ctx.stored()).get(params.thread_id)
    try:
        wanted = Wanted([], REVIEWER, kind="review")
        _, _, spawn = await ctx.nursery.settle(ctx.threads.branch(it.id), wanted)
        spawn = replace(spawn, model=it.rules.review_model or spawn.model)
    except Refused as refusal:
        raise InvalidRequest(str(refusal)) from refusal
    await it.ended()
    it.takes_work()
    if it.running is not None:
        raise InvalidRequest("a turn is under way: wait for its end, or interrupt it")
    running = Review(it, spawn, title, prompt).begin()
    shown = UserMessageThreadItem(id=running.id, content=[TextUserInput(text=title)])
    view = Turn(id=running.id, items=[shown], status="inProgress", items_view="notLoaded")
    return Then(review.ReviewStartResponse(turn=view, review_thread_id=it.id), running.show)


def _asked(target: review.ReviewTarget) -> tuple[str, str]:
    """What is to be reviewed, in a few words, and as the reviewer is told. Raises where it is nothing."""
    match target:
        case review.UncommittedChangesReviewTarget():
            return "current changes", (
                "Review what is not committed yet in the current folder: staged, unstaged and untracked files. Give "
                "your findings, the gravest first."
            )
        case review.BaseBranchReviewTarget(branch=branch):
            name = _given("branch", branch)
            return f"changes against '{name}'", (
                f"Review what the current branch changes against the branch '{name}': find where they part with "
                f"`git merge-base HEAD {name}`, and look at `git diff` from there. Give your findings, the gravest "
                "first."
            )
        case review.CommitReviewTarget(sha=sha, title=title):
            commit = _given("sha", sha)
            named = f" (“{title}”)" if title else ""
            return (
                f"commit {commit[:SHA]}: {title}" if title else f"commit {commit[:SHA]}",
                f"Review what the commit {commit}{named} changes. Give your findings, the gravest first.",
            )
        case review.CustomReviewTarget(instructions=instructions):
            asked = _given("instructions", instructions)
            return asked, asked


def _given(name: str, value: str) -> str:
    if not value.strip():
        raise InvalidRequest(f"{name} must not be empty")
    return value.strip()
