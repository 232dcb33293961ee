"""Bubblewrap: its options for a fence."""

from __future__ import annotations

from threadloom.exec.base import Order
from threadloom.exec.sandbox.guards import guarded, writable
from threadloom.exec.sandbox.trials import ALONE, PROCESSES, bubblewrap
from threadloom.exec.tree.plan import Bubble


def bubble(order: Order) -> Bubble:
    """What a warden needs to put a command inside."""
    roots = writable(order.fence) if order.fence.mode == "workspace-write" else []
    return Bubble(bubblewrap(roots) or "bwrap", _options(order, roots), order.fence.network)


def _options(order: Order, roots: list[str]) -> list[str]:
    fence = order.fence
    whole = "--bind" if "/" in roots else "--ro-bind"
    options = [*ALONE, whole, "/", "/", "--dev", "/dev", *PROCESSES]
    for root in roots:
        options += ["--bind", root, root] if root != "/" else []
    for guard in guarded(roots, order.cwd, fence.kept):
        options += ["--ro-bind-try", guard, guard]  # it may be gone by then
    return options if fence.network else [*options, "--unshare-net"]
