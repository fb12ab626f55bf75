"""scripts/check.py: the summary at the end of `make test`."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from helpers.paths import ROOT

COPIED = ("pyproject.toml", "tests/conftest.py", "tests/long.txt", "tests/slow.txt")
"""What a folder needs whose tests are to run as those of the project."""


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("check", ROOT / "scripts" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check"] = module
    spec.loader.exec_module(module)
    return module


def test_summary(check: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    seconds = {f"{index}.mlir": float(index) for index in range(12)}
    lit = check.Result(passed=3, skipped=["a.mlir"], seconds=seconds)
    results = {"ruff": (check.Result(passed=1), check.Time(0.2, 0.1))}
    results["lit"] = (lit, check.Time(3.0, 5.0))
    assert check.summarise(results) == 0
    text = capsys.readouterr().out
    assert "skipped:\n  a.mlir\n" in text
    named = re.findall(r"(\d+\.\d) s  (\S+)$", text, re.MULTILINE)
    assert named == [(f"{index}.0", f"{index}.mlir") for index in range(11, 1, -1)]
    assert re.search(r"^lit .* 3 s +5 s of all cores$", text, re.MULTILINE)
    assert text.splitlines()[-1] == "4 passed, 0 failed, 1 skipped"


def test_a_failure_is_named_and_is_the_exit_code(
    check: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = check.Result(passed=1, failed=["tests/test_x.py::test_y"])
    assert check.summarise({"pytest": (bad, check.Time(0.2, 0.1))}) == 1
    text = capsys.readouterr().out
    assert "failed:\n  tests/test_x.py::test_y\n" in text
    assert text.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_tool_that_runs_nothing_has_failed(check: ModuleType) -> None:
    assert check.explain("lit", 0, check.Result()).failed == ["lit: no tests"]
    assert check.explain("lit", 2, check.Result(passed=1)).failed == ["lit: exit code 2"]
    assert check.explain("lit", 0, check.Result(passed=1)).failed == []


def test_pyright_runs_beside_the_others_and_prints_at_the_end(
    check: ModuleType, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its CPU seconds are its own, and the results are in the order of the names."""
    ended = threading.Event()

    def pyright(_: Path) -> object:
        burn = "import time\nwhile time.process_time() < 0.3: pass\nprint('an error')"
        assert ended.wait(30)
        return check.Result(passed=1 - check.call((sys.executable, "-c", burn)))

    def lit(_: Path) -> object:
        check.call((sys.executable, "-c", "print('a test')"))
        ended.set()
        return check.Result(passed=2)

    monkeypatch.setattr(check, "CHECKS", {"pyright": pyright, "lit": lit})
    results = check.run_checks(["pyright", "lit"])
    assert [(name, result.passed) for name, (result, _) in results.items()] == [
        ("pyright", 1),
        ("lit", 2),
    ]
    assert 0.3 <= results["pyright"][1].cores < 5
    assert results["lit"][1].cores < 0.3
    assert capfd.readouterr().out.splitlines() == ["a test", "an error"]


@pytest.mark.slow
def test_pytest_report(check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "def test_skipped(): pytest.skip('no board')\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(check, "ROOT", tmp_path)
    result = check.pytest(tmp_path)
    assert result.passed == 1
    assert result.failed == ["test_it.py::test_bad"]
    assert result.skipped == ["test_it.py::test_skipped: no board"]
    assert sorted(result.seconds) == [
        f"test_it.py::test_{name}" for name in ("bad", "good", "skipped")
    ]


@pytest.mark.slow
def test_slow_tests_are_left_out_by_name(tmp_path: Path) -> None:
    """pytest-xdist's workers send the names; with `-m ""` the slow tests run."""
    for name in COPIED:
        (tmp_path / Path(name).name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.slow\ndef test_long(): pass\ndef test_short(): pass\n"
    )
    name = "test_it.py::test_long"

    def said(*more: str) -> str:
        command = (sys.executable, "-m", "pytest", "test_it.py", "-v", *more)
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout

    for more in ((), ("-n", "1")):
        text = said(*more)
        assert name in text.split("left out: slow (make test-all)")[1].splitlines()
        assert "1 passed, 1 deselected" in text or more
    everything = said("-m", "")
    assert f"{name} PASSED" in everything
    assert "left out" not in everything


def test_each_test_is_in_one_share(tmp_path: Path) -> None:
    for name in COPIED:
        (tmp_path / Path(name).name).write_bytes((ROOT / name).read_bytes())
    tests = "import pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_it(n): pass\n"
    (tmp_path / "test_it.py").write_text(tests)
    command = (sys.executable, "-m", "pytest", "test_it.py", "-q", "--collect-only", "--share")
    shares: list[set[str]] = []
    for share in ("0/3", "1/3", "2/3"):
        done = subprocess.run((*command, share), cwd=tmp_path, capture_output=True, text=True)
        shares.append({line for line in done.stdout.splitlines() if "::" in line})
    assert [len(each) > 4 for each in shares] == [True] * 3
    assert sum(map(len, shares)) == 40
    assert len(shares[0] | shares[1] | shares[2]) == 40


@pytest.mark.parametrize(("more", "count"), [((), 3), (("-m", ""), 27)])
def test_properties_have_fewer_examples_without_slow_tests(
    tmp_path: Path, more: tuple[str, ...], count: int
) -> None:
    """The number of examples is right even if several tests share the function."""
    for name in COPIED:
        (tmp_path / Path(name).name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "from hypothesis import given, settings, strategies\n"
        "counts = {1: 0, 2: 0}\n"
        "@pytest.mark.parametrize('which', [1, 2])\n"
        "@settings(max_examples=27)\n"
        "@given(strategies.integers())\n"
        "def test_all(which, number): counts[which] += 1\n"
        f"def test_counts(): assert counts == {{1: {count}, 2: {count}}}\n"
    )
    command = (sys.executable, "-m", "pytest", "-q", "test_it.py", *more)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_target_of_make_is_explained() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", text, re.MULTILINE)
    helped = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert all(f"make {target}\t" in helped for target in targets)


@pytest.mark.parametrize("torch", [True, False])
def test_types_without_torch(
    check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch: bool
) -> None:
    """Without torch, folders that use its types are skipped by name; else checked separately."""
    seen: list[dict[str, list[str]]] = []

    def run(module: str, *arguments: str) -> int:
        assert (module, arguments[-2]) == ("pyright", "-p")
        seen.append(json.loads((tmp_path / arguments[-1]).read_text(encoding="utf-8")))
        return 0

    def find_spec(name: str) -> object:
        return object() if torch else None

    (tmp_path / "pyproject.toml").write_text('[tool.pyright]\ninclude = ["tools"]\n')
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "run", run)
    monkeypatch.setattr(check, "find_spec", find_spec)
    result = check.pyright(tmp_path)
    folders = list(check.WITH_TORCH)
    assert (result.passed, result.failed) == (1, [])
    assert len(result.skipped) == (0 if torch else len(folders))
    rest = check.pyright_of_torch(tmp_path)
    assert (rest.passed, rest.skipped) == ((1, []) if torch else (0, result.skipped))
    here = {"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name}
    if torch:
        assert seen == [{"include": ["tools"], **here}, {"include": folders, **here}]
    else:
        assert seen == [{"include": ["tools"], **here, "exclude": folders}]
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]
