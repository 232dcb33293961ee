"""A running command: its streams, its terminal, its end."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.support.exec_rooms import SECONDS, Workplace, collected, host_of, run
from tests.support.vitals import open_files

from threadloom.exec import errands, keeping, launch
from threadloom.exec.base import LaunchError, Mode, Order, Output, Process
from threadloom.exec.errands import Errand
from threadloom.exec.launch import Host
from threadloom.exec.process import WardedProcess
from threadloom.exec.sandbox.guards import SETTINGS
from threadloom.exec.streams import Streams
from threadloom.exec.tree.plan import Plan

PYTHON = [sys.executable, "-I", "-S", "-c"]
# With each sandbox, and without one.
WAYS: dict[str, tuple[str, Mode]] = {
    "bubblewrap": ("bubblewrap", "workspace-write"),
    "landlock": ("landlock", "workspace-write"),
    "landlock-only": ("landlock-only", "workspace-write"),
    "bare": ("none", "danger-full-access"),
}


class Bench:
    """A host and a place to run commands in."""

    def __init__(self, host: Host, place: Workplace, mode: Mode) -> None:
        self.host = host
        self.place = place
        self.mode = mode

    def order(self, *argv: str, **more: object) -> Order:
        """A command under the fence of this bench."""
        return self.place.order(list(argv), mode=self.mode, **more)  # type: ignore[arg-type]

    async def launch(self, *argv: str, **more: object) -> Process:
        """Start one."""
        return await self.host.launch(self.order(*argv, **more))


@pytest.fixture(params=WAYS)
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    kind, mode = WAYS[request.param]
    before = open_files()
    host = host_of(kind)
    with anyio.fail_after(SECONDS * 2):
        yield Bench(host, Workplace(tmp_path), mode)
        await host.close()
    assert host.live == frozenset()
    assert not open_files() - before


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncIterator[Bench]:
    host = host_of("none")
    with anyio.fail_after(SECONDS * 2):
        yield Bench(host, Workplace(tmp_path), "danger-full-access")
        await host.close()


def parent_of(pid: int) -> int:
    """The number of a process's parent."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def until(true: Callable[[], bool]) -> None:
    """Wait for what the kernel tells nobody."""
    with anyio.fail_after(SECONDS):
        while not true():  # noqa: ASYNC110
            await anyio.sleep(0.002)


class Listener:
    """Reads on from where it stopped: the output of a process has one reader."""

    def __init__(self, process: Process) -> None:
        self._output = process.output()
        self.said = b""

    async def until(self, text: bytes) -> None:
        """Read until that was said."""
        while text not in self.said:
            piece = await anext(self._output, None)
            assert piece is not None, self.said
            self.said += piece.data


async def test_streams_are_told_apart(bench: Bench) -> None:
    code, out, err = await run(bench.host, bench.order("sh", "-c", "echo out; echo err >&2; exit 3"))
    assert (code, out, err) == (3, "out\n", "err\n")


async def test_input_reaches_the_command(bench: Bench) -> None:
    process = await bench.launch("cat")
    await process.write(b"one ")
    await process.write(b"two")
    await process.close_stdin()
    assert await collected(process) == (0, "one two", "")
    with pytest.raises(BrokenPipeError):
        await process.write(b"three")
    await process.close_stdin()


async def test_without_stdin_a_command_reads_nothing(bench: Bench) -> None:
    process = await bench.launch("cat", stdin=False)
    assert await collected(process) == (0, "", "")
    with pytest.raises(BrokenPipeError):
        await process.write(b"x")


async def test_a_write_that_nobody_reads_can_be_given_up(bench: Bench) -> None:
    process = await bench.launch("sleep", "100")
    with anyio.move_on_after(0.05) as patience:
        await process.write(bytes(10_000_000))
    assert patience.cancelled_caught
    await process.end(0)
    with pytest.raises(BrokenPipeError):
        await process.write(b"x")


async def test_a_write_hears_that_the_command_ended(bench: Bench) -> None:
    process = await bench.launch("sh", "-c", "head -c 100000 > /dev/null; sleep 1000 &")
    with pytest.raises(BrokenPipeError):
        await process.write(bytes(1_000_000))
    await process.end(0)


