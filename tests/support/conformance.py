"""The check of every message a server sends to a test: the envelope, our schema, and Codex's where a type is shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import orjson
from tests.support.contract import Contract, Role


class Conformance:
    """What all connections of a test session have in common: the contracts, and what has been seen."""

    def __init__(self, load_ours: Callable[[], Sequence[Contract]], load_codexs: Callable[[], Contract]) -> None:
        self._load = (load_ours, load_codexs)
        self.seen: Counter[str] = Counter()
        self.messages = 0
        self.violations: list[str] = []

    @cached_property
    def contracts(self) -> Sequence[Contract]:
        """Ours, loaded when the first message comes; the first that has a message decides."""
        return self._load[0]()

    @cached_property
    def codex(self) -> Contract:
        """Theirs."""
        return self._load[1]()

    @property
    def judged(self) -> bool:
        """Whether anything has been said that could be held against them."""
        return self.messages > 0 and "codex" in self.__dict__

    def load(self) -> Conformance:
        """Read the contracts now: it takes a second, which no test should wait for in the middle of something."""
        assert self.contracts
        assert self.codex
        return self

    def violate(self, what: str, message: Any) -> None:
        """Note a violation; the test that runs fails for it."""
        self.violations.append(f"{what}\n    in {orjson.dumps(message).decode()[:600]}")

    def settle(self) -> None:
        """Raise what was noted, once."""
        found, self.violations = self.violations, []
        if found:
            raise AssertionError("\n".join([f"the server broke the contract {len(found)} times:", *found[:10]]))

    def fits(self, role: Role, method: str, value: Any) -> bool:
        """Whether our contract has no objection."""
        contract = self.contract(role, method)
        return contract is not None and contract.fault(role, method, value) is None

    def contract(self, role: Role, method: str) -> Contract | None:
        """The one of ours that has this message."""
        return next((it for it in self.contracts if (role, method) in it.types), None)

    def check(self, role: Role, method: str, value: Any, message: Any) -> None:
        """Hold a value against every contract that has it."""
        contract = self.contract(role, method)
        if contract is None:
            self.violate(f"{role.value} {method}: the contract has no such thing", message)
            return
        faults = [contract.fault(role, method, value)]
        if (role, method) in self.codex.types:
            self.seen[self._label(role, method)] += 1
            faults.append(self.codex.fault(role, method, value))
        for fault in filter(None, faults):
            self.violate(fault, message)

    def _label(self, role: Role, method: str) -> str:
        return self.codex.type_of(role, method) or method

    def shared(self) -> set[str]:
        """The types that both contracts have for something that a server sends."""
        ours = {key for contract in self.contracts for key in contract.types}
        return {self._label(*key) for key in ours & self.codex.types.keys()}

    def summary(self) -> list[str]:
        """Which shared types crossed a wire, and which never did."""
        shared = self.shared()
        seen = sorted(shared & self.seen.keys())
        never = sorted(shared - self.seen.keys())
        return [
            f"{self.messages} messages of servers held against our schema and Codex's; {len(shared)} types are shared",
            f"seen on the wire ({len(seen)}): {', '.join(f'{it} ×{self.seen[it]}' for it in seen) or 'none'}",
            f"never seen ({len(never)}): {', '.join(never) or 'none'}",
        ]
