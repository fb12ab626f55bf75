"""Runs the checks of the project, one after the other, and sums them up: `make test` runs this.

Every check runs even if an earlier one failed. Pyright runs beside the others, on one core: it
prints when all have ended. The summary names the slowest tests, and how long
each check took: wall-clock seconds, and CPU seconds of all cores together. The last line of the
output has the form `N passed, N failed, N skipped`. It counts each lit test, each pytest test, and
one for each other check.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent


FILES = ("-o", "junit_family=xunit1")
"""Options of pytest, for a report that names the file of each test."""


@dataclass
class Result:
    """The outcome of one check: how many tests passed, and the names of those that did not."""

    passed: int = 0
    failed: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """How long each test took, by name."""


class Here(threading.local):
    """What belongs to one thread: it runs one check at a time.

    `cores` are the CPU seconds of the processes that it started, `output` is where they print, if
    not to the output of this program.
    """

    cores = 0.0
    output: IO[str] | None = None


HERE = Here()


@dataclass(frozen=True)
class Time:
    """A point in time or a duration: wall-clock seconds, and CPU seconds of child processes."""

    clock: float
    cores: float

    @staticmethod
    def now() -> Time:
        """The present, counted from an arbitrary start."""
        return Time(time.monotonic(), HERE.cores)

    def since(self, start: Time) -> Time:
        """The duration from `start` to this point."""
        return Time(self.clock - start.clock, self.cores - start.cores)


SLOWEST = 10
"""How many of the slowest tests the summary names."""
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""The environment that limits numpy to one thread, as each worker of pytest has one core."""


def run(module: str, *arguments: str) -> int:
    """Run a tool of this Python in the root of the checkout; returns its exit code.

    It prints to the same output. It runs as a module, because the scripts of a virtual environment
    stop working when the checkout moves.
    """
    print(f"$ python -m {module} {' '.join(arguments)}", file=HERE.output, flush=True)
    environment = {**os.environ, **ONE_CORE, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    # Tests start Python hundreds of times, and each time it would compile the modules again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = ("-c", "from lit.main import main; main()") if module == "lit" else ("-m", module)
    return call((sys.executable, *start, *arguments), environment)


def call(command: tuple[str, ...], environment: dict[str, str] | None = None) -> int:
    """Run a command in the root of the checkout; returns its exit code."""
    output = HERE.output
    errors = None if output is None else subprocess.STDOUT
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=errors)
    _, status, used = os.wait4(process.pid, 0)
    HERE.cores += used.ru_utime + used.ru_stime
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode


def plain(*command: str) -> Callable[[Path], Result]:
    """A check that runs one command, and counts as one test."""

    def check(_: Path) -> Result:
        name = " ".join(command)
        return Result(failed=[name]) if run(*command) else Result(passed=1)

    return check


WITH_TORCH = ("tools/npu_train", "tests/train", "tests/helpers/train_files.py")
"""The files that use torch's types; only `make test TRAIN=1` installs torch."""
NEEDS_TORCH = tuple(f"pyright {name}: needs torch (make test TRAIN=1)" for name in WITH_TORCH)
"""The lines of the summary that say that their types were not checked."""


def pyright(folder: Path) -> Result:
    """Check the types; without torch, the files in `WITH_TORCH` are skipped."""
    if find_spec("torch") is not None:
        return check_types()
    result = check_types(exclude=list(WITH_TORCH))
    result.skipped = list(NEEDS_TORCH)
    return result


def pyright_of_torch(folder: Path) -> Result:
    """Check the types of the files in `WITH_TORCH`; without torch, they are skipped."""
    if find_spec("torch") is None:
        return Result(skipped=list(NEEDS_TORCH))
    return check_types(include=list(WITH_TORCH))


