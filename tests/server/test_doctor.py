"""`threadloom doctor` tells what works here and what does not, and changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import THREADLOOM, bound_by_modes, environment, server_home
from tests.support.stores import Scribe
from tests.support.storing import event, fold, fork, index, opened, thread

from threadloom.cli.doctor import findings
from threadloom.config import Settings
from threadloom.exec.launch import FORCE, diagnose
from threadloom.store.blobs import INLINE, OWNERS

TIMEOUT = 30  # seconds; it takes half of one


def doctor(room: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Have it look around."""
    return subprocess.run(
        [*THREADLOOM, "doctor", *words],
        env=environment(room) | variables,
        cwd=room,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        preexec_fn=bound_by_modes,
    )


def found(room: Path, *words: str, code: int = 0, **variables: str) -> dict[str, list[dict[str, Any]]]:
    """What it found, by what it is about."""
    done = doctor(room, "--json", *words, **variables)
    assert (done.returncode, done.stderr) == (code, ""), done
    report = json.loads(done.stdout)
    assert report["usable"] == (code == 0)
    by_subject: dict[str, list[dict[str, Any]]] = {}
    for it in report["findings"]:
        by_subject.setdefault(it["about"], []).append(it)
    return by_subject


def states(findings: list[dict[str, Any]]) -> list[str]:
    return [it["state"] for it in findings]


