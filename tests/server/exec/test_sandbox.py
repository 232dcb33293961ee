"""Inside the sandbox: what has to work there does, and what keeps it up is told."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.exec_rooms import GUARDED, KINDS, PATH, Workplace, host_of, run

from threadloom.exec import choice
from threadloom.exec.base import Fence, LaunchError, SandboxUnavailable
from threadloom.exec.fence import fence_of
from threadloom.exec.launch import FORCE, Host, diagnose
from threadloom.exec.sandbox import bubblewrap, own, seccomp, trials
from threadloom.exec.sandbox.guards import FOLDERS, guarded, in_repository, writable
from threadloom_protocol.v2.values.policy import (
    DangerFullAccessSandboxPolicy,
    ExternalSandboxSandboxPolicy,
    ReadOnlySandboxPolicy,
    WorkspaceWriteSandboxPolicy,
)

PYTHON = sys.executable
WORKS = {
    "pipes": ("seq 1000 | grep 7 | wc -l", "271"),
    "background jobs": ("(echo one > ../a) & (echo two > ../b) & wait; cat ../a ../b", "one\ntwo"),
    "temporary files": ('f=$(mktemp) && echo kept > "$f" && cat "$f"', "kept"),
    "reading the system": ("head -c 4 /etc/passwd", "root"),
    "the date": ("test $(date +%Y) -gt 2020 && echo yes", "yes"),
    "devices": ("echo x > /dev/null && head -c 4 /dev/zero | wc -c && echo y >/dev/stderr && cat /dev/stdin", "4"),
    "scripts of one's own": ("printf '#!/bin/sh\\necho ran' > ../s && chmod +x ../s && ../s", "ran"),
    "links inside": ("echo x > ../one && ln ../one ../two && ln -s two ../three && cat ../three", "x"),
    "moving between folders": ("echo x > ../f && mkdir -p ../n/m && mv ../f ../n/m/g && cat ../n/m/g", "x"),
    "fifos": ("mkfifo ../p && (echo through > ../p &) && cat ../p", "through"),
    "signals among one's own": ("sleep 100 & kill $! && wait $! ; echo $?", "143"),
    "fork": (f"{PYTHON} -c 'import os; p = os.fork(); p or os._exit(7); print(os.waitpid(p, 0)[1] >> 8)'", "7"),
    "threads": (
        f"{PYTHON} -c 'import threading as t; l = []; s = [t.Thread(target=l.append, args=(1,)) for _ in range(8)]; "
        "[x.start() for x in s]; [x.join() for x in s]; print(len(l))'",
        "8",
    ),
    "pairs of sockets": (
        f"{PYTHON} -c 'import socket; a, b = socket.socketpair(); a.send(b\"hi\"); print(b.recv(9).decode())'",
        "hi",
    ),
    "an event loop": (f"{PYTHON} -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, 5)))'", "5"),
    "subprocesses": (f'{PYTHON} -c \'import subprocess as s; print(s.getoutput("echo sub"))\'', "sub"),
    "memory that runs": (
        f"{PYTHON} -c 'import mmap; m = mmap.mmap(-1, 4096, prot=7); m.write(b\"x\"); print(len(m))'",
        "4096",
    ),
    "a database": (
        f"{PYTHON} -c 'import sqlite3; c = sqlite3.connect(\"../db\"); c.execute(\"create table t (a)\"); c.commit(); "
        "print(c.execute(\"select count(*) from t\").fetchone()[0])'",
        "0",
    ),
    "a Python build": (f"echo 'x = 1' > ../m.py && {PYTHON} -m compileall -q .. && ls ../__pycache__ | wc -l", "1"),
    "a virtual environment": (f"{PYTHON} -m venv --without-pip ../venv && ../venv/bin/python -c 'print(6 * 7)'", "42"),
    "git": ("cd ../../repo && git status --porcelain && git log --format=%s", "first"),
    "git where it is guarded": ("cd ../repo && git status --porcelain && git log --format=%s", "first"),
    "a C program": ("echo 'int main(void){return 3;}' > ../c.c && cc -o ../c ../c.c && ../c; echo $?", "3"),
    "make": ("printf 'all:\\n\\t@echo made\\n' > ../Makefile && make -s -C ..", "made"),
}  # fmt: skip
NEEDS = {"git": "git", "git where it is guarded": "git", "a C program": "cc", "make": "make"}
# These take a private /dev/shm or /dev/pts, which only namespaces give.
WORKS_IN_NAMESPACES = {
    "locks between processes": (
        f"{PYTHON} -c 'import multiprocessing as m; l = m.Lock(); l.acquire(); print(l.acquire(False))'",
        "False",
    ),
    "terminals of one's own": (f'{PYTHON} -c \'import pty; pty.spawn(["echo", "typed"])\'', "typed"),
    "processes of one's own alone": ("ls /proc | grep -c '^[0-9]'", ""),
}


@pytest.fixture(scope="module", params=KINDS)
async def host(request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    host = host_of(request.param)
    yield host
    await host.close()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


@pytest.mark.parametrize("name", WORKS)
async def test_ordinary_work_goes_on(host: Host, place: Workplace, name: str) -> None:
    if name in NEEDS and not shutil.which(NEEDS[name]):
        pytest.skip(f"{NEEDS[name]} is not installed")
    if NEEDS.get(name) == "git":
        _repository((place.room if name == "git" else place.work) / "repo")
    command, expected = WORKS[name]
    _, said, complaints = await run(host, place.order(["sh", "-c", command], stdin=False))
    assert said.strip() == expected, complaints


@pytest.mark.parametrize("name", WORKS_IN_NAMESPACES)
async def test_what_namespaces_make_possible(host: Host, place: Workplace, name: str) -> None:
    if not host.guards_git:
        pytest.skip("no namespaces")
    command, expected = WORKS_IN_NAMESPACES[name]
    code, said, complaints = await run(host, place.order(["sh", "-c", command], stdin=False))
    assert code == 0, complaints
    if expected:
        assert said.strip() == expected
    else:
        assert int(said) < 6  # the shell and the pipe, not those of the machine


def _repository(folder: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)


async def test_a_command_sees_no_descriptor_of_the_server(host: Host, place: Workplace) -> None:
    _, said, _ = await run(host, place.order(["sh", "-c", "ls /proc/$$/fd"]))
    assert set(said.split()) <= {"0", "1", "2", "10", "255"}  # the last two are a shell's own


async def test_a_command_has_no_privileges(host: Host, place: Workplace) -> None:
    _, said, _ = await run(host, place.order(["cat", "/proc/self/status"]))
    lines = dict(line.split(":\t") for line in said.splitlines() if ":\t" in line)
    assert {lines[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")


async def test_the_network_is_there_when_it_is_allowed(host: Host, place: Workplace) -> None:
    code = (
        "import socket; a = socket.create_server(('127.0.0.1', 0)); socket.create_connection(a.getsockname()); print(1)"
    )
    _, said, complaints = await run(host, place.order([PYTHON, "-c", code], network=True))
    assert said == "1\n", complaints


async def test_the_environment_is_the_orders_own(host: Host, place: Workplace) -> None:
    place.env["STRANGE"] = "a\nb=\udcff"
    _, said, _ = await run(
        host, place.order([PYTHON, "-c", "import os; print(sorted(os.environ), ascii(os.environ['STRANGE']))"])
    )
    names, _, strange = said.partition("]")
    assert strange.strip() == r"'a\nb=\udcff'"
    assert set(names.strip("[").replace("'", "").split(", ")) - {"PWD", "LC_CTYPE"} == set(place.env)


def _shown() -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended meanwhile
            found.append(path.read_bytes())
    return found


async def test_nothing_of_a_command_shows_in_the_list_of_processes_but_itself(place: Workplace) -> None:
    """The environment may hold secrets: bubblewrap gets it through a file, not as words that anybody can read."""
    place.env["PASSPHRASE"] = "sesame-a81f"
    host = host_of("bubblewrap")
    try:
        process = await host.launch(place.order(["cat"]))
        shown = _shown()
        await process.end(0)
    finally:
        await host.close()
    assert not [words for words in shown if b"sesame-a81f" in words]


async def test_new_repositories_may_be_made_where_there_is_none(host: Host, place: Workplace) -> None:
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    code, _, complaints = await run(host, place.order(["git", "init", "-q", str(place.work / "sub")]))
    assert (code, (place.work / "sub/.git/HEAD").exists()) == (0, True), complaints


async def test_without_any_sandbox_a_fenced_command_is_refused(place: Workplace) -> None:
    host = host_of("none")
    try:
        with pytest.raises(
            SandboxUnavailable, match=r"No sandbox works here.*apt-get install bubblewrap.*danger-full-access"
        ):
            await host.launch(place.order(["touch", str(place.work / "ran")]))
        with pytest.raises(SandboxUnavailable):
            await host.launch(place.order(["true"], mode="read-only"))
        assert not (place.work / "ran").exists()
        assert (await run(host, place.order(["echo", "free"], mode="danger-full-access")))[1] == "free\n"
        assert (host.kind, host.guards_git) == ("none", False)
    finally:
        await host.close()


async def test_a_sandbox_that_nobody_knows_is_no_sandbox(place: Workplace) -> None:
    host = Host({FORCE: "bubblewarp"})
    try:
        with pytest.raises(SandboxUnavailable, match="not 'bubblewarp'"):
            await host.launch(place.order(["true"]))
    finally:
        await host.close()


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without bubblewrap."""
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that knows nothing of its machine yet."""
    known = choice.choose, choice.pick, choice._bubblewrap
    monkeypatch.setattr(choice, "_begun", {})
    for it in known:
        it.cache_clear()
    yield
    for it in known:
        it.cache_clear()


@pytest.mark.usefixtures("hidden", "untried")
def test_a_missing_bubblewrap_is_named() -> None:
    assert "`bwrap` is not on the PATH" in diagnose({FORCE: "bubblewrap"}).reasons["bubblewrap"]


@pytest.mark.usefixtures("untried")
def test_a_bubblewrap_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    told = diagnose({FORCE: "bubblewrap"}).reasons["bubblewrap"]
    assert told == "bwrap: No permissions to create new namespace"


@pytest.mark.skipif("bubblewrap" not in KINDS, reason="bubblewrap is hidden in this run")
async def test_no_command_can_put_another_bubblewrap_in_front(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A virtual environment in the workspace is on the PATH of a server that was started in it."""
    (place.work / "bin").mkdir()
    host = host_of("bubblewrap")
    try:
        for folder in (str(place.work / "bin"), f"{place.work}/tree/../bin"):
            monkeypatch.setenv("PATH", f"{folder}:{PATH}")
            trap = f"#!/bin/sh\necho escaped > {place.outside}/new\n"
            script = f"printf '%s' '{trap}' > ../bin/bwrap && chmod +x ../bin/bwrap"
            assert (await run(host, place.order(["sh", "-c", script])))[0] == 0
            assert (await run(host, place.order(["echo", "fenced"])))[:2] == (0, "fenced\n")
            assert not (place.outside / "new").exists()
            monkeypatch.chdir(place.work)
            assert trials.bubblewrap() == shutil.which("bwrap", path=PATH)  # when it is tried, too
    finally:
        await host.close()


