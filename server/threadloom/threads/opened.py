"""A turn under way, and its items as they come. No I/O."""

from __future__ import annotations

from typing import Any

from threadloom_protocol.v2.values.turns import Turn


class OpenItem:
    """An item that is being streamed: pieces are kept apart until somebody looks, and go into a copy."""

    __slots__ = ("_item", "_own", "_pieces")

    def __init__(self, item: Any) -> None:
        self._item = item
        self._own = False
        self._pieces: dict[tuple[str, int], list[str]] = {}

    def add(self, member: str, at: int, piece: str) -> None:
        """One more piece of a member; `at` is its place where the member is a list."""
        self._pieces.setdefault((member, at), []).append(piece)

    def look(self) -> Any:
        """The item with all that has come."""
        if self._pieces and not self._own:
            self._item, self._own = self._item.model_copy(deep=True), True
        for (member, at), pieces in sorted(self._pieces.items()):
            text = "".join(pieces)
            if at < 0:
                setattr(self._item, member, (getattr(self._item, member) or "") + text)
            else:
                parts = getattr(self._item, member)
                parts.extend([""] * (at + 1 - len(parts)))
                parts[at] += text
        self._pieces.clear()
        return self._item


class OpenTurn:
    """A turn under way."""

    __slots__ = ("_items", "refused", "schema", "service_tier", "turn")

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.schema: Any = None  # what its answer has to fit
        self.service_tier: str | None = None  # in the place of that of its thread
        self.refused: set[str] = set()  # items of what somebody said no to
        self._items: dict[str, OpenItem | Any] = {}

    def tally(self) -> tuple[int, int]:
        """How many messages it has, and how many uses of tools."""
        kinds = [(it.look() if isinstance(it, OpenItem) else it).type for it in self._items.values()]
        messages = sum(kind in ("agentMessage", "userMessage") for kind in kinds)
        return messages, sum(kind not in ("agentMessage", "userMessage", "reasoning", "plan") for kind in kinds)

    def count(self) -> int:
        """How many items it has."""
        return len(self._items)

    @property
    def newest(self) -> str:
        """The id of the item that began last."""
        return next(reversed(self._items))

    def start(self, item: Any) -> None:
        """An item begins."""
        self._items[item.id] = OpenItem(item)

    def complete(self, item: Any) -> None:
        """An item is done: it supersedes what was streamed of it."""
        self._items[item.id] = item

    def add(self, item_id: str, member: str, at: int, piece: str) -> None:
        """A piece of an item that is open."""
        item = self._items.get(item_id)
        if isinstance(item, OpenItem):
            item.add(member, at, piece)

    def open_items(self) -> list[Any]:
        """The items that are not done, with what has come of them."""
        return [item.look() for item in self._items.values() if isinstance(item, OpenItem)]

    def look(self) -> Turn:
        """The turn with everything so far, partial text included."""
        items = [
            item.look().model_copy(deep=True) if isinstance(item, OpenItem) else item for item in self._items.values()
        ]
        return self.turn.model_copy(update={"items": items})