def check_types(**options: list[str]) -> Result:
    """Run pyright with the packages of this Python; `options` override those of pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    prefix = Path(sys.prefix)
    here = {"venvPath": str(prefix.parent), "venv": prefix.name}
    config = ROOT / ".pyright.json"  # its folder is where imports are looked for
    config.write_text(json.dumps({**settings["tool"]["pyright"], **here, **options}))
    try:
        return Result(failed=["pyright"]) if run("pyright", "-p", config.name) else Result(passed=1)
    finally:
        config.unlink()


def explain(tool: str, code: int, result: Result) -> Result:
    """Add a failure if a tool failed without a failing test, or ran no tests at all."""
    if code and not result.failed:
        result.failed.append(f"{tool}: exit code {code}")
    elif not (result.passed or result.failed or result.skipped):
        result.failed.append(f"{tool}: no tests")
    return result


def lit(folder: Path) -> Result:
    """Run the lit tests. UNSUPPORTED counts as skipped, an expected failure as passed."""
    report = folder / "lit.json"
    workers = str(os.cpu_count() or 1)
    code = run(
        "lit",
        "lit-tests",
        "-j",
        workers,
        "--order=lexical",
        "-o",
        str(report),
        "--test-output=failed",
        "--print-result-after=failed",
    )
    result = Result()
    if report.exists():
        for test in json.loads(report.read_text(encoding="utf-8"))["tests"]:
            name = test["name"]
            result.seconds[name] = test["elapsed"]
            if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
                result.passed += 1
            elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
                result.skipped.append(name)
            else:
                result.failed.append(f"{name}: {test['code']}")
    return explain("lit", code, result)


def pytest(folder: Path, *selection: str) -> Result:
    """Run the pytest tests. An error in a fixture or during collection counts as failed.

    `selection` are more arguments for pytest.
    """
    report = folder / "pytest.xml"
    workers = str(min(os.cpu_count() or 1, 8))
    # Idle workers take tests from others: some tests take minutes.
    cores = ("-n", workers, "--dist", "worksteal")
    code = run("pytest", "-q", *cores, f"--junit-xml={report}", *FILES, *selection)
    result = Result()
    if report.exists():
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            name = f"{case.get('file', '')}::{case.get('name', '')}"
            result.seconds[name] = float(case.get("time", 0))
            if case.find("failure") is not None or case.find("error") is not None:
                result.failed.append(name)
            elif (skip := case.find("skipped")) is not None:
                result.skipped.append(f"{name}: {skip.get('message', '')}")
            else:
                result.passed += 1
    return explain("pytest", code, result)


def all_of_pytest(folder: Path) -> Result:
    """Run all pytest tests, also those that pyproject.toml leaves out."""
    return pytest(folder, "-m", "")


def pytest_of_torch(folder: Path) -> Result:
    """Run the pytest tests that need torch, without the slow ones."""
    return pytest(folder, "-m", "torch and not slow")


def rest_of_pytest(folder: Path) -> Result:
    """Run a share of the slow tests, of those that need torch, and of all examples of properties.

    Long tests are not among them. The commit's hash says which share.
    """
    wanted = "(slow or torch or hypothesis) and not long"
    return pytest(folder, "-m", wanted, "--share", share_of(TEST_SHARES))


def long_pytest(folder: Path) -> Result:
    """Run the tests of tests/long.txt."""
    return pytest(folder, "-m", "long")


def documentation(_: Path) -> Result:
    """Build the documentation, as `make docs` does; a broken link is a failure."""
    return script("docs.py")


def mutants(_: Path) -> Result:
    """Check that the tests of each room notice the planted faults of scripts/mutants.toml.

    The other checks say whether these tests pass without a fault.
    """
    return script("mutants.py", "--passing", "-j", str(os.cpu_count() or 1))


TEST_SHARES, FAULT_SHARES = 3, 6
"""Continuous integration runs one of so many shares of the tests that `make test` leaves out, and
plants one of so many shares of the faults."""


def share_of(shares: int) -> str:
    """The share, as number/shares, that the commit's hash chooses."""
    found = subprocess.run(
        ("git", "rev-parse", "HEAD"), cwd=ROOT, check=False, capture_output=True, text=True
    )
    return f"{int(found.stdout.strip() or '0', 16) % shares}/{shares}"