async def test_a_flood_waits_for_its_reader(bare: Bench) -> None:
    process = await bare.launch("sh", "-c", "exec yes")
    output = process.output()
    first = await anext(output)
    assert len(first.data) <= 64 * 1024
    # Asleep because the pipe is full, not because it has nothing to say.
    wchan = Path(f"/proc/{process.pid}/wchan")
    await until(lambda: wchan.read_text() == "0" or "pipe" in wchan.read_text())  # 0: this kernel does not tell
    await process.end(0)
    rest = [piece async for piece in output]
    assert sum(len(piece.data) for piece in rest) <= 128 * 1024


async def test_the_output_ends_with_the_command_not_with_what_it_left_behind(bench: Bench) -> None:
    process = await bench.launch("sh", "-c", "echo started; sleep 1000 & echo done")
    with anyio.fail_after(SECONDS):
        assert await collected(process) == (0, "started\ndone\n", "")
    assert len(bench.host.live) == 1
    await process.end(0)
    assert bench.host.live == frozenset()


async def test_a_noisy_rest_is_heard_no_longer(bench: Bench) -> None:
    process = await bench.launch("sh", "-c", "yes & echo done")
    with anyio.fail_after(SECONDS):
        code, _, _ = await collected(process)
    assert code == 0
    await process.end(0)


async def test_a_command_that_always_has_more_to_say_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    source, theirs = os.pipe()
    streams = Streams(False, None, {source: "stdout"})
    monkeypatch.setattr(streams, "_piece", lambda source: Output("stdout", b"y\n"))
    steps, pieces = 0, 0

    async def other() -> None:
        nonlocal steps
        for _ in range(5):
            steps += 1
            await checkpoint()

    async with anyio.create_task_group() as tasks, aclosing(streams.read()) as output:
        tasks.start_soon(other)
        async for _ in output:
            pieces += 1
            if steps == 5 or pieces == 1000:
                break
        assert steps == 5
    os.close(theirs)


async def test_large_output_is_complete(bench: Bench) -> None:
    code, out, _ = await run(bench.host, bench.order("seq", "200000"))
    assert (code, len(out), out[-7:]) == (0, 1288895, "200000\n")


async def test_a_signal_is_the_exit_code(bench: Bench) -> None:
    code, _, _ = await run(bench.host, bench.order("sh", "-c", "kill -9 $$"))
    assert code in (-9, 137)  # bubblewrap says it as a shell does


async def test_a_terminal_is_one(bench: Bench) -> None:
    script = "stty size; test -t 0 && test -t 1 && test -t 2 && echo yes; echo through > /dev/tty"
    code, out, err = await run(bench.host, bench.order("sh", "-c", script, tty=True, size=(40, 100)))
    assert (code, out, err) == (0, "40 100\r\nyes\r\nthrough\r\n", "")


async def test_a_terminal_changes_size(bench: Bench) -> None:
    script = """import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print("on", flush=True)
signal.sigwait([signal.SIGWINCH])
print(*os.get_terminal_size(), flush=True)
signal.pause()"""
    process = await bench.launch(*PYTHON, script, tty=True)
    listener = Listener(process)
    await listener.until(b"on")
    process.resize(11, 22)
    await listener.until(b"22 11")
    await process.end(0)
    process.resize(1, 1)


async def test_control_c_interrupts_the_command_alone(bench: Bench) -> None:
    script = """import time
try: print("on", flush=True); time.sleep(100)
except KeyboardInterrupt: print("caught", flush=True); input()"""
    process = await bench.launch(*PYTHON, script, tty=True)
    listener = Listener(process)
    await listener.until(b"on")
    await process.write(b"\x03")
    await listener.until(b"caught")
    assert process.returncode is None
    await process.write(b"\n")
    assert await process.wait() == 0


async def test_an_interrupt_needs_no_terminal(bench: Bench) -> None:
    process = await bench.launch("sh", "-c", "trap 'echo caught; exit 7' INT; echo on; while :; do sleep 0.01; done")
    listener = Listener(process)
    await listener.until(b"on")
    process.interrupt()
    await listener.until(b"caught")
    assert await process.wait() == 7


async def test_the_end_of_input_at_a_terminal(bench: Bench) -> None:
    process = await bench.launch("cat", tty=True)
    await process.write(b"line\n")
    listener = Listener(process)
    await listener.until(b"line\r\nline")
    await process.close_stdin()
    assert await process.wait() == 0


