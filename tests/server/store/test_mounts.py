"""A disk that is really full, a home that is really read-only: with mounts, which nobody else sees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.processes import ROOT, environment

# Without root, a user namespace gives the right to mount.
UNSHARE = ["unshare", "--mount", "--propagation", "private", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def can_mount() -> bool:
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    attempt = [*UNSHARE, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
    return subprocess.run(attempt, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="this machine lets nobody mount: neither root nor user namespaces")
@pytest.mark.parametrize("task", ["full", "read_only", "nowhere"])
def test_a_disk_that_takes_nothing_is_a_clear_error_and_no_crash(task: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    ran = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.server.store.mounted", task, str(home)],
        env=environment(tmp_path),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
