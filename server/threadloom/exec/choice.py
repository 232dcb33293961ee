"""Which sandbox this machine can have: tried once, as early as anybody likes.

The first handshake waits for this, so it needs next to nothing itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from threadloom.exec.sandbox import trials

if TYPE_CHECKING:
    from threadloom.exec.base import Diagnosis, Kind
    from threadloom.exec.sandbox.own import Finding

FORCE: Final = "THREADLOOM_SANDBOX"  # bubblewrap, landlock or none
# For tests: our own launcher as it is where the kernel grants no namespaces.
WITHOUT_NAMESPACES: Final = "landlock-only"
CANDIDATES: Final[dict[str, tuple[Kind, ...]]] = {
    "": ("bubblewrap", "landlock"),
    "bubblewrap": ("bubblewrap",),
    "landlock": ("landlock",),
    WITHOUT_NAMESPACES: ("landlock",),
}
_TRIALS: Final[dict[Kind, Callable[[], trials.Trial]]] = {
    "bubblewrap": trials.of_bubblewrap,
    "landlock": trials.of_our_own,
}
_begun: dict[str, trials.Trial] = {}


def forced(environ: Mapping[str, str] | None = None) -> str:
    """The sandbox that was asked for; empty where any will do."""
    return (os.environ if environ is None else environ).get(FORCE, "")


def begin(environ: Mapping[str, str] | None = None) -> None:
    """Have the likeliest one tried while there is other work to do; `choose` waits for the answer."""
    for kind in CANDIDATES.get(forced(environ), ()):
        try:
            if kind not in _begun:
                _begun[kind] = _TRIALS[kind]()
            return
        except OSError:  # there is no such program: the next one
            continue


@cache
def choose(asked: str) -> Diagnosis:
    """The first that works, or the one that was asked for and no other."""
    from threadloom.exec.base import Diagnosis  # late: see above

    return Diagnosis(*pick(asked))


@cache
def pick(asked: str) -> tuple[Kind, bool, dict[str, str]]:
    """The same, as the members of a `Diagnosis`."""
    if asked == "none":
        return "none", False, {"sandbox": f"{FORCE} is none"}
    if asked not in CANDIDATES:
        return "none", False, {"sandbox": f"{FORCE} has to be bubblewrap, landlock or none, not {asked!r}"}
    reasons: dict[str, str] = {}
    for kind in CANDIDATES[asked]:
        reason = _bubblewrap() if kind == "bubblewrap" else _landlock().reason
        if reason is None:
            guards = kind == "bubblewrap" or (_landlock().namespaces and asked != WITHOUT_NAMESPACES)
            return kind, guards, reasons
        reasons[kind] = reason
    return "none", False, reasons


def diagnose(environ: Mapping[str, str] | None = None) -> Diagnosis:
    """Which sandbox a server here would use, and what is wrong with the others."""
    from threadloom.exec.base import Diagnosis  # late: see above

    chosen = choose(forced(environ))
    reasons = {"bubblewrap": _bubblewrap(), "landlock": _landlock().reason}
    found = {kind: reason for kind, reason in reasons.items() if reason is not None}
    if _landlock().lacking:
        found["namespaces"] = _landlock().lacking
    return Diagnosis(chosen.kind, chosen.guards_git, {**found, **chosen.reasons})


@cache
def _bubblewrap() -> str | None:
    """Why it does not work."""
    try:
        trial = _begun.pop("bubblewrap", None) or trials.of_bubblewrap()
    except OSError as fault:
        return str(fault)
    works, said = trial.result()
    return None if works else said


@cache
def _landlock() -> Finding:
    from threadloom.exec.sandbox.own import Finding, finding  # late: where bubblewrap works, nobody asks

    try:
        trial = _begun.pop("landlock", None) or trials.of_our_own()
    except OSError as fault:
        return Finding(str(fault))
    return finding(trial)