async def test_a_polite_end_lets_a_command_finish(bench: Bench) -> None:
    process = await bench.launch("sh", "-c", "trap 'echo bye; exit 5' TERM; echo on; while :; do sleep 0.01; done")
    listener = Listener(process)
    await listener.until(b"on")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.end, SECONDS)
        await listener.until(b"bye")
    assert process.returncode == 5


async def test_who_is_told_to_end_twice_hears_it_once_unless_it_is_to_end_sooner(
    bare: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await bare.launch("sh", "-c", "trap '' TERM; sleep 100")
    assert isinstance(process, WardedProcess)
    told: list[bytes] = []
    tell = process._tell
    monkeypatch.setattr(process, "_tell", lambda line: (told.append(line), tell(line)))
    async with asyncio.TaskGroup() as tasks:
        for grace in (60, 60, 90, 0):
            tasks.create_task(process.end(grace=grace))
    assert told == [b"T 60.000\n", b"T 0.000\n"]


async def test_ending_twice_is_ending_once(bench: Bench) -> None:
    process = await bench.launch("sh", "-c", "trap '' TERM; sleep 100")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.end, SECONDS * 2)
        tasks.start_soon(process.end, 0)  # whoever is in a greater hurry wins
    await process.end()
    process.abort()
    assert process.returncode is not None


async def test_a_stopped_command_ends_too(bench: Bench) -> None:
    process = await bench.launch("sh", "-c", "echo on; kill -STOP $$; echo never")
    await Listener(process).until(b"on")
    await process.end(SECONDS)
    assert process.returncode not in (None, 0)


async def test_aborting_does_not_wait(bench: Bench) -> None:
    process = await bench.launch("sh", "-c", "trap '' TERM; sleep 100")
    process.abort()
    assert await process.wait() in (-9, 137)


async def test_cancelling_a_launch_leaves_nothing(bench: Bench) -> None:
    for wait in range(12):
        with anyio.CancelScope() as scope:
            asyncio.get_running_loop().call_later(wait / 1000, scope.cancel)
            process = await bench.launch("sleep", "100")
            await process.wait()
    await bench.host.end_all(0)
    assert bench.host.live == frozenset()


async def test_many_at_once(bench: Bench) -> None:
    results: list[tuple[int, str, str]] = []

    async def one(number: int) -> None:
        results.append(await run(bench.host, bench.order("sh", "-c", f"echo {number}; exit {number}")))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert sorted(results) == [(number, f"{number}\n", "") for number in range(20)]


async def test_a_long_command_line_and_a_large_environment(bench: Bench) -> None:
    bench.place.env |= {f"V{number}": "x" * 1000 for number in range(200)}
    _, out, complaints = await run(bench.host, bench.order("sh", "-c", "echo ${#1} ${#V199}", "sh", "y" * 100_000))
    assert out == "100000 1000\n", complaints


async def test_a_keeper_that_was_killed_is_replaced(bare: Bench) -> None:
    process = await bare.launch("sleep", "100")
    os.kill(parent_of(parent_of(process.pid)), 9)
    assert await process.wait() == -9  # its warden went with it, and took the command along
    assert (await run(bare.host, bare.order("echo", "again")))[1] == "again\n"


# A keeper that is given one process and no more.
LIMITED = """
import os, sys
sys.path.insert(0, sys.argv[1])
fork, keeper, left = os.fork, os.getpid(), [1]
def limited():
    if os.getpid() == keeper and not left:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    if os.getpid() == keeper:
        left.pop()
    return fork()
os.fork = limited
from threadloom.exec.tree.main import main
main()
"""


async def test_where_no_process_can_be_had_those_that_run_stay(monkeypatch: pytest.MonkeyPatch, bare: Bench) -> None:
    monkeypatch.setattr("threadloom.exec.keeping.PROGRAM", LIMITED)
    process = await bare.launch("cat")
    send = keeping._send_plan

    async def late(peer: socket.socket, plan: Plan) -> None:
        await anyio.wait_readable(peer)  # the refusal comes first, and nobody is there for the plan any more
        await send(peer, plan)

    monkeypatch.setattr(keeping, "_send_plan", late)
    with pytest.raises(LaunchError, match="no process for the command: Resource temporarily unavailable"):
        await bare.launch("true")
    await process.write(b"still here\n")
    await Listener(process).until(b"still here")


