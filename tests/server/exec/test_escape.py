"""Out of the sandbox: every attempt is refused, seen from the inside and from the outside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.exec_attempts import ATTEMPTS, Attempt
from tests.support.exec_rooms import KINDS, Workplace, attempt_order, host_of, run, witnesses

from threadloom.exec.launch import Host
from threadloom.exec.sandbox.landlock import abi

PLAIN = [attempt for attempt in ATTEMPTS if attempt.plain]


def named(attempts: list[Attempt]) -> dict[str, object]:
    return {"argvalues": attempts, "ids": [attempt.name for attempt in attempts]}


@pytest.fixture(scope="module", params=KINDS)
async def host(request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    host = host_of(request.param)
    yield host
    await host.close()


@pytest.fixture(scope="module")
async def open_host() -> AsyncIterator[Host]:
    host = Host({})
    yield host
    await host.close()


@pytest.mark.parametrize("attempt", **named(ATTEMPTS))
async def test_every_way_out_is_closed(host: Host, attempt: Attempt, tmp_path: Path) -> None:
    if attempt.mounts and not host.guards_git:
        pytest.skip(f"without mounts of its own, a sandbox has to ask before it lets a command {attempt.mounts}")
    if attempt.landlock > abi() and not host.guards_git:
        pytest.skip("this kernel's Landlock lets it pass, and it grants no namespaces")
    place = Workplace(tmp_path)
    with witnesses(place.outside) as others:
        before = place.snapshot()
        code, said, complaints = await run(host, attempt_order(place, others, attempt.code))
        assert (code, said.split()[:1]) == (0, ["refused"]), (said, complaints)
        assert said.split()[1] == "EPERM" or not attempt.filtered
        assert others.reached() == []
        assert place.snapshot() == before


@pytest.mark.parametrize("attempt", **named(PLAIN))
async def test_read_only_closes_the_workspace_too(host: Host, attempt: Attempt, tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    with witnesses(place.outside) as others:
        before = place.snapshot()
        code, said, complaints = await run(host, attempt_order(place, others, attempt.code, "read-only"))
        assert (code, said.split()[:1]) == (0, ["refused"]), (said, complaints)
        assert others.reached() == []
        assert place.snapshot() == before
        assert not any((place.work / "tmp").iterdir())


@pytest.mark.parametrize("attempt", **named(PLAIN))
async def test_the_attempts_are_real(open_host: Host, attempt: Attempt, tmp_path: Path) -> None:
    """Where there is no fence, each of these gets through: what refuses them is the fence."""
    place = Workplace(tmp_path)
    with witnesses(place.outside) as others:
        _, said, complaints = await run(open_host, attempt_order(place, others, attempt.code, "danger-full-access"))
    assert said.strip() == "escaped", complaints


def test_the_table_is_long_enough() -> None:
    assert len(ATTEMPTS) >= 25
    assert len([attempt for attempt in ATTEMPTS if not attempt.mounts]) >= 25
