"""scripts/check.py: the summary that `make test` closes with."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from helpers.paths import ROOT


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
    lit = check.Result(passed=3, skipped=["a.mlir"])
    assert check.summarise({"ruff": (check.Result(passed=1), 0.2), "lit": (lit, 3.0)}) == 0
    text = capsys.readouterr().out
    assert "skipped:\n  a.mlir\n" in text
    assert text.splitlines()[-1] == "4 passed, 0 failed, 1 skipped"


def test_a_failure_is_named_and_is_the_exit_code(
    check: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = check.Result(passed=1, failed=["tests/test_x.py::test_y"])
    assert check.summarise({"pytest": (bad, 0.2)}) == 1
    text = capsys.readouterr().out
    assert "failed:\n  tests/test_x.py::test_y\n" in text
    assert text.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_tool_that_runs_nothing_has_failed(check: ModuleType) -> None:
    assert check.explain("lit", 0, check.Result()).failed == ["lit: no tests"]
    assert check.explain("lit", 2, check.Result(passed=1)).failed == ["lit: exit code 2"]
    assert check.explain("lit", 0, check.Result(passed=1)).failed == []


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


def test_slow_tests_are_left_out_by_name() -> None:
    """The names cross from pytest-xdist's workers; `-m ""` brings the tests back."""
    name = "tests/networks/test_light_models.py::test_c_gives_what_is_recorded[vgg19]"
    command = (sys.executable, "-m", "pytest", name, "-q")
    for more in ((), ("-n", "1")):
        done = subprocess.run((*command, *more), cwd=ROOT, capture_output=True, text=True)
        assert name in done.stdout.split("left out: slow (make test-all)")[1].splitlines()
    all_of_it = (*command, "--collect-only", "-m", "")
    done = subprocess.run(all_of_it, cwd=ROOT, capture_output=True, text=True)
    assert name in done.stdout.splitlines()
    assert "left out" not in done.stdout


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
    """What is typed by torch is left out where it is missing, and named."""
    seen: list[dict[str, list[str]]] = []

    def run(module: str, *arguments: str) -> int:
        assert module == "pyright"
        for name in arguments[1:]:
            seen.append(json.loads((tmp_path / name).read_text(encoding="utf-8")))
        return 0

    (tmp_path / "pyproject.toml").write_text('[tool.pyright]\ninclude = ["tools"]\n')
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "run", run)

    def find_spec(name: str) -> object:
        return object() if torch else None

    monkeypatch.setattr(check, "find_spec", find_spec)
    result = check.pyright(tmp_path)
    assert (result.passed, result.failed) == (1, [])
    assert len(result.skipped) == (0 if torch else 2)
    folders = ["tools/npu_train", "tests/train"]
    assert seen == ([] if torch else [{"include": ["tools"], "exclude": folders}])
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]
