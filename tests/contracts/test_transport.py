"""What every transport promises, whatever it is made of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import anyio
import pytest
from tests.support.ends import KINDS, FarEnd, both_ends

from threadloom.transports.base import Closed, Transport

pytestmark = pytest.mark.parametrize("kind", KINDS)

LARGE = 20 * 1024 * 1024
# More than any transport may keep for a peer that does not read; a socket and its buffers hold a few MiB.
BOUND = 16 * 1024 * 1024


@pytest.fixture
async def ends(kind: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Transport, FarEnd]]:
    async with both_ends(kind, tmp_path_factory.mktemp("s")) as pair:
        yield pair


async def take(transport: Transport, count: int) -> list[bytes]:
    """So many frames, as bytes."""
    frames: list[bytes] = []
    with anyio.fail_after(30):
        while len(frames) < count:
            came = await transport.receive()
            assert came, "receive gives at least one frame"
            for frame in came:
                assert isinstance(frame, bytes | str), frame
                frames.append(frame if isinstance(frame, bytes) else frame.encode())
    return frames


async def hear(peer: FarEnd, count: int) -> list[bytes]:
    with anyio.fail_after(30):
        return [await peer.hear() for _ in range(count)]


def numbered(count: int) -> list[bytes]:
    return [b'{"method":"n","params":%d}' % number for number in range(count)]


async def test_messages_arrive_whole_and_in_order(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    messages = numbered(1000)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(say_each, peer, messages)
        assert await take(transport, 1000) == messages
        tasks.start_soon(send_each, transport, messages)
        assert await hear(peer, 1000) == messages


async def say_each(peer: FarEnd, messages: Sequence[bytes]) -> None:
    for message in messages:
        await peer.say([message])


async def send_each(transport: Transport, messages: Sequence[bytes]) -> None:
    for message in messages:
        await transport.send([message])


async def test_many_messages_in_one_go(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    messages = numbered(5000)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(peer.say, messages)
        assert await take(transport, 5000) == messages
        tasks.start_soon(transport.send, messages)
        assert await hear(peer, 5000) == messages


async def test_both_ways_at_once(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    messages = numbered(2000)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(say_each, peer, messages)
        tasks.start_soon(send_each, transport, messages)
        tasks.start_soon(hear, peer, 2000)
        assert await take(transport, 2000) == messages


async def test_a_message_of_20_mb_each_way(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    message = b'{"method":"big","params":"' + b"x" * LARGE + b'"}'
    small = b'{"method":"small"}'
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(peer.say, [message, small])
        assert await take(transport, 2) == [message, small]
        tasks.start_soon(transport.send, [message, small])
        assert await hear(peer, 2) == [message, small]


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_a_message_that_comes_in_pieces_is_one_message(ends: tuple[Transport, FarEnd], size: int) -> None:
    transport, peer = ends
    message = '{"method":"é\u2028𝄞","params":"'.encode() + b"x" * size * 20 + b'"}'
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(peer.say_in_pieces, message, size)
        assert await take(transport, 1) == [message]
        tasks.start_soon(peer.say, [b"{}"])
        assert await take(transport, 1) == [b"{}"]


@pytest.mark.parametrize("text", ["\u2028\u2029", "\u0085", "\x0b\x0c\x1c\x1e", "é", "漢字", "𝄞", "\ufeff", "\x7f"])
async def test_only_the_transport_s_own_sign_ends_a_message(ends: tuple[Transport, FarEnd], text: str) -> None:
    transport, peer = ends
    messages = [f'{{"method":"{text}"}}'.encode(), f'"{text}"'.encode()]
    await peer.say(messages)
    assert await take(transport, 2) == messages
    await transport.send(messages)
    assert await hear(peer, 2) == messages


async def test_when_the_peer_goes_what_it_said_is_read_first(kind: str, ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    if kind == "terminal":
        pytest.skip("a terminal that hangs up takes along what was typed: the system forgets it, not the transport")
    await peer.say(numbered(10))
    await peer.leave()
    assert await take(transport, 10) == numbered(10)
    for _ in range(3):
        with pytest.raises(Closed), anyio.fail_after(5):
            await transport.receive()


async def test_who_waits_for_a_message_learns_that_the_peer_has_gone(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(expect_closed, transport)
        await anyio.wait_all_tasks_blocked()
        await peer.leave()


async def expect_closed(transport: Transport) -> None:
    with pytest.raises(Closed), anyio.fail_after(5):
        await transport.receive()


async def test_sending_to_a_peer_that_has_gone_ends_in_closed(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    await peer.leave()
    with pytest.raises(Closed):
        await send_without_end(transport, b"x" * 1024)  # the system takes some before it notices


async def test_closing_twice_is_no_error_and_ends_both_ways(ends: tuple[Transport, FarEnd]) -> None:
    transport, _ = ends
    with anyio.fail_after(5):
        await transport.aclose()
        await transport.aclose()
    with pytest.raises(Closed), anyio.fail_after(5):
        await transport.send([b"{}"])
    with pytest.raises(Closed), anyio.fail_after(5):
        await transport.receive()


async def test_who_waits_for_a_message_learns_of_our_own_closing(ends: tuple[Transport, FarEnd]) -> None:
    transport, _ = ends
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(expect_closed, transport)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(5):
            await transport.aclose()


async def test_giving_up_waiting_loses_no_message(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    for number in range(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.receive)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        await peer.say([b"%d" % number])
        assert await take(transport, 1) == [b"%d" % number]


async def test_a_peer_that_does_not_read_makes_send_wait(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    block, count = b"x" * 256 * 1024, 400
    sent = 0

    async def send_all() -> None:
        nonlocal sent
        for _ in range(count):
            await transport.send([block])
            sent += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send_all)
        await grown(lambda: sent)
        assert sent * len(block) < BOUND
        assert [len(it) for it in await hear(peer, count)] == [len(block)] * count
    assert sent == count


async def test_a_server_that_does_not_receive_makes_the_peer_wait(ends: tuple[Transport, FarEnd]) -> None:
    transport, peer = ends
    block, count = b"y" * 256 * 1024, 400
    said = 0

    async def say_all() -> None:
        nonlocal said
        for _ in range(count):
            await peer.say([block])
            said += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(say_all)
        await grown(lambda: said)
        assert said * len(block) < BOUND
        assert [len(it) for it in await take(transport, count)] == [len(block)] * count
    assert said == count


async def grown(value: object) -> None:
    """Until a count has stood still for a while: the one wait here that cannot be told from outside."""
    before = -1
    while before != (now := value()):  # type: ignore[operator]
        before = now
        with anyio.move_on_after(0.2):
            await anyio.sleep_forever()


async def test_a_close_is_bounded_though_the_peer_reads_nothing(ends: tuple[Transport, FarEnd]) -> None:
    transport, _ = ends
    outcomes: list[BaseException] = []

    async def send_much() -> None:
        try:
            await send_without_end(transport, b"x" * 256 * 1024)
        except (Closed, TimeoutError) as fault:
            outcomes.append(fault)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send_much)
        await grown(lambda: 0)
        with anyio.fail_after(5):
            await transport.aclose()
    assert [type(it) for it in outcomes] == [Closed]


async def send_without_end(transport: Transport, message: bytes) -> None:
    with anyio.fail_after(5):
        while True:
            await transport.send([message])
