"""A tree as a view of it shows it, read back from what is sent."""

from __future__ import annotations

from threadloom.threads.manager import Manager
from threadloom_protocol.v2.tree import ThreadTreeNode


def nodes(manager: Manager, thread_id: str) -> list[ThreadTreeNode]:
    """Of the tree that a thread belongs to, parents before their children."""
    return [ThreadTreeNode.model_validate_json(it) for it in manager.trees.tree(thread_id)[1]]