def test_a_new_home_is_fine_and_stays_as_it_was(tmp_path: Path) -> None:
    done = doctor(tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done
    lines = [it.split("\t") for it in done.stdout.splitlines()]
    assert {len(it) for it in lines} == {3}
    assert {state for state, _, _ in lines} == {"ok", "note"}
    assert list(tmp_path.iterdir()) == []


def test_the_sandbox_that_works_is_named(tmp_path: Path) -> None:
    kind = diagnose({}).kind
    assert [it["text"] for it in found(tmp_path)["sandbox"]] == [kind]


def test_a_sandbox_without_mounts_says_what_it_cannot_keep(tmp_path: Path) -> None:
    if diagnose({FORCE: "landlock-only"}).kind != "landlock":
        pytest.skip("this kernel has no Landlock")
    [sandbox] = found(tmp_path, **{FORCE: "landlock-only"})["sandbox"]
    assert "commands that may write have to be approved" in sandbox["text"]
    assert "neither .git nor the modes and times" in sandbox["text"]


def test_without_bubblewrap_on_the_path_the_next_one_is_taken(tmp_path: Path) -> None:
    if diagnose({FORCE: "landlock"}).kind != "landlock":
        pytest.skip("this kernel has no Landlock")
    report = found(tmp_path, PATH=str(tmp_path))
    assert report["sandbox"][0]["text"].startswith("landlock")
    assert "package `bubblewrap`" in report["bubblewrap"][0]["text"]


def test_no_sandbox_at_all_is_broken_unless_none_is_wanted(tmp_path: Path) -> None:
    report = found(tmp_path, code=1, **{FORCE: "none"})
    assert states(report["sandbox"]) == ["broken", "note"]
    report = found(tmp_path, "-c", "sandbox_mode=danger-full-access", **{FORCE: "none"})
    assert states(report["sandbox"]) == ["note", "note"]


def test_faults_of_the_configuration_are_told_with_their_place(tmp_path: Path) -> None:
    home = Path(environment(tmp_path)["THREADLOOM_HOME"])
    home.mkdir(parents=True)
    (home / "config.toml").write_text('unheard_of = 1\nsandbox_mode = "open"\n')
    report = found(tmp_path, code=1)["configuration"]
    assert sorted(states(report)) == ["broken", "note"]
    assert all(str(home / "config.toml") in it["text"] for it in report)
    assert states(found(tmp_path, "-c", "model=x", code=1)["configuration"]) == states(report)


def test_a_model_without_its_key_is_broken(tmp_path: Path) -> None:
    home = Path(environment(tmp_path)["THREADLOOM_HOME"])
    home.mkdir(parents=True)
    table = '[model_providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\nenv_key = "MINE"\n'
    (home / "config.toml").write_text(f'model = "m"\nmodel_provider = "mine"\n{table}')
    [model] = found(tmp_path, code=1)["model"]
    assert (model["state"], "set MINE" in model["text"]) == ("broken", True)
    [model] = found(tmp_path, MINE="a secret")["model"]
    assert (model["state"], model["text"]) == ("ok", "m from mine (http://127.0.0.1:9/v1)")
    [model] = found(tmp_path, "-c", "model_provider=nobody", code=1)["model"]
    assert "nobody" in model["text"]


def test_an_index_that_is_strange_is_made_anew_and_does_no_harm(tmp_path: Path) -> None:
    home = Path(environment(tmp_path)["THREADLOOM_HOME"])
    home.mkdir(parents=True)
    (home / "index.sqlite").write_text("this is no database, and long enough to be seen to be none" * 20)
    [index] = found(tmp_path)["index"]
    assert (index["state"], "made anew" in index["text"]) == ("note", True)


def test_a_home_that_is_no_folder_is_broken(tmp_path: Path) -> None:
    home = Path(environment(tmp_path)["THREADLOOM_HOME"])
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text("")
    assert states(found(tmp_path, code=1)["home"]) == ["broken"]


@pytest.mark.parametrize(
    ("closed", "mode", "words"),
    [
        ("threadloom", 0o500, "cannot be written to"),
        ("threadloom", 0o000, "cannot be written to"),
        ("threadloom/sessions", 0o000, "sessions cannot be read"),
    ],
)
def test_a_home_that_is_closed_to_its_user_is_broken(tmp_path: Path, closed: str, mode: int, words: str) -> None:
    with opened("file", server_home(tmp_path)) as store:
        thread(store, event(1))
    shut = tmp_path / closed
    shut.chmod(mode)
    try:
        home = found(tmp_path, code=1)["home"]
    finally:
        shut.chmod(0o700)
    assert any(it["state"] == "broken" and words in it["text"] for it in home), home


def test_a_home_on_a_full_disk_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = os.statvfs(tmp_path)
    full = os.statvfs_result((*left[:4], 0, *left[5:10]))
    settings = Settings(tmp_path)
    assert [it.state for it in findings(settings) if it.about == "home"] == ["ok"]
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    [home] = (it for it in findings(settings) if it.about == "home")
    assert (home.state, "disk that is full" in home.text) == ("broken", True)


# ── what is reached from nowhere ──────────────────────────────────────────────────────────────────────────────────────


def orphans(room: Path) -> dict[str, list[str]]:
    """What it says of logs and long values, but for paths."""
    report = found(room)
    return {about: [it["text"].split(": /")[0] for it in report[about]] for about in ("logs", "blobs")}


WELL = "all in use"
LOST = "that nothing needs any more; the next start of a server removes them"


def test_what_nothing_needs_any_more_is_found(tmp_path: Path) -> None:
    home = server_home(tmp_path)
    scribe = Scribe(home)
    [thread_id] = scribe.threads(1, 1_794_000_000_000)
    scribe.store.close()
    assert orphans(tmp_path) == {"logs": [f"1 of them, {WELL}"], "blobs": [WELL]}
    [log] = home.rglob(f"*{thread_id}.jsonl")
    log.rename(f"{log}.kept")
    lost = [home / "blobs" / "ab" / f"{number:064x}" for number in range(5)]
    lost[0].parent.mkdir(parents=True)
    for it in lost:
        it.write_text("x")
    seen = found(tmp_path)
    assert [(it["state"], it["paths"]) for it in seen["logs"]] == [("note", [f"{log}.kept"])]
    [told] = seen["blobs"]
    assert (told["state"], told["paths"]) == ("note", [str(it) for it in lost])
    assert told["text"].endswith(f"{lost[2]} and 2 more, which --json lists")
    assert all(it.exists() for it in lost)


async def test_what_a_fork_or_a_line_of_a_log_needs_is_not_lost_until_they_are_gone(tmp_path: Path) -> None:
    home = server_home(tmp_path)
    with opened("file", home) as store:
        source = thread(store, event(1, "x" * INLINE + "y"))
        further = fork(store, source, 1, event(2))
        last = fork(store, further, 2, event(3))
        for it in (source, further, last):
            index(store, it)
        for it in (source, further):
            store.remove(it.header.thread_id)
        await store.index.settled()
    shutil.rmtree(home / "blobs" / OWNERS)  # as an older version left it: only the line says that it is needed
    assert orphans(tmp_path) == {"logs": [f"3 of them, {WELL}"], "blobs": [WELL]}
    os.unlink(str(last.path))
    assert orphans(tmp_path) == {"logs": [f"2 {LOST}"], "blobs": [WELL]}, "one stood on the other"
    with opened("file", home) as store:
        await store.recover(fold)
    assert list(home.rglob("rollout-*")) == [], "as it was told"


def test_a_log_that_no_thread_can_be_made_of_is_found(tmp_path: Path) -> None:
    home = server_home(tmp_path)
    scribe = Scribe(home)
    ids = scribe.threads(2, 1_794_000_000_000)
    scribe.store.close()
    [log] = home.rglob(f"*{ids[0]}.jsonl")
    log.write_bytes(log.read_bytes().replace(b'"thread', b'"THREAD'))
    (home / "index.sqlite").unlink()
    [told] = found(tmp_path)["logs"]
    assert (told["state"], told["paths"]) == ("note", [str(log)])
    assert "bring them back from a backup, or remove them" in told["text"]


def test_what_cannot_be_read_among_the_logs_is_named_and_nothing_else_is_called_needless(tmp_path: Path) -> None:
    home = server_home(tmp_path)
    scribe = Scribe(home)
    ids = scribe.threads(2, 1_794_000_000_000)
    scribe.store.close()
    [log] = home.rglob(f"*{ids[0]}.jsonl")
    (blob := home / "blobs" / "00" / ("0" * 64)).parent.mkdir(parents=True)
    blob.write_text("what a thread out of reach may need")
    (loop := home / "sessions" / "2020").symlink_to("2020")
    os.mkfifo(pipe := log.with_name(log.name.replace(ids[0], "pipe")))
    (shut := home / "sessions" / "2019").mkdir(mode=0o000)
    try:
        report = found(tmp_path)
        listed = subprocess.run(
            [*THREADLOOM, "list"],
            env=environment(tmp_path),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            preexec_fn=bound_by_modes,
        )
    finally:
        shut.chmod(0o700)
    [told] = report["logs"]
    assert (told["state"], set(told["paths"])) == ("note", {str(loop), str(pipe), str(shut)})
    assert "blobs" not in report
    assert (listed.returncode, {line.split("\t")[0] for line in listed.stdout.splitlines()}) == (0, set(ids))


@pytest.mark.parametrize("change", [b"z", b"?"])  # one bit and more
def test_a_log_with_a_damaged_header_is_named(tmp_path: Path, change: bytes) -> None:
    home = server_home(tmp_path)
    scribe = Scribe(home)
    ids = scribe.threads(2, 1_794_000_000_000)
    scribe.store.close()
    [log] = home.rglob(f"*{ids[0]}.jsonl")
    log.write_bytes(change + log.read_bytes()[1:])
    [told] = found(tmp_path)["logs"]
    assert (told["state"], told["paths"]) == ("note", [str(log)])
    assert "with a damaged header" in told["text"]
    assert f"note\tlogs\t{told['text']}" in doctor(tmp_path).stdout.splitlines()