@contextmanager
def room_for(files: int) -> Iterator[None]:
    """A process that can open so many files more."""
    opened = {int(it) for it in os.listdir("/proc/self/fd")}  # with the one that lists them, which is gone by now
    free = [number for number in range(max(opened) + files + 2) if not Path(f"/proc/self/fd/{number}").is_symlink()]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[files], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("tty", [False, True])
async def test_where_no_more_files_can_be_opened_a_command_is_refused_and_none_stays_open(
    bench: Bench, tty: bool
) -> None:
    await run(bench.host, bench.order("true"))
    before = open_files()
    for files in range(12):
        with room_for(files):
            try:
                process = await bench.launch("true", tty=tty)
            except LaunchError as fault:
                assert "Too many open files" in str(fault)  # noqa: PT017 - with enough of them it starts
                continue
        await process.end(0)
        await process.wait()
        del process
    assert bench.host.live == frozenset()
    assert not open_files() - before
    assert not (bench.place.work / "tree" / SETTINGS).exists()
    assert (await run(bench.host, bench.order("echo", "again")))[1] == "again\n"


async def test_where_nobody_can_be_had_to_start_a_command_it_says_so(
    monkeypatch: pytest.MonkeyPatch, bare: Bench
) -> None:
    def refused(descriptor: int) -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as poor:
        poor.setattr(keeping, "_spawn", refused)
        before = open_files()
        with pytest.raises(LaunchError, match="nobody to start the command: Resource temporarily unavailable"):
            await bare.launch("true")
        assert not open_files() - before
    assert (await run(bare.host, bare.order("echo", "again")))[1] == "again\n"


async def test_a_warden_that_was_killed_leaves_nothing(bare: Bench) -> None:
    process = await bare.launch("sh", "-c", "setsid sleep 1000 & echo on $!; wait")
    listener = Listener(process)
    await listener.until(b"\n")
    hidden = Path(f"/proc/{listener.said.split()[1].decode()}")
    os.kill(parent_of(process.pid), 9)
    assert await process.wait() == -9
    await until(lambda: not hidden.exists())


async def test_what_no_signal_ends_keeps_no_server_from_stopping(monkeypatch: pytest.MonkeyPatch, bare: Bench) -> None:
    process = await bare.launch("sleep", "100")
    with monkeypatch.context() as deaf:  # as a process of somebody else's is
        deaf.setattr(WardedProcess, "_tell", lambda self, line: None)
        deaf.setattr(launch, "STUCK", 0.01)
        deaf.setattr(keeping, "GOODBYE", 0.01)
        with anyio.fail_after(SECONDS):
            await bare.host.close(0)
        assert not process.gone
    process.abort()
    await until(lambda: process.gone)


async def test_what_no_signal_ends_keeps_no_client_waiting(monkeypatch: pytest.MonkeyPatch, bare: Bench) -> None:
    errand = Errand(bare.order("sleep", "100"), seconds=0.01, cap=None, tell=None)
    await errand.start(bare.host)
    process = await errand.process()
    assert process is not None
    with monkeypatch.context() as deaf:
        deaf.setattr(WardedProcess, "_tell", lambda self, line: None)
        deaf.setattr(errands, "STUCK", 0.01)
        with anyio.fail_after(SECONDS):
            assert (await errand.finish()).code == errands.TIMED_OUT
    process.abort()


async def test_a_closed_host_starts_nothing(bare: Bench) -> None:
    await bare.host.close()
    with pytest.raises(LaunchError, match="stopping"):
        await bare.launch("true")


def test_uvloop_serves_as_well(tmp_path: Path) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def story() -> None:
        for kind, mode in WAYS.values():
            bench = Bench(host_of(kind), Workplace(tmp_path / (kind + mode)), mode)
            await test_streams_are_told_apart(bench)
            await test_input_reaches_the_command(bench)
            await test_a_write_that_nobody_reads_can_be_given_up(bench)
            await test_a_terminal_is_one(bench)
            await test_large_output_is_complete(bench)
            await bench.host.close()

    uvloop.run(story())
