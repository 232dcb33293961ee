"""The launcher of our own: the rules for a fence, and how much of it works here."""

from __future__ import annotations

import json
from typing import NamedTuple

from threadloom.exec.base import Order
from threadloom.exec.sandbox.guards import guarded, writable
from threadloom.exec.sandbox.trials import Trial
from threadloom.exec.tree.plan import Cage


class Finding(NamedTuple):
    """What the kernel lets us have."""

    reason: str | None  # why it does not work at all
    namespaces: bool = False
    lacking: str = ""  # why there are no namespaces


def cage(order: Order, namespaces: bool) -> Cage:
    """What a warden needs to fence a command in."""
    fence = order.fence
    roots = writable(fence) if fence.mode == "workspace-write" else []
    return Cage(roots, guarded(roots, order.cwd, fence.kept), fence.network, namespaces)


def finding(trial: Trial) -> Finding:
    """What a trial of it says."""
    works, said = trial.result()
    last = said.rpartition("\n")[2]
    return Finding(*json.loads(last)) if works else Finding(last)