def some_mutants(_: Path) -> Result:
    """Plant a share of the faults; the commit's hash says which one."""
    workers = str(os.cpu_count() or 1)
    return script("mutants.py", "--passing", "--share", share_of(FAULT_SHARES), "-j", workers)


def script(name: str, *arguments: str) -> Result:
    """Run a script of this folder, which counts as one test."""
    command = (f"scripts/{name}", *arguments)
    print(f"$ python {' '.join(command)}", flush=True)
    return Result(failed=[command[0]]) if call((sys.executable, *command)) else Result(passed=1)


CHECKS: dict[str, Callable[[Path], Result]] = {
    "ruff check": plain("ruff", "check", "."),
    "ruff format": plain("ruff", "format", "--check", "."),
    "pyright": pyright,
    "lit": lit,
    "pytest": pytest,
    "all of pytest": all_of_pytest,
    "pyright of torch": pyright_of_torch,
    "pytest of torch": pytest_of_torch,
    "rest of pytest": rest_of_pytest,
    "long pytest": long_pytest,
    "docs": documentation,
    "mutants": mutants,
    "some mutants": some_mutants,
}
NAMES = ("ruff check", "ruff format", "pyright", "lit", "pytest")
"""The checks that run if the command line names none."""
ASIDE = frozenset({"pyright", "pyright of torch"})
"""The checks that run beside the others. On two threads they would take nearly twice the work."""


def summarise(results: dict[str, tuple[Result, Time]]) -> int:
    """Print slow, skipped and failed tests, a line for each check, and the last line.

    Returns the exit code.
    """
    times = [pair for result, _ in results.values() for pair in result.seconds.items()]
    if slowest := sorted(times, key=lambda pair: -pair[1])[:SLOWEST]:
        print("\nslowest:")
        print("\n".join(f"  {seconds:6.1f} s  {name}" for name, seconds in slowest))
    for title in ("skipped", "failed"):
        names: list[str] = [
            name for result, _ in results.values() for name in getattr(result, title)
        ]
        if names:
            print(f"\n{title}:")
            print("\n".join(f"  {name}" for name in names))
    print()
    passed = failed = skipped = 0
    for name, (result, took) in results.items():
        counts = (result.passed, len(result.failed), len(result.skipped))
        print(f"{name:16} {counts[0]:5} passed {counts[1]:5} failed {counts[2]:5} skipped", end="")
        print(f" {took.clock:6.0f} s {took.cores:6.0f} s of all cores")
        passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def main() -> int:
    """Run the checks named on the command line, or `NAMES`; returns the exit code."""
    names = sys.argv[1:] or list(NAMES)
    if unknown := [name for name in names if name not in CHECKS]:
        print(f"unknown check {unknown[0]!r}: expected {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    return summarise(run_checks(names))


def run_checks(names: list[str]) -> dict[str, tuple[Result, Time]]:
    """Run checks by their names, those of `ASIDE` beside the others; they print at the end."""
    results: dict[str, tuple[Result, Time]] = {}
    waiting: dict[str, Future[tuple[Result, Time]]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+", encoding="utf-8") as text,
        ThreadPoolExecutor(1) as thread,
    ):
        for name in names:
            if name in ASIDE:
                waiting[name] = thread.submit(run_check, name, Path(folder), text)
        for name in names:
            if name not in ASIDE:
                results[name] = run_check(name, Path(folder))
        results |= {name: future.result() for name, future in waiting.items()}
        text.seek(0)
        print(text.read(), end="", flush=True)
    return {name: results[name] for name in names}


def run_check(name: str, folder: Path, output: IO[str] | None = None) -> tuple[Result, Time]:
    """Run one check, which may print to `output`; gives its outcome and how long it took."""
    HERE.output = output
    start = Time.now()
    result = CHECKS[name](folder)
    return result, Time.now().since(start)


if __name__ == "__main__":
    sys.exit(main())
