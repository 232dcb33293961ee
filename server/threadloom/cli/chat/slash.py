"""`/save`, `/fork`, `/tree` and the others: what a person tells the chat itself."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

from threadloom.cli import find
from threadloom.cli.again import moved
from threadloom.cli.chat.line import PAST, Line
from threadloom.cli.chat.talk import Talk
from threadloom.cli.clean import line
from threadloom.cli.output import cut, moment
from threadloom.cli.trees import WORDS, drawn, ordered
from threadloom.digits import number
from threadloom_protocol.v2 import history, note, queue, search, session, settings, thread, tree, turn
from threadloom_protocol.v2 import model as model_room
from threadloom_protocol.v2.values.content import TextUserInput

RECENT = 10
BY_ITSELF = "agent_type="  # how a note begins that comes with an agent
CLOSING = 30.0  # seconds that a close may take before we stop waiting for its report


class Chat(Protocol):
    """What a command may use."""

    talk: Talk
    line: Line
    names: list[str]
    models: list[str]

    def tell(self, text: str, style: str = "") -> None:
        """Print something."""
        ...

    async def switch(self, answer: Any) -> None:
        """Go over to another thread."""
        ...

    def leave(self) -> None:
        """End the chat."""
        ...


class Wrong(Exception):
    """A command that was not used as it can be."""


Run = Callable[[Chat, str], Awaitable[None]]


class Command(NamedTuple):
    """One of them."""

    help: str
    run: Run


async def save(chat: Chat, name: str) -> None:
    """Give this point a name."""
    if not name:
        raise Wrong("/save NAME")
    saved = await chat.line.ask(session.SAVE, session.SessionSaveParams(thread_id=chat.talk.thread_id, name=name))
    it = saved.session
    chat.tell(
        f"Saved as {it.name}. `threadloom fork {shlex.quote(it.name)}` begins from here, as often as you like.", "green"
    )


async def fork(chat: Chat, what: str) -> None:
    """Off into a thread of its own."""
    params = session.SessionForkParams(session=what or chat.talk.thread_id, by_id=not what, exclude_turns=True)
    before = chat.talk.thread_id
    await chat.switch(await chat.line.ask(session.FORK, params))
    chat.tell(f"A fork of {what or before}: what you say here is not said there.", "green")


def resuming(what: str, *, by_id: bool = False) -> session.SessionResumeParams:
    """How a chat takes up a thread: with its last turns, for all of them may be many."""
    return session.SessionResumeParams(session=what, by_id=by_id, exclude_turns=True, initial_turns_page=PAST)


async def resume(chat: Chat, what: str) -> None:
    """Over to another thread."""
    if what:
        answer = await chat.line.ask(session.RESUME, resuming(what))
        await chat.switch(answer)
        if further := moved(answer):
            chat.tell(f"{further}; /fork {what} goes back there.", "dim")
        return
    page = await chat.line.ask(search.LIST, search.ThreadListParams(limit=RECENT, sort_key="recency_at"))
    ids = cut(it.id for it in page.data)
    rows = [
        f"{ids[it.id]}  {moment(it.recency_at or it.updated_at)}  {line(it.name or it.preview, 40)}"
        for it in page.data
        if it.id != chat.talk.thread_id
    ]
    chat.tell("\n".join([*rows, "/resume ID|NAME goes there."]) if rows else "There is no other thread.")


async def set_note(chat: Chat, text: str) -> None:
    """Pin a line to the thread."""
    if not text:
        chat.tell(
            f"Note: {chat.talk.note}" if chat.talk.note else "There is no note. /note TEXT sets one, /note - clears."
        )
        return
    params = note.ThreadSetNoteParams(thread_id=chat.talk.thread_id, note="" if text == "-" else text)
    chat.talk.note = (await chat.line.ask(note.SET, params)).note
    chat.tell(f"Note: {chat.talk.note}" if chat.talk.note else "The note is gone.", "green")


async def agents(chat: Chat, rest: str) -> None:
    """Who works for this thread."""
    ids = cut(chat.talk.nodes)
    rows = [
        f"{ids[it.thread_id]}  {_word(it.status):11} {it.agent_role or 'agent':10} {_about(it)}".rstrip()
        for it in ordered(chat.talk.nodes.values())
        if it.depth
    ]
    chat.tell("\n".join(rows) or "There are no agents.")


def _word(status: str) -> str:
    return WORDS.get(status, status)


def _about(it: tree.ThreadTreeNode) -> str:
    """What a person has noted, or what it is doing; what the server notes by itself is its role again."""
    noted = it.note if it.note and not it.note.startswith(BY_ITSELF) else None
    return line(noted or (it.activity if it.status == "running" else None) or "", 40)


async def show_tree(chat: Chat, rest: str) -> None:
    """The whole tree."""
    chat.tell("\n".join(drawn(ordered(chat.talk.nodes.values()))))


async def close(chat: Chat, what: str) -> None:
    """End an agent, or this thread, with all it owns."""
    meant = [it for it in chat.talk.nodes if it.startswith(what)] if what else [chat.talk.thread_id]
    if not meant:
        raise Wrong(f"there is no agent {what}; /agents shows which there are")
    if len(meant) > 1:
        raise Wrong(f"{what} fits {len(meant)} agents; /close takes more of the id")
    params = tree.ThreadCloseParams(thread_id=meant[0])
    report = (await chat.line.ask(tree.CLOSE, params, timeout=CLOSING)).report
    ids = cut(it.thread_id for it in report)
    rows = [
        f"closed {ids[it.thread_id]}  {_word(it.before)} → {_word(it.after)}  {it.how}, {it.ms} ms" for it in report
    ]
    chat.tell("\n".join(rows))


async def queue_up(chat: Chat, rest: str) -> None:
    """What waits: shown, added to, thrown away, held."""
    at = chat.talk.thread_id
    word, _, said = rest.partition(" ")
    if word in ("pause", "resume"):
        held = await (
            chat.line.ask(queue.PAUSE, queue.ThreadQueuePauseParams(thread_id=at))
            if word == "pause"
            else chat.line.ask(queue.RESUME, queue.ThreadQueueResumeParams(thread_id=at))
        )
        chat.talk.held = held.queue.paused is not None
        chat.tell(f"The queue {'is held' if chat.talk.held else 'runs'}.", "green")
    elif word in ("clear", "drop"):
        found = (await chat.line.ask(queue.LIST, queue.ThreadQueueListParams(thread_id=at))).data
        if not found:
            raise Wrong("nothing waits")
        dropped = number(said) or 0
        if word == "drop" and not 0 < dropped <= len(found):
            raise Wrong(f"/queue drop N takes a number from 1 to {len(found)}")
        for it in found if word == "clear" else [found[dropped - 1]]:
            await chat.line.ask(queue.DELETE, queue.ThreadQueueDeleteParams(thread_id=at, queued_submission_id=it.id))
        await chat.line.read_queue()
    elif rest:
        await chat.line.prompt(rest)
    else:
        rows = [f"{at}. {line(it, 100)}" for at, it in enumerate(chat.talk.waiting, 1)]
        chat.tell("\n".join(rows) or "Nothing waits. What you write while a turn runs does.")


async def model(chat: Chat, name: str) -> None:
    """Which model later turns use."""
    known = (await chat.line.ask(model_room.LIST, model_room.ModelListParams())).data
    if not name:
        chat.tell(
            "\n".join(f"{'▸' if it.model == chat.talk.model else ' '} {it.model}  {it.description}" for it in known)
        )
        return
    params = settings.ThreadSettingsUpdateParams(thread_id=chat.talk.thread_id, model=name)
    await chat.line.ask(settings.UPDATE, params)
    if any(it.model == name for it in known):
        chat.tell(f"Later turns use {name}.", "green")
    else:  # which a provider may have all the same
        chat.tell(f"Later turns ask for {name}, which is not among the models that /model shows.", "yellow")


async def status(chat: Chat, rest: str) -> None:
    """Where we are."""
    talk = chat.talk
    facts = {
        "thread": talk.thread_id,
        "name": talk.name,
        "note": talk.note,
        "model": talk.model,
        "folder": talk.cwd,
        "sandbox": talk.sandbox,
        "approvals": talk.policy,
        "tokens": str(talk.tokens),
        "agents": str(len(talk.agents)),
        "queue": str(len(talk.waiting)),
        "connection": chat.line.state,
    }
    chat.tell("\n".join(f"{name:11}{line(text)}" for name, text in facts.items() if text))


async def compact(chat: Chat, rest: str) -> None:
    """Condense what the model sees."""
    await chat.line.ask(history.COMPACT, history.ThreadCompactStartParams(thread_id=chat.talk.thread_id))
    chat.tell("What the model sees of this conversation is being condensed.", "dim")


async def steer(chat: Chat, text: str) -> None:
    """Into the running turn, now."""
    if not text or chat.talk.turn_id is None:
        raise Wrong("/steer TEXT, while a turn runs")
    said: list[Any] = [TextUserInput(text=text)]
    params = turn.TurnSteerParams(thread_id=chat.talk.thread_id, expected_turn_id=chat.talk.turn_id, input=said)
    await chat.line.ask(turn.STEER, params)


async def new(chat: Chat, rest: str) -> None:
    """A thread of its own."""
    params = thread.ThreadStartParams(cwd=chat.talk.cwd, model=chat.talk.model)
    await chat.switch(await chat.line.ask(thread.START, params))


async def show_help(chat: Chat, rest: str) -> None:
    """All of this."""
    rows = [f"/{name:8} {it.help}" for name, it in COMMANDS.items()]
    chat.tell("\n".join([*rows, "", *KEYS]))


async def leave(chat: Chat, rest: str) -> None:
    """The end."""
    chat.leave()


KEYS = (
    "!COMMAND  run a command of your own",
    "Enter     send; while a turn runs, queue       Ctrl-J, Alt-Enter  a new line",
    "Esc       interrupt                            Ctrl-C twice       leave",
)
COMMANDS = {
    "save": Command("NAME: give this point of the conversation a name", save),
    "fork": Command("[ID|NAME]: a new thread from here, or from a saved point", fork),
    "resume": Command("[ID|NAME]: over to another thread, or show which there are", resume),
    "note": Command("[TEXT]: pin a line to this thread; - clears it", set_note),
    "agents": Command("the agents of this thread", agents),
    "tree": Command("the tree of agents", show_tree),
    "close": Command("[ID]: end an agent, or this thread, with all it owns", close),
    "queue": Command("[TEXT|drop N|clear|pause|resume]: what waits for its turn", queue_up),
    "steer": Command("TEXT: say it into the running turn", steer),
    "model": Command("[NAME]: the model that later turns use", model),
    "status": Command("where we are", status),
    "compact": Command("condense what the model sees", compact),
    "new": Command("a new thread", new),
    "help": Command("this", show_help),
    "quit": Command("leave", leave),
}


async def run(chat: Chat, text: str) -> None:
    """Do what a line that begins with `/` says. Raises `Wrong`."""
    word, _, rest = text[1:].partition(" ")
    command = COMMANDS.get(word)
    if command is None:
        raise Wrong(f"there is no /{word}; /help shows what there is")
    await command.run(chat, rest.strip())


async def names(chat: Chat) -> None:
    """What can be completed, read anew."""
    page = await chat.line.ask(session.LIST, session.SessionListParams(limit=find.PAGE))
    chat.names = [it.name for it in page.data]
