"""What clients of a server have seen, over any number of its lives: what must be true of its home from then on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

Json = dict[str, Any]

CASCADES = {"thread/close", "thread/archive", "thread/unarchive", "thread/delete"}
BIRTHS = {"thread/start", "thread/fork", "crash/spawn"}
_UNSET = (-1, None)


class Moment(NamedTuple):
    """What had been seen of a thread by then."""

    top: int
    closed: bool | None
    archived: bool | None


class SeenThread:
    """All that was seen of one thread."""

    def __init__(self, thread_id: str) -> None:
        self.id = thread_id
        self.parent: str | None = None
        self.events: dict[int, tuple[str, Json]] = {}  # seq → method, params without the seq
        self.merged: list[tuple[int, int, str, Json]] = []  # deltas that came as one
        self.top = 0  # the greatest seq that was seen
        self.cursor = 0  # up to here nothing was missed
        self.deleted = False
        self.foreign = False  # a fork whose history nobody was told
        self.turns: list[str] = []  # as far as they are not taken back, in order
        self._doubtful: list[set[str]] = []  # turns that may have been taken back, together
        self.status: dict[str, str] = {}  # turns that were seen to end
        self.cut: set[str] = set()  # turns whose end was in no log when their server had gone
        self.inherited: dict[str, Json] = {}  # turns as the answer to a fork had them
        self.items: dict[str, Json] = {}  # items that were seen to end
        self.texts: dict[str, dict[Any, str]] = {}  # items that were seen to grow: member → text
        self._item_turns: dict[str, str] = {}
        self._known: set[str] = set()  # turns ever seen
        self._shown = 0  # the seq of the last snapshot
        self._latest: dict[str, tuple[int, Any]] = {}
        self._told: set[tuple[str, Any]] = set()  # facts that were ever heard
        self._promised: dict[str, Any] = {}  # facts of requests that were answered, and nothing has told yet

    def promised(self, name: str, value: Any) -> None:
        """A request was answered: its event came before, or is still to come where something is held back.

        Requests about a thread are taken in order, so what was promised before does not hold any more.
        """
        self._promised.pop(name, None)
        told = value == self.fact(name) or (value is not None and (name, value) in self._told)  # none other comes twice
        if not told:
            self._promised[name] = value

    def last_fact(self, name: str) -> Any:
        """What must be stored, as far as is known: what was heard last, or what was promised since."""
        return self._promised.get(name, self.fact(name))

    def note(self, seq: int, **facts: Any) -> None:
        """Facts as of a seq."""
        for name, value in facts.items():
            self._told.add((name, value))
            if name in self._promised and self._promised[name] == value:
                del self._promised[name]
            if seq >= self._latest.get(name, _UNSET)[0]:
                self._latest[name] = seq, value

    def fact(self, name: str) -> Any:
        """The last that was heard of it."""
        return self._latest.get(name, _UNSET)[1]

    def saw_turn(self, turn_id: str) -> None:
        """A turn is there."""
        if turn_id not in self._known:
            self._known.add(turn_id)
            self.turns.append(turn_id)

    def reverted(self, turn_id: str, *, surely: bool) -> None:
        """A turn and all after it were taken back, or may have been."""
        if turn_id in self.turns:
            at = self.turns.index(turn_id)
            if surely:
                del self.turns[at:]
            else:
                self._doubtful.append(set(self.turns[at:]))

    def possible(self) -> list[list[str]]:
        """The turns that there may be."""
        found = [self.turns]
        for gone in self._doubtful:
            found += [[turn for turn in it if turn not in gone] for it in found]
        return found

    def moment(self) -> Moment:
        """How far it was seen to have come."""
        return Moment(self.top, self.fact("closed"), self.fact("archived"))

    def adopt(self, turns: list[str], seq: int, **facts: Any) -> None:
        """What is stored, found to be among what may be, by one who had seen all up to a seq."""
        self.foreign = False
        self._doubtful = []
        self._promised = {}
        self.turns = turns
        self._known |= set(turns)
        self.note(seq, **facts)

    def saw_view(self, view: Json, *, born: bool) -> None:
        """A snapshot."""
        seq = view.get("seq") or 0
        self.foreign = self.cursor == 0 and not born and view.get("forkedFromId") is not None
        self.parent = view.get("parentThreadId")
        self.note(seq, name=view.get("name"), note=view.get("note"))
        self.top, self.cursor, self._shown = max(self.top, seq), max(self.cursor, seq), max(self._shown, seq)
        for turn in view["turns"]:
            self.saw_turn(turn["id"])
            if born:
                self.inherited[turn["id"]] = turn
            for item in turn["items"]:
                self._saw_item(turn["id"], item)

    def saw_event(self, method: str, seq: int, first: int, body: Json) -> None:
        """An event, new or replayed; merged ones begin with `first`."""
        if first < seq:
            self.merged.append((first, seq, method, body))
        else:
            known = self.events.setdefault(seq, (method, body))
            assert known == (method, body), f"seq {seq} of {self.id} was given out twice: {known}, {(method, body)}"
        seamless = first == self.cursor + 1
        self.cursor = seq if seamless else self.cursor
        self.top = max(self.top, seq)
        self._take(method, seq, body, seamless)

    def _take(self, method: str, seq: int, params: Json, seamless: bool) -> None:
        match method:
            case "thread/name/updated":
                self.note(seq, name=params.get("threadName"))
            case "thread/note/updated":
                self.note(seq, note=params.get("note"))
            case "thread/archived" | "thread/unarchived":
                self.note(seq, archived=method == "thread/archived")
            case "thread/deleted":
                self.deleted = True
            case "thread/closed" if params.get("reason") == "closed":
                self.note(seq, closed=True)
            case "thread/status/changed":
                self.note(seq, closed=False)
            case "turn/started" if seq > self._shown:  # else it was in the snapshot, or was taken back before
                self.saw_turn(params["turn"]["id"])
            case "turn/completed":
                self.status[params["turn"]["id"]] = params["turn"]["status"]
            case "item/started":
                self._saw_item(params["turnId"], params["item"])
            case "item/completed":
                self._saw_item(params["turnId"], params["item"])
                self.items[params["item"]["id"]] = params["item"]
            case "item/agentMessage/delta" if seamless:
                self._grow(params, "text")
            case "item/reasoning/summaryTextDelta" if seamless:
                self._grow(params, ("summary", params["summaryIndex"]))

    def of_turn(self, turn_id: str) -> list[str]:
        """The items of a turn."""
        return [item for item, turn in self._item_turns.items() if turn == turn_id]

    def _saw_item(self, turn_id: str, item: Json) -> None:
        """Whatever its state: what has come of its text stays."""
        self._item_turns[item["id"]] = turn_id
        texts = self.texts.setdefault(item["id"], {})
        for member, text in texts_of(item).items():
            texts[member] = max(texts.get(member, ""), text, key=len)

    def _grow(self, params: Json, member: Any) -> None:
        if params["itemId"] in self.items:
            return  # it was seen whole before this was seen again
        texts = self.texts.setdefault(params["itemId"], {})
        texts[member] = texts.get(member, "") + params["delta"]


def texts_of(item: Json) -> dict[Any, str]:
    """The texts of an item that grow."""
    if item["type"] == "agentMessage":
        return {"text": item["text"]}
    if item["type"] == "reasoning":
        return {("summary", at): text for at, text in enumerate(item["summary"])}
    return {}


class Witness:
    """Hears every message of every connection to one home."""

    def __init__(self) -> None:
        self.threads: dict[str, SeenThread] = {}
        self.lost: list[tuple[str, Json]] = []  # requests that nobody knows the end of
        self.refusals: list[tuple[str, Json]] = []  # what was refused, and how
        self.messages = 0
        self._open: dict[Any, tuple[str, Json]] = {}  # requests of the newest connection without an answer

    def connected(self) -> None:
        """A new connection: what was open on the last one will never be answered."""
        for asked in self._open.values():
            self._lose(*asked)
        self._open = {}

    def asked(self, identity: Any, method: str, params: Json) -> None:
        """A request went out."""
        self._open[identity] = method, params

    def refused(self, identity: Any, error: Json) -> None:
        """It came to nothing; where the server is at fault, nobody knows to how much of nothing."""
        self.messages += 1
        asked = self._open.pop(identity)
        self.refusals.append((asked[0], error))
        if error["code"] == -32603:
            self._lose(*asked)

    def _lose(self, method: str, params: Json) -> None:
        self.lost.append((method, params))
        if method == "thread/revert" and params["threadId"] in self.threads:
            self.threads[params["threadId"]].reverted(params["beforeTurnId"], surely=False)

    def answered(self, identity: Any, result: Json) -> None:
        """It was done."""
        self.messages += 1
        method, params = self._open.pop(identity)
        match method:
            case "thread/start" | "thread/fork":
                self.thread(result["thread"]["id"]).saw_view(result["thread"], born=True)
            case "thread/resume" if "sinceSeq" not in params and not params.get("excludeTurns"):
                self.thread(params["threadId"]).saw_view(result["thread"], born=False)
            case "crash/spawn":
                self.thread(result["threadId"]).parent = params["threadId"]
            case "turn/start":
                self.thread(params["threadId"]).saw_turn(result["turn"]["id"])
            case "thread/revert":
                self.thread(params["threadId"]).reverted(params["beforeTurnId"], surely=True)
            case "thread/delete":
                self.thread(params["threadId"]).deleted = True
            case "thread/name/set":
                self.thread(params["threadId"]).promised("name", params["name"].strip())
            case "thread/note/set":
                self.thread(params["threadId"]).promised("note", params["note"].strip() or None)

    def notified(self, method: str, params: Json) -> None:
        """Something came unasked."""
        self.messages += 1
        thread_id = params["thread"]["id"] if method == "thread/started" else params.get("threadId")
        if thread_id is None:
            return
        assert method != "thread/gap", "this client reads as fast as it can"
        seq = params.get("seq")
        if seq is None and method == "thread/tokenUsage/updated":
            return  # said again to one who has just come: nothing happened
        assert isinstance(seq, int), f"{method} came without its seq"
        body = {name: value for name, value in params.items() if name not in ("seq", "fromSeq")}
        thread = self.thread(thread_id)
        if method == "thread/started":
            thread.saw_view(params["thread"], born=False)
        thread.saw_event(method, seq, params.get("fromSeq", seq), body)

    def thread(self, thread_id: str) -> SeenThread:
        """What was seen of a thread."""
        return self.threads.setdefault(thread_id, SeenThread(thread_id))

    def unsure(self, thread_id: str, *methods: str) -> list[Json]:
        """The params of requests about a thread whose end nobody saw.

        For cascades, about its owners, too; a resume takes up what hangs together, so about anything in its tree.
        """
        owners = list(self._owners(thread_id))
        concerned = {thread_id}
        if set(methods) <= CASCADES:
            concerned |= set(owners)
        elif "thread/resume" in methods:
            concerned |= {it for it in self.threads if [it, *self._owners(it)][-1] == [thread_id, *owners][-1]}
        return [params for method, params in self.lost if method in methods and params.get("threadId") in concerned]

    def births(self) -> int:
        """How many threads there may be that nobody saw."""
        return sum(method in BIRTHS for method, _ in self.lost)

    def settle(self) -> None:
        """What was open has been looked at: from here on it is known."""
        self.lost = []

    def _owners(self, thread_id: str) -> Iterable[str]:
        owner = self.threads[thread_id].parent
        while owner is not None:
            yield owner
            owner = self.threads[owner].parent if owner in self.threads else None
