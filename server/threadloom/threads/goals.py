"""The goal of a thread: turns follow one another until it is reached, given up, or too dear."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from threadloom.agent.base import Batch
from threadloom.agent.history import CALLS, user_item
from threadloom.agent.sampling import Item
from threadloom.events import Aside, Emission
from threadloom.log import logger
from threadloom.store.base import StoreError
from threadloom.threads import say
from threadloom.threads.recall import GOAL
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.goal import ThreadGoal, ThreadGoalSetParams, ThreadGoalStatus
from threadloom_protocol.v2.turn import ThreadTokenUsageUpdatedNotification, TokenUsageBreakdown
from threadloom_protocol.v2.values.turns import TurnError

if TYPE_CHECKING:
    from threadloom.threads.running import Running
    from threadloom.threads.thread import Thread

log = logger(__name__)

LONGEST: Final = 4000  # characters of an objective; more belongs in a file that it names
IDLE: Final = 10  # turns in a row without any work after which nothing more will come of a goal
TOOLS: Final = frozenset({"get_goal", "create_goal", "update_goal"})  # to use these is no work

_GO_ON: Final = """\
Go on with the goal of this thread. It was set by the person you work for:

<objective>
{objective}
</objective>

{spent}

- Look at how things stand now, and take the next step that brings the goal nearer. Keep to all of it: something \
smaller or easier is not the goal.
- It outlives this turn: what you do not finish now, you can go on with in the next one, which comes by itself.
- Where you have seen for yourself that every part of it is done, and only then, call `update_goal` with `complete`.
- Where the same obstacle has kept you from any progress for three turns, and only the person can remove it, call \
`update_goal` with `blocked`, and say what is needed."""

_SPENT: Final = """\
The goal of this thread has used up its budget ({spent}). Begin nothing new for it. Say what has been reached, what is \
left to do, and what you would do next; then end this turn. Call `update_goal` only if the goal is in fact reached."""

_STUCK: Final = "The goal is blocked: in {turns} turns in a row, the agent has used no tool."


class Goals:
    """Of one thread: see `agent.base.Goals` for what its model may do with it."""

    def __init__(self, thread: Thread, clock: Callable[[], int]) -> None:
        self._thread = thread
        self._clock = clock
        self._since: int | None = None  # milliseconds: time is counted from here, while a turn runs
        self._worked = False  # the turn under way has used a tool
        self._idle = 0  # turns in a row that have not

    @property
    def goal(self) -> ThreadGoal | None:
        """What it is after."""
        return self._thread.state.rest.goal

    @property
    def active(self) -> bool:
        """Whether turns follow one another for it."""
        return self.goal is not None and self.goal.status == "active"

    # ── for people ────────────────────────────────────────────────────────────────────────────────────────────────

    def set(self, params: ThreadGoalSetParams) -> tuple[ThreadGoal, Callable[[], None]]:
        """Set it, or change it; it is stored, and what is returned with it shows it and goes to work."""
        self._thread.takes_work()
        goal = changed(self.goal, params, self._clock() // 1000)
        spent = self._thread.state.rest.goal_ms if goal.tokens_used or goal.time_used_seconds else 0
        show = self._thread.quietly(say.goal_updated(goal, None, spent))
        self._idle = 0

        def then() -> None:
            show()
            self.go_on()

        return goal, then

    def clear(self) -> Callable[[], None] | None:
        """Drop it; what is returned shows that. None where there was none."""
        return None if self.goal is None else self._thread.quietly(say.goal_cleared(self._thread.id))

    # ── for the model ─────────────────────────────────────────────────────────────────────────────────────────────

    def read(self) -> Item | None:
        """See `agent.base.Goals.read`."""
        return None if self.goal is None else _plain(self.goal)

    def create(self, objective: str, token_budget: int | None) -> Item:
        """See `agent.base.Goals.create`."""
        if self.goal is not None and self.goal.status != "complete":
            raise ValueError("This thread has a goal that is not complete. Only its status can be changed.")
        params = ThreadGoalSetParams(
            thread_id=self._thread.id, objective=objective, token_budget=token_budget, status="active"
        )
        try:
            goal = changed(None, params, self._clock() // 1000)
        except InvalidRequest as fault:
            raise ValueError(fault.message) from None
        self._since = self._clock()
        self._thread.emit(say.goal_updated(goal, self._turn_id, 0))
        return _plain(goal)

    def update(self, status: Literal["complete", "blocked", "paused"]) -> Item:
        """See `agent.base.Goals.update`."""
        if self.goal is None:
            raise ValueError("This thread has no goal.")
        if status == "paused" and self.goal.status == "budgetLimited":
            return _plain(self.goal)
        goal, told = self._counted(0, status)
        self._thread.emit(told)
        return _plain(goal)

    # ── turns ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def begun(self, *, asked: bool) -> None:
        """A turn begins, because a person asked for it or by itself."""
        self._since = self._clock()
        self._worked = False
        if asked:
            self._idle = 0

    def counted(self, batch: Batch) -> Batch:
        """A batch, and what its samplings have cost."""
        if self.goal is None:
            return batch
        self._worked = self._worked or any(_works(item) for it in batch for item in it.model or ())
        tokens = sum(map(_tokens, batch))
        if not tokens or self.goal.status not in ("active", "budgetLimited"):
            return batch
        goal, told = self._counted(tokens)
        if goal.status == self.goal.status:
            return [*batch, told]
        return [*batch, told, Aside([{"@": GOAL}, user_item(_SPENT.format(spent=_spent(goal)))])]

    def ended(self, status: str, error: TurnError | None) -> None:
        """A turn is about to end: one that failed leaves its goal blocked, and so do many that did nothing."""
        if self.active:
            self._idle = 0 if self._worked else self._idle + 1
            stuck = status == "completed" and self._idle >= IDLE
            if stuck:
                self._thread.emit(say.background(self._thread.id, _STUCK.format(turns=self._idle), "warning"))
            goal, told = self._counted(0, _after(error) if status == "failed" else "blocked" if stuck else None)
            if goal != self.goal:
                self._thread.emit(told)
        self._since = None

    def go_on(self) -> None:
        """Begin the next turn, where there is a goal to work for and nothing else to do."""
        if not self.active or self._thread.running is not None or self._thread.stopping:
            return
        try:
            self._thread.takes_work()
            running = self._thread.pursue(self._prompt())
        except (StoreError, InvalidRequest) as fault:
            log.warning("a goal waits", thread=self._thread.id, reason=str(fault))
        except Exception as fault:  # the supervisor's boundary: this goal waits, the server goes on
            log.error("a goal waits", thread=self._thread.id, exc_info=fault)
        else:
            running.show()

    def _prompt(self) -> Aside:
        assert self.goal is not None
        text = _GO_ON.format(objective=self.goal.objective, spent=f"Used so far: {_spent(self.goal)}.")
        return Aside([{"@": GOAL}, user_item(text)])

    # ── what it takes ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _turn_id(self) -> str | None:
        running: Running | None = self._thread.running or self._thread.ending
        return running.id if running else None

    def _counted(self, tokens: int, status: ThreadGoalStatus | None = None) -> tuple[ThreadGoal, Emission]:
        """The goal with what it has taken by now, and the record of that."""
        goal = self.goal
        assert goal is not None
        now, since = self._clock(), self._since
        ms = self._thread.state.rest.goal_ms + (0 if since is None else max(0, now - since))
        self._since = None if since is None else now
        used = goal.tokens_used + tokens
        spent = goal.status == "active" and goal.token_budget is not None and used >= goal.token_budget
        update: dict[str, Any] = {
            "tokens_used": used,
            "time_used_seconds": ms // 1000,
            "status": status or ("budgetLimited" if spent else goal.status),
        }
        new = goal.model_copy(update=update)
        if new != goal:
            new = new.model_copy(update={"updated_at": now // 1000})
        return new, say.goal_updated(new, self._turn_id, ms)


def changed(goal: ThreadGoal | None, params: ThreadGoalSetParams, at: int) -> ThreadGoal:
    """The goal that a request leads to; `at` is in seconds. Raises where it makes no sense."""
    objective = None if params.objective is None else params.objective.strip()
    if objective == "":
        raise InvalidRequest("goal objective must not be empty")
    if objective is not None and len(objective) > LONGEST:
        raise InvalidRequest(f"goal objective must be at most {LONGEST} characters")
    if params.token_budget is not None and params.token_budget <= 0:
        raise InvalidRequest("goal budgets must be positive when provided")
    if goal is None and objective is None:
        raise InvalidRequest(f"cannot update goal for thread {params.thread_id}: no goal exists")
    if goal is None or (goal.status == "complete" and objective not in (None, goal.objective)):
        goal = ThreadGoal(
            thread_id=params.thread_id,
            objective=objective or "",
            status=params.status or "active",
            token_budget=params.token_budget,
            tokens_used=0,
            time_used_seconds=0,
            created_at=at,
            updated_at=at,
        )
    update: dict[str, Any] = {"objective": objective or goal.objective, "status": params.status or goal.status}
    if "token_budget" in params.model_fields_set:
        update["token_budget"] = params.token_budget
    goal = goal.model_copy(update={**update, "updated_at": at})
    if goal.status == "active" and goal.token_budget is not None and goal.tokens_used >= goal.token_budget:
        return goal.model_copy(update={"status": "budgetLimited"})
    return goal


def _after(error: TurnError | None) -> ThreadGoalStatus:
    return "usageLimited" if error is not None and error.codex_error_info == "usageLimitExceeded" else "blocked"


def _tokens(it: Emission | Aside) -> int:
    """What a sampling has cost: input that the provider had at hand already is not counted."""
    if not isinstance(it, Emission) or not isinstance(it.event, ThreadTokenUsageUpdatedNotification):
        return 0
    last: TokenUsageBreakdown = it.event.token_usage.last
    return max(0, last.input_tokens - last.cached_input_tokens) + last.output_tokens


def _works(item: Item) -> bool:
    return item.get("type") in CALLS and item.get("name") not in TOOLS


def _spent(goal: ThreadGoal) -> str:
    budget = "" if goal.token_budget is None else f" of {goal.token_budget}"
    return f"{goal.tokens_used}{budget} tokens, {goal.time_used_seconds} seconds"


def _plain(goal: ThreadGoal) -> Item:
    plain: Item = orjson.loads(goal.to_json())
    return plain
