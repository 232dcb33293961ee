"""`threadloom tree` and `agents`: who owns whom, and which kinds of agents there are."""

from __future__ import annotations

from argparse import Namespace
from collections import defaultdict
from collections.abc import Collection, Sequence

from threadloom.cli import find
from threadloom.cli.clean import line
from threadloom.cli.link import FAILED, OK, Failure, Place, current_folder
from threadloom.cli.link import run as run_command
from threadloom.cli.output import as_json, cut, in_terminal, moment, note, short, table, write
from threadloom_client import Client
from threadloom_protocol.v2 import agent as agent_room
from threadloom_protocol.v2 import search
from threadloom_protocol.v2 import tree as tree_room
from threadloom_protocol.v2.tree import ThreadTreeNode

# How an agent stands, for people.
WORDS = {"pendingInit": "starting", "notFound": "gone", "shutdown": "closed", "errored": "failed"}


def tree(arguments: Namespace) -> int:
    """`threadloom tree`."""

    async def work(place: Place) -> int:
        async with place.client() as client:
            meant = await (
                find.thread_id(client, arguments.thread, by_id=arguments.id) if arguments.thread else last(client)
            )
            nodes = (await client.request(tree_room.READ, tree_room.ThreadTreeParams(thread_id=meant))).data
        if arguments.json:
            as_json(nodes)
        elif in_terminal():
            for text in drawn(nodes):
                write(text)
        else:
            for it in nodes:
                cells = (it.depth, it.thread_id, it.status, it.agent_role, it.name, it.note)
                write("\t".join(line(str(cell or "")) if cell != 0 else "0" for cell in cells))
        return OK

    return run_command(arguments, work)


async def last(client: Client) -> str:
    """The thread that was used last: the list leaves out those that were opened and left without a word."""
    async for it in find.threads(client, search.ThreadListParams(sort_key="recency_at"), 1):
        return it.id
    raise Failure("there is no thread yet. `threadloom chat` begins one.", FAILED)


def ordered(nodes: Collection[ThreadTreeNode]) -> list[ThreadTreeNode]:
    """Nodes that came one by one, parents before their children."""
    known = {it.thread_id for it in nodes}
    below: dict[str | None, list[ThreadTreeNode]] = defaultdict(list)
    for it in nodes:
        below[it.parent_thread_id if it.depth and it.parent_thread_id in known else None].append(it)
    found: list[ThreadTreeNode] = []
    due = below[None][::-1]
    while due:
        found.append(due.pop())
        due += below[found[-1].thread_id][::-1]
    return found


def drawn(nodes: Sequence[ThreadTreeNode]) -> list[str]:
    """A tree in lines, parents before their children."""
    lines = []
    ids = cut(it.thread_id for it in nodes)
    open_at: list[bool] = []  # for each depth on the way down: whether more follow there
    for at, node in enumerate(nodes):
        more = any(it.depth == node.depth for it in _until_up(nodes[at + 1 :], node.depth))
        del open_at[max(node.depth - 1, 0) :]
        stem = "".join("│  " if it else "   " for it in open_at)
        open_at += [more] if node.depth else []
        branch = ("├─ " if more else "└─ ") if node.depth else ""
        lines.append(f"{stem}{branch}{described(node, ids[node.thread_id])}")
    return lines


def _until_up(nodes: Sequence[ThreadTreeNode], depth: int) -> Sequence[ThreadTreeNode]:
    """Those that come before the tree goes up beyond this depth."""
    end = next((at for at, it in enumerate(nodes) if it.depth < depth), len(nodes))
    return nodes[:end]


def described(node: ThreadTreeNode, thread_id: str) -> str:
    """One thread of a tree, in a line, with so much of its id."""
    who = node.agent_nickname or node.name or node.agent_role or ("agent" if node.depth else "root")
    role = f" ({node.agent_role})" if node.agent_role and node.agent_role != who else ""
    doing = f" · {line(node.activity, 60)}" if node.activity and node.status == "running" else ""
    return f"{line(who, 40)}{role} {thread_id} {WORDS.get(node.status, node.status)}{doing}"


def agents(arguments: Namespace) -> int:
    """`threadloom agents`."""

    async def work(place: Place) -> int:
        async with place.client() as client:
            if arguments.thread:
                await _active(client, arguments)
            else:
                await _kinds(client, arguments)
        return OK

    return run_command(arguments, work)


async def _active(client: Client, arguments: Namespace) -> None:
    params = agent_room.AgentActiveParams(
        thread_id=await find.thread_id(client, arguments.thread, by_id=arguments.id),
        scope="all",
        include_closed=arguments.closed,
    )
    found = (await client.request(agent_room.ACTIVE, params)).data
    if arguments.json:
        as_json(found)
        return
    ids = short(it.thread_id for it in found)
    rows = [
        [ids[it.thread_id], WORDS.get(it.status, it.status), moment(it.updated_at), it.agent_type, it.model, it.note]
        for it in found
    ]
    table(
        ("ID", "STATUS", "SINCE", "KIND", "MODEL", "NOTE"),
        rows,
        empty="It has no agents.",
        spare=("MODEL", "NOTE", "KIND"),
    )


async def _kinds(client: Client, arguments: Namespace) -> None:
    found = await client.request(agent_room.LIST, agent_room.AgentListParams(cwd=current_folder()))
    for error in found.errors:
        note(f"threadloom: {error.path}: {error.message}")
    if arguments.json:
        as_json(found.data)
        return
    rows = [[it.agent_type, it.source, it.model, it.description] for it in found.data]
    table(("KIND", "FROM", "MODEL", "WHAT IT IS FOR"), rows, empty="There are no kinds of agents.")
