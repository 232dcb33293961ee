"""Commands that outlived their turn, but not their server: nobody saw how they ended."""

from __future__ import annotations

from collections.abc import Iterator

from threadloom.exec.output import Capped
from threadloom.store.base import Store
from threadloom.threads.endings import UNKNOWN
from threadloom_protocol.v2.item import COMMAND_OUTPUT_DELTA
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem


def lost_item(store: Store, thread_id: str, item: CommandExecutionThreadItem) -> CommandExecutionThreadItem:
    """One of them as it reads from now on: failed, with what it had printed."""
    printed = Capped()
    for text in _pieces(store, thread_id, item.id):
        printed.feed(text.encode())
    told = "\n".join(filter(None, (printed.text().rstrip("\n"), UNKNOWN)))
    return item.model_copy(update={"status": "failed", "aggregated_output": told})


def _pieces(store: Store, thread_id: str, item_id: str) -> Iterator[str]:
    """What it had printed, as it came."""
    row = store.index.item(thread_id, item_id)
    for line in store.after(thread_id, row.seq) if row is not None else ():
        params = line.params or {}
        if line.method == COMMAND_OUTPUT_DELTA.method and params.get("itemId") == item_id:
            yield str(params.get("delta", ""))
