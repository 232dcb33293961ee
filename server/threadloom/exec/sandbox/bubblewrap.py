"""Bubblewrap: its options for a fence, and whether it works here."""

from __future__ import annotations

from threadloom.exec.base import Order
from threadloom.exec.sandbox.guards import guarded, writable
from threadloom.exec.sandbox.trials import ALONE, PROCESSES, bubblewrap, of_bubblewrap
from threadloom.exec.tree.plan import Bubble


def bubble(order: Order) -> Bubble:
    """What a warden needs to put a command inside."""
    return Bubble(bubblewrap() or "bwrap", _options(order), order.fence.network)


def examine() -> str | None:
    """Why it does not work; None when it does."""
    try:
        works, said = of_bubblewrap().result()
    except OSError as fault:
        return str(fault)
    return None if works else said


def _options(order: Order) -> list[str]:
    fence = order.fence
    roots = writable(fence) if fence.mode == "workspace-write" else []
    whole = "--bind" if "/" in roots else "--ro-bind"
    options = [*ALONE, whole, "/", "/", "--dev", "/dev", *PROCESSES]
    for root in roots:
        options += ["--bind", root, root] if root != "/" else []
    for guard in guarded(roots, order.cwd):
        options += ["--ro-bind-try", guard, guard]  # it may be gone by then
    return options if fence.network else [*options, "--unshare-net"]