def test_a_bubblewrap_that_is_nowhere_else_is_taken_from_the_workspace(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = place.work / "bwrap"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", str(place.work))
    assert trials.bubblewrap([str(place.work)]) == str(own)


def test_the_diagnosis_names_what_is_in_use() -> None:
    for kind in ("bubblewrap", "landlock", "none"):
        assert diagnose({FORCE: kind}).kind == kind
    assert diagnose({}).kind == "bubblewrap"
    assert diagnose({}).guards_git
    assert "sandbox" in diagnose({FORCE: "none"}).reasons


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_a_program_that_the_kernel_can_take(machine: str) -> None:
    for network in (True, False):
        code = seccomp.program(network, metadata=False, namespaces=False, machine=machine)
        assert len(code) % 8 == 0
        assert 8 * 50 < len(code) < 8 * 4096  # BPF_MAXINSNS


def test_a_policy_becomes_a_fence() -> None:
    here, kept = {"TMPDIR": "/var/tmp/x", "THREADLOOM_HOME": "/h"}, ("/h",)
    workspace = WorkspaceWriteSandboxPolicy(writable_roots=["/data", "sub"], network_access=True)
    assert fence_of(workspace, "/w", here) == Fence(
        "workspace-write", ("/w", "/data", "/w/sub", "/tmp", "/var/tmp/x"), True, kept
    )
    bare = WorkspaceWriteSandboxPolicy(exclude_slash_tmp=True, exclude_tmpdir_env_var=True)
    assert fence_of(bare, "/w", here) == Fence("workspace-write", ("/w",), False, kept)
    assert fence_of(ReadOnlySandboxPolicy(), "/w", here) == Fence("read-only")
    assert fence_of(DangerFullAccessSandboxPolicy(), "/w", here).mode == "danger-full-access"
    assert fence_of(ExternalSandboxSandboxPolicy(), "/w", here).mode == "danger-full-access"


def test_what_is_guarded(place: Workplace) -> None:
    fence = Fence("workspace-write", (str(place.work), str(place.work / "missing")))
    roots = writable(fence)
    assert roots == [str(place.work)]
    found = guarded(roots, str(place.work / "tree"), [str(place.work / "home"), str(place.outside), "/missing"])
    assert set(found) == {str(place.work / name) for name in GUARDED}
    assert in_repository(fence, str(place.work))
    assert not in_repository(Fence("workspace-write", (str(place.outside),)), str(place.outside))
    assert not in_repository(Fence("read-only"), str(place.work))


def test_repositories_are_guarded_so_far_beneath_a_root_and_no_farther(tmp_path: Path) -> None:
    near, far = tmp_path / "a/b/c/.git", tmp_path / "d/e/f/g/.git"
    near.mkdir(parents=True)
    far.mkdir(parents=True)
    (tmp_path / "link").symlink_to(far.parent)
    roots = [str(tmp_path)]
    assert guarded(roots, str(tmp_path)) == [str(near)]
    assert set(guarded(roots, str(far.parent))) == {str(near), str(far)}  # a command works in there


def test_a_root_with_more_folders_than_can_be_looked_into_does_not_use_up_anothers(tmp_path: Path) -> None:
    full, other = tmp_path / "full", tmp_path / "the other"
    for at in range(FOLDERS + 1):
        (full / f"{at}/.git").mkdir(parents=True)
    (other / "repo/.git").mkdir(parents=True)
    found = guarded([str(full), str(other)], str(full))
    assert len(found) == FOLDERS + 1
    assert str(other / "repo/.git") in found


async def test_a_guard_that_is_gone_by_the_time_it_is_put_up_stops_nothing(
    host: Host, place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fleeting(roots: list[str], cwd: str, kept: Sequence[str]) -> list[str]:
        return [*guarded(roots, cwd, kept), str(place.work / "gone/.git")]

    monkeypatch.setattr(bubblewrap, "guarded", fleeting)
    monkeypatch.setattr(own, "guarded", fleeting)
    assert (await run(host, place.order(["echo", "ran"])))[:2] == (0, "ran\n")


@pytest.mark.parametrize(
    ("argv", "cwd", "text"),
    [
        (["no-such-program"], "", "there is no program no-such-program"),
        (["./no-such-program"], "", "there is no program ./no-such-program"),
        (["true"], "missing", "the working directory does not exist"),
        ([], "", "there is no command"),
        (["echo", "a\0b"], "", "NUL"),
    ],
)
async def test_a_command_that_cannot_start_says_why(
    host: Host, place: Workplace, argv: list[str], cwd: str, text: str
) -> None:
    order = place.order(argv)
    with pytest.raises(LaunchError, match=text):
        await host.launch(order.__class__(argv, f"{order.cwd}/{cwd}", order.env, order.fence))
    assert host.live == frozenset()
