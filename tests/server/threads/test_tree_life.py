"""Any life of any tree: whatever happens in whatever order, nothing is lost, and nothing outlives its owner."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.support.census import come, gone, marked
from tests.support.counts import count
from tests.support.tree_logs import Told, conserved, logs
from tests.support.tree_nursery import Nursery, Server, nursing

from threadloom.threads.stopping import GRACE, LAST

KILLED = -9
STEPS = 20  # of a run
CLOCK = (GRACE + LAST) * 1000  # milliseconds that a close may take
STAYING = 2  # processes of a command

# Two processes that mind no TERM; one of them is in a session of its own, where no group or terminal reaches it.
UNRULY = """\
export LOOM={mark}; trap '' TERM HUP INT
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
echo ready; exec sleep 1000"""


class Prompt(NamedTuple):
    """What an agent is asked."""

    text: str
    within: bool | None = None  # it runs a command: its turn waits for that, or leaves it to itself


def spoken(prompt: Prompt, mark: str) -> str:
    """As the rehearsal takes it."""
    if prompt.within is None:
        return prompt.text
    order = {"cmd": UNRULY.format(mark=mark), "login": False, "yield_time_ms": 30_000 if prompt.within else 250}
    return f"call exec_command {json.dumps(order)}\n{prompt.text}"


place = st.integers(0, 30)
cuts = st.none() | st.integers(1, 25)  # records until the server ends, of whatever is written from then on
prompts = st.sampled_from(
    [
        *map(Prompt, ["wait", "wait", "say 3 words", "fail", "stubborn 1", "stubborn 5.5", "stubborn 100"]),
        Prompt("wait", within=True),
        Prompt("echo It runs on.", within=False),
    ]
)


births = st.lists(st.tuples(place, prompts, st.booleans()), min_size=1, max_size=10)


class Tree(RuleBasedStateMachine):
    """A tree, and what must be true of it. What was answered has happened; what was cut short may have."""

    def __init__(self, nursery: Nursery) -> None:
        super().__init__()
        self.nursery = nursery
        self.room = Path(tempfile.mkdtemp(prefix="tree-"))
        self.born: dict[str, str | None] = {}  # id → who spawned it
        self.mark = f"loom-{secrets.token_hex(8)}"
        self.runs: dict[str, str] = {}  # mark → the thread whose command carries it
        self.marks = 0
        self.armed = False  # the server will end in the middle of something
        self.server: Server = nursery.born(self.room)

    @initialize(births=births)
    def grow(self, births: list[tuple[int, Prompt, bool]]) -> None:
        self.tried("begin")
        root = self.tried("root", cwd=str(self.room))
        assert root is not None
        self.born[root["id"]] = None
        for at, prompt, abandon in births:
            self._spawn(at, prompt, abandon=abandon)

    def teardown(self) -> None:
        try:
            self.server.kill()
            assert self.server.buried() == KILLED
            anyio.run(gone, (), self.mark)
            conserved(self.logs())
            assert "Traceback" not in self.errors
        finally:
            shutil.rmtree(self.room)

    @property
    def errors(self) -> str:
        return (self.room / "stderr.log").read_text()

    # ── lives ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def tried(self, deed: str, **wanted: Any) -> dict[str, Any] | None:
        """What came of a deed; none where the server ended in the middle of it, and another is there now."""
        answer = self.server.ask(deed, wanted)
        if answer is None:
            assert self.armed, self.errors
            self.again(spawning=wanted["parent"] if deed == "spawn" else None)
            return None
        assert "fault" not in answer, answer["fault"]
        return answer

    def again(self, *, spawning: str | None = None, cut: int | None = None) -> None:
        """The server has been killed: nothing that it ran is left, and the next one finds what was."""
        assert self.server.buried() == KILLED, self.errors
        anyio.run(gone, (), self.mark)
        self.runs.clear()
        found = self.logs()
        assert self.born.keys() <= found.keys()
        more = {it: found[it].parent for it in found.keys() - self.born.keys()}
        assert list(more.values()) in ([], [spawning]), "only one that was just being born may be new"
        self.born |= more
        self.server, self.armed = self.nursery.born(self.room), False
        self.arm(cut)
        if (begun := self.tried("begin")) is not None:
            assert begun["cutShort"] == []
            assert not any(it.closing for it in self.logs().values()), "every close was carried on"

    @rule(cut=cuts)
    def kill(self, cut: int | None) -> None:
        """Now; the next one may be, too, in the middle of taking up what this one leaves."""
        self.server.kill()
        self.again(cut=cut)

    def arm(self, cut: int | None) -> None:
        """Let the server end by itself, in the middle of whatever comes next."""
        if cut is not None and self.tried("cut", records=cut) is not None:
            self.armed = True

    # ── what happens ──────────────────────────────────────────────────────────────────────────────────────────────

    def any(self, at: int) -> str:
        """One of them; as a rule one that lives."""
        found = self.logs()
        alive = [it for it in self.born if not found[it].closed]
        choice = [*alive, *alive, *self.born]
        return choice[at % len(choice)]

    def logs(self) -> dict[str, Told]:
        return logs(self.room / "home")

    def speak(self, prompt: Prompt, ask: Callable[[str, bool], dict[str, Any] | None]) -> dict[str, Any] | None:
        """Ask for something; the processes of a command are known by their mark from then on."""
        self.marks += 1
        mark = f"{self.mark}-{self.marks}-"
        runs = prompt.within is not None
        answer = ask(spoken(prompt, mark), runs)
        if runs and answer is not None and "id" in answer:
            self.runs[mark] = answer["id"]
            if not self.armed:
                anyio.run(come, mark, STAYING)
        return answer

    @rule(at=place, prompt=prompts, abandon=st.booleans(), cut=cuts)
    def spawn(self, at: int, prompt: Prompt, abandon: bool, cut: int | None) -> None:
        self.arm(cut)
        self._spawn(at, prompt, abandon=abandon)

    def _spawn(self, at: int, prompt: Prompt, *, abandon: bool) -> None:
        parent = self.any(at)

        def ask(text: str, runs: bool) -> dict[str, Any] | None:
            return self.tried("spawn", parent=parent, prompt=text, abandon=abandon, runs=runs)

        if (made := self.speak(prompt, ask)) is not None:
            assert made["going"] == ("refused" in made), "only the dead and the dying may not have children here"
            if "id" in made:
                self.born[made["id"]] = parent

    @rule(at=place, prompt=prompts, cut=cuts)
    def input(self, at: int, prompt: Prompt, cut: int | None) -> None:
        self.arm(cut)
        thread = self.any(at)

        def ask(text: str, runs: bool) -> dict[str, Any] | None:
            heard = self.tried("input", thread=thread, prompt=text, runs=runs)
            assert heard is None or not (heard["taken"] and heard["going"])
            return {"id": thread} if heard is not None and heard["taken"] else None

        self.speak(prompt, ask)

    @rule(at=place, cascade=st.booleans(), cut=cuts)
    def interrupt(self, at: int, cascade: bool, cut: int | None) -> None:
        self.arm(cut)
        self.tried("interrupt", thread=self.any(at), cascade=cascade)

    @rule(at=place, times=st.sampled_from([1, 1, 2]), patient=st.booleans(), cut=cuts)
    def close(self, at: int, times: int, patient: bool, cut: int | None) -> None:
        self.arm(cut)
        closed = self.tried("close", thread=self.any(at), times=times, patient=patient)
        if closed is not None:
            self.judge(closed)

    def judge(self, closed: dict[str, Any]) -> None:
        """A close touches what it said it would, children first, within its clock; two at once are one.

        One that joins another is told how long that took, by then it may be more than its own clock has.
        """
        [report, *others] = closed["reports"]
        assert all(it == report for it in others)
        assert [it["threadId"] for it in report] == closed["dry"] == closed["order"]
        assert closed["intruders"] == []
        for at, it in enumerate(closed["order"]):
            assert closed["owners"][it] not in closed["order"][:at], "nothing goes before what it owns"
        for it in report:
            assert it["ms"] <= CLOCK or closed["joined"]
            assert it["after"] == "shutdown" or it["how"] == "unverified"

    @rule(at=place)
    def close_again(self, at: int) -> None:
        """What is shut down stays so, and that is a success."""
        shut = [it for it, told in self.logs().items() if told.closed]
        closed = self.tried("close", thread=shut[at % len(shut)]) if shut else None
        if closed is not None:
            self.judge(closed)
            assert {it["how"] for it in closed["reports"][0]} == {"already"}

    @rule(at=place, cut=cuts)
    def resume(self, at: int, cut: int | None) -> None:
        self.arm(cut)
        resumed = self.tried("resume", thread=self.any(at))
        assert resumed is None or resumed["left"] == [], "what the close took is back"

    @rule()
    def wait(self) -> None:
        """Whatever is stubborn gives in, and what was being closed is."""
        if self.tried("wait") is not None:
            assert not any(it.closing for it in self.logs().values())

    # ── what holds ────────────────────────────────────────────────────────────────────────────────────────────────

    @invariant()
    def holds(self) -> None:
        """In the logs, for those who ask the server, and for those who look at processes."""
        if not self.born:
            return
        found, standing = self.seen()
        assert {it: told.parent for it, told in found.items()} == self.born
        conserved(found)
        for it, told in found.items():
            shut, owner, session, root = standing[it]
            assert (shut, owner, session) == (told.closed, told.owner, root), it
        for mark in [mark for mark, thread in self.runs.items() if found[thread].closed]:
            assert marked(mark) == set(), "no process outlives its thread"
            del self.runs[mark]

    def seen(self) -> tuple[dict[str, Told], dict[str, Any]]:
        """The logs, and what the server says of the same moment: a close that nobody waits for may come to its end."""
        while True:
            found = self.logs()
            standing = self.tried("look", ids=list(found))
            if standing is not None and self.logs() == found:
                return found, standing


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursing(tmp_path_factory.mktemp("nursery")) as found:
        yield found


def test_whatever_happens_the_tree_holds_together(nursery: Nursery) -> None:
    run_state_machine_as_test(
        lambda: Tree(nursery),
        settings=settings(
            max_examples=count(300),
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_turn_that_is_to_end_does_nothing_more_though_its_agent_minds_no_end(nursery: Nursery) -> None:
    tree = Tree(nursery)
    try:
        tree.grow(births=[])
        [root] = tree.born
        for _ in range(2):  # the second is said to the turn of the first
            heard = tree.tried("input", thread=root, prompt="stubborn 5.5")
            assert heard is not None
            assert heard["taken"]
        assert tree.tried("interrupt", thread=root, cascade=False) == {}
        [log] = tree.room.rglob("*.jsonl")
        lines = map(json.loads, log.read_text().splitlines())
        ends = [it["params"]["turn"]["status"] for it in lines if it.get("method") == "turn/completed"]
        assert ends == ["interrupted"]
    finally:
        tree.teardown()
