"""The tools of lit tests behave like the installed scripts, with the same exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START = "import fork_server; print(fork_server.tools_on_path(), flush=True); input()"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """The folder of launchers of a server that runs during these tests."""
    command = (sys.executable, "-c", START)
    process = subprocess.Popen(
        command, cwd=ROOT / "lit-tests", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    assert (path / "npu-opt").exists()
    yield path
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert not path.exists()


@pytest.mark.slow
def test_what_a_launcher_does_is_what_the_script_does(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "good.mlir").write_text("func.func private @f()\n", encoding="utf-8")
    (tmp_path / "bad.mlir").write_text("func.func @f( {\n", encoding="utf-8")
    installed = Path(sys.executable).parent
    for line in (
        "npu-opt good.mlir --print-op-generic",
        "npu-opt bad.mlir",
        "npu-opt --no-such-option",
        "npu-opt good.mlir | npu-opt --print-op-generic",
        "npu-opt good.mlir -p 'none' 2>&1 | sed s/none/some/",
        "npu-opt good.mlir >/dev/full",
    ):
        found: list[tuple[int, str, str]] = []
        for place in (folder, installed):
            search = os.pathsep.join((str(place), os.environ["PATH"]))
            done = subprocess.run(
                ("bash", "-o", "pipefail", "-c", line),
                cwd=tmp_path,
                env={**os.environ, "PATH": search},
                capture_output=True,
                text=True,
                check=False,
            )
            found.append((done.returncode, done.stdout, done.stderr.replace(f"{place}/", "")))
        assert found[0] == found[1], line


def test_a_tool_that_dies_fails_its_launcher(folder: Path, tmp_path: Path) -> None:
    """The process of the tool is killed while the tool waits for input."""
    server = (folder / "server.pid").read_text(encoding="utf-8")
    children = Path(f"/proc/{server}/task/{server}/children")
    before = set(children.read_text().split())
    process = subprocess.Popen([folder / "npu-opt"], cwd=tmp_path, stdin=subprocess.PIPE)
    while not (forks := set(children.read_text().split()) - before):
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(int(forks.pop()), 9)
    process.communicate(timeout=60)
    assert process.returncode == -6
