"""scripts/mutants.py: the form of its table, and its output about mutants that survive."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from helpers.paths import ROOT

SCRIPTS = ROOT / "scripts"
ROOMS = {
    "npu_dialect": {"", "npu", "interpreters", "pl330", "dsp"},
    "npu_plans": {"arena", "kernels", "modules", "rows", "spills", "tiles", "transfers"}
    | {"zero_blocks"},
    "npu_passes": {"support", "analysis", "graph", "pl330", "buffers", "modules", "rows"}
    | {"placing", "tiling", "lowering", "overlap", "spilling", "zero_blocks", "emit"},
    "npu_tools": {"commands", "compiling", "importers", "verifying", "reports", "pictures"}
    | {"quantizing", "integration", "pages", "shared"},
}


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    monkeypatch.setattr(sys, "path", [str(SCRIPTS), *sys.path])
    return import_module("mutants")


def test_every_line_of_the_table_is_up_to_date(mutants: ModuleType) -> None:
    """Each old line stands in its file once, and the tests exist."""
    table = mutants.read_table()
    assert [each for mutant in table for each in mutants.complaints(mutant)] == []
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in table}) == len(table) >= 100
    assert sum(not mutant.reason for mutant in table) >= mutants.LEAST * len(table)


def test_every_room_has_mutants(mutants: ModuleType) -> None:
    found = Counter(mutant.room for mutant in mutants.read_table())
    rooms = {"/".join(filter(None, (package, room))) for package, r in ROOMS.items() for room in r}
    assert rooms - found.keys() == set()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"old": "no such line"}, "found it 0 times"),
        ({"old": "def "}, "times"),
        ({"file": "src/none.py"}, "found it 0 times"),
        ({"new": "class NotPlain(Exception):"}, "expected another line"),
        ({"tests": ()}, "expected tests"),
        ({"tests": ("tests/none.py",)}, "no test tests/none.py"),
        ({"tests": ("tests/scripts/test_check.py::test_none",)}, "no test tests/scripts"),
    ],
)
def test_complaints(mutants: ModuleType, changes: dict[str, object], message: str) -> None:
    fields: dict[str, object] = {
        "number": 1,
        "file": "scripts/run_lines.py",
        "old": "class NotPlain(Exception):",
        "new": "class Plain(Exception):",
        "tests": ("tests/scripts/test_check.py",),
    }
    assert list(mutants.complaints(mutants.Mutant(**fields))) == []
    assert message in "\n".join(mutants.complaints(mutants.Mutant(**{**fields, **changes})))


MUTANT = """\
[[mutant]]
file = "src/npu_dialect/windows.py"
old = "{old}"
new = "{new}"
tests = ["tests/dialect/test_windows.py"]
"""


def run(path: Path, table: str) -> tuple[int, str]:
    """Exit code and output of the script on another table."""
    (path / "table.toml").write_text(table)
    command = (sys.executable, "mutants.py", "--table", str(path / "table.toml"))
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=SCRIPTS, check=False, timeout=600
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_what_is_noticed_and_what_survives(tmp_path: Path) -> None:
    before = (ROOT / "src/npu_dialect/windows.py").read_text()
    wrong = MUTANT.format(old="return max(0, high)", new="return high + 1")
    alike = MUTANT.format(old="return max(0, high)", new="return max(high, 0)")
    excused = f'{alike}reason = "they are the same"\n'
    code, text = run(tmp_path, wrong + alike)
    assert code == 1
    assert "1 of 2 mutants noticed" in text
    assert text.splitlines()[-1] == "1 passed, 2 failed"  # a survivor, and under 90 %
    code, text = run(tmp_path, wrong * 9 + excused)
    assert (code, text.splitlines()[-1]) == (0, "10 passed, 0 failed")
    assert (ROOT / "src/npu_dialect/windows.py").read_text() == before


def test_a_share_of_the_table(mutants: ModuleType) -> None:
    found = [
        subprocess.run(
            (sys.executable, SCRIPTS / "mutants.py", "--list", "--share", share),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for share in ("0/2", "1/2")
    ]
    assert [each[0].split()[0] for each in found] == ["#2", "#1"]
    assert sum(map(len, found)) == len(mutants.read_table())


DRAWN = """\
import many_numbers
from hypothesis import given, settings
from hypothesis import strategies as st

@settings(max_examples=300)
@given(st.integers(10**6, 10**9))
def test_drawn(number):
    print(number)
"""
MANY = "some = [{}]\n"


def test_examples_do_not_depend_on_what_stands_in_the_sources(tmp_path: Path) -> None:
    """The same numbers are drawn, whichever constants a loaded file has."""
    found = list[str]()
    for first in (10**7, 10**8):
        (tmp_path / "many_numbers.py").write_text(MANY.format([first + k for k in range(99)]))
        (tmp_path / "test_some.py").write_text(DRAWN)
        script = "from mutants import run_pytest; raise SystemExit(not run_pytest(['-s', '.']))"
        done = subprocess.run(
            (sys.executable, "-c", script),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(SCRIPTS), "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found.append("\n".join(line for line in done.stdout.splitlines() if line.isdecimal()))
    assert found[0] == found[1]
    assert len(found[0].splitlines()) >= 290
