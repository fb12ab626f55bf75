"""Plants faults in the code, and checks that the tests of their room notice them.

    .venv/bin/python scripts/mutants.py              all mutants of scripts/mutants.toml
    .venv/bin/python scripts/mutants.py --room npu_plans/arena -j 2
    .venv/bin/python scripts/mutants.py --only 7 --only 8
    .venv/bin/python scripts/mutants.py --share 1/2  those with odd numbers
    .venv/bin/python scripts/mutants.py --list

A mutant changes one line of a product file. Its tests run on a temporary copy of the sources, so
the checkout is never changed. A mutant is noticed if one of its tests fails or hangs. A mutant that
survives makes the run fail, unless the table says why no test can notice it. The run also fails if
less than 90 % of the mutants are noticed, or if a test fails without a mutant. With `--passing` it
is taken as known that none does: that is half of the time, and `make test` runs the same tests.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

from run_lines import NotPlain, passes, run_lines

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts" / "mutants.toml"
SOURCES = ("src", "passes", "tools")
LEAST = 0.9
"""The share of mutants that must be noticed."""
LIMIT = 120
"""Seconds after which the tests of a mutant count as hanging."""

PRELOADED = (
    *("pytest", "hypothesis", "numpy", "onnx", "onnx.helper", "scipy.optimize", "onnxruntime"),
    *("xdsl.dialects", "xdsl.dialects.linalg", "xdsl.dialects.memref", "xdsl.dialects.scf"),
    *("xdsl.interpreters", "xdsl.universe", "xdsl.xdsl_opt_main", "filecheck.main"),
)
"""Modules that many tests import and no mutant changes. They are loaded once, before forks."""


SOURCE_NUMBERS = "hypothesis.internal.conjecture.providers._get_local_constants"
"""What gives Hypothesis the numbers that stand in the loaded sources."""


@dataclass(frozen=True)
class Mutant:
    """A line of a file, what it is changed to, and the tests of its room that must notice.

    `number` is its place in the table, from 1. `reason` says why no test can notice it, if so.
    """

    number: int
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    reason: str = ""

    @property
    def room(self) -> str:
        """The package and the folder of the file, such as `npu_plans/arena`; else the package."""
        _, package, *folders, _ = Path(self.file).parts
        return "/".join([package, *folders[:1]])

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()} -> {self.new.strip() or 'nothing'}"


def read_table(path: Path = TABLE) -> list[Mutant]:
    """The mutants of the table, numbered from 1."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return [
        Mutant(n, m["file"], m["old"], m["new"], tuple(m["tests"]), m.get("reason", ""))
        for n, m in enumerate(found, 1)
    ]


def complaints(mutant: Mutant) -> Iterator[str]:
    """Messages on what is wrong with an entry of the table."""
    path = ROOT / mutant.file
    count = path.read_text(encoding="utf-8").count(mutant.old) if path.is_file() else 0
    if count != 1:
        yield f"{mutant.file}: expected {mutant.old!r} once, found it {count} times"
    if mutant.old == mutant.new or "\n" in mutant.old + mutant.new:
        yield f"{mutant.file}: expected another line for {mutant.old!r}, got {mutant.new!r}"
    if not mutant.tests:
        yield f"{mutant.file}: expected tests for {mutant.old!r}"
    for test in mutant.tests:
        name, _, function = test.partition("::")
        home = ROOT / name
        if not home.exists():
            yield f"{mutant.file}: no test {test}"
        elif function and f"def {function.partition('[')[0]}(" not in home.read_text("utf-8"):
            yield f"{mutant.file}: no test {test}"


class Copy:
    """A copy of the sources in which mutants are planted, one at a time."""

    def __init__(self, folder: Path) -> None:
        """Copy the sources into a folder, and compile them."""
        self.folder = folder
        for name in SOURCES:
            shutil.copytree(ROOT / name, folder / name)
        compileall.compile_dir(folder, quiet=2)
        self.planted: tuple[str, str] | None = None

    def write(self, file: str, text: str) -> None:
        """Replace the text of a file in the copy."""
        path = self.folder / file
        path.write_text(text, encoding="utf-8")
        compileall.compile_file(path, quiet=2, force=True)

    def plant(self, mutant: Mutant) -> None:
        """Change the line of a mutant in the copy."""
        text = (self.folder / mutant.file).read_text(encoding="utf-8")
        self.planted = (mutant.file, text)
        self.write(mutant.file, text.replace(mutant.old, mutant.new))

    def restore(self) -> None:
        """Undo the change of the mutant, if one is planted."""
        if self.planted is not None:
            self.write(*self.planted)
        self.planted = None

    def run(self, tests: Sequence[str]) -> bool:
        """Run tests on the copy, in this process and its children; returns whether all pass."""
        sources = [str(self.folder / name) for name in SOURCES]
        sys.path[:0] = sources
        os.environ["PYTHONPATH"] = os.pathsep.join(sources)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        os.chdir(ROOT)
        lit = [test for test in tests if test.startswith("lit-tests/")]
        plain = [test for test in tests if test not in lit]
        return (not plain or run_pytest(plain)) and (not lit or self.run_lit(lit))

    def run_lit(self, tests: Sequence[str]) -> bool:
        """Run lit tests on the copy until one fails; returns whether all pass.

        Those with plain RUN lines run in this process, the others in lit. Their output files go
        into the folder of the copy.
        """
        others: list[str] = []
        for test in (path for name in tests for path in lit_files(ROOT / name)):
            try:
                lines = run_lines(test, ROOT / "lit-tests" / "lit.cfg.py")
            except NotPlain:
                others.append(str(test))
                continue
            if not all(map(passes, lines)):
                print(f"FAIL: {test.relative_to(ROOT)}")
                return False
        options = ["-D", f"sources={os.environ['PYTHONPATH']}", "-D", f"output={self.folder}/lit"]
        start = (sys.executable, "-c", "from lit.main import main; main()")
        command = [*start, "-j1", "--max-failures=1", "-v", *options, *others]
        return not others or subprocess.run(command, check=False).returncode == 0


def lit_files(path: Path) -> list[Path]:
    """The lit test at a path, or all those in a folder."""
    if path.is_file():
        return [path]
    found = sorted(path.rglob("*.mlir"))
    return [each for each in found if not {"Inputs", "Output"} & set(each.parts)]


def run_pytest(tests: Sequence[str]) -> bool:
    """Run pytest in this process until a test fails; returns whether some ran and all passed."""
    import pytest
    from hypothesis import Phase, settings
    from hypothesis.internal.constants_ast import Constants

    # No shrinking, as nobody reads the smallest example; and the same examples each time. They may
    # not be numbers that stand in the loaded sources, as Hypothesis would draw them: those change
    # with any line, and with what is installed.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", phases=phases, derandomize=True, database=None)
    settings.load_profile("mutants")
    options = ("-q", "-x", "-m", "", "-p", "no:xdist", "-p", "no:cacheprovider")
    with patch(SOURCE_NUMBERS, return_value=Constants()):
        code = pytest.main([*options, *tests])
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        print("no such tests")
    return code == pytest.ExitCode.OK


SPENT: list[float] = []
"""The CPU seconds of each process that has ended."""


@dataclass
class Job:
    """Tests that run in a process of their own, on a copy in which a mutant may be planted."""

    process: int
    copy: Copy
    mutant: Mutant | None
    start: float = field(default_factory=time.monotonic)
    ended: bool = False
    passed: bool = False
    hangs: bool = False

    @staticmethod
    def begin(copy: Copy, tests: Sequence[str], mutant: Mutant | None = None) -> Job:
        """Plant the mutant, and fork a process that runs the tests; its output goes to a file."""
        if mutant is not None:
            copy.plant(mutant)
        sys.stdout.flush()
        process = os.fork()
        return Job(process, copy, mutant) if process else end_with(copy, tests)

    @property
    def log(self) -> str:
        """The output of the tests."""
        return (self.copy.folder / "log").read_text(encoding="utf-8", errors="replace")

    def poll(self, limit: float) -> bool:
        """Check whether the tests have ended. After `limit` seconds they are killed, as hanging."""
        found, status, usage = os.wait4(self.process, os.WNOHANG)
        if found:
            SPENT.append(usage.ru_utime + usage.ru_stime)
            self.ended, self.passed = True, status == 0
            self.copy.restore()
        elif time.monotonic() - self.start > limit:
            self.hangs = True
            self.kill()
        return self.ended

    def kill(self) -> None:
        """Kill the process and all that it has started, if it has not ended."""
        if self.ended:
            return
        self.ended = True
        for end in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                end(self.process, signal.SIGKILL)
        SPENT.append(sum(os.wait4(self.process, 0)[2][:2]))
        self.copy.restore()


def end_with(copy: Copy, tests: Sequence[str]) -> NoReturn:
    """Run tests in this process and exit, with code 0 if they pass."""
    code = 1
    try:
        os.setpgid(0, 0)
        output = os.open(copy.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = 0 if copy.run(tests) else 1
    finally:
        sys.stdout.flush()
        os._exit(code)


def passes_without(copy: Copy, mutants: Sequence[Mutant]) -> bool:
    """Whether the tests of these mutants pass on the unchanged sources."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    print(f"{len(tests)} tests without a mutant", flush=True)
    job = Job.begin(copy, tests)
    try:
        while not job.poll(20 * LIMIT):
            time.sleep(0.02)
    finally:
        job.kill()
    if not job.passed:
        print(job.log)
    return job.passed


def run_all(copies: Sequence[Copy], mutants: Sequence[Mutant]) -> list[Job]:
    """Run the tests of each mutant, as many mutants at once as there are copies."""
    ended: list[Job] = []
    running: list[Job] = []
    free, todo = list(copies), list(mutants)
    try:
        while todo or running:
            while todo and free:
                mutant = todo.pop(0)
                running.append(Job.begin(free.pop(), mutant.tests, mutant))
            for job in [job for job in running if job.poll(LIMIT)]:
                running.remove(job)
                ended.append(job)
                free.append(job.copy)
                say(job, f"{len(ended):3}/{len(mutants)}")
            time.sleep(0.02)
    finally:
        for job in running:
            job.kill()
    return ended


def say(job: Job, place: str) -> None:
    """Print the outcome of a mutant, with its number in the table."""
    assert job.mutant is not None
    seconds = time.monotonic() - job.start
    outcome = "hangs" if job.hangs else "survived" if job.passed else "noticed"
    print(f"{place} {outcome:8} {seconds:5.1f} s  #{job.mutant.number} {job.mutant}", flush=True)
    if job.passed and job.mutant.reason:
        print(f"        because {job.mutant.reason}", flush=True)


def summarise(jobs: Sequence[Job]) -> int:
    """Print a line for each room and a summary; returns the exit code."""
    rooms: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: job.mutant.room if job.mutant else ""):
        rooms.setdefault(job.mutant.room if job.mutant else "", []).append(job)
    print(f"\n{'room':28} mutants noticed")
    for room, mine in rooms.items():
        print(f"{room:28} {len(mine):7} {sum(not job.passed for job in mine):7}")
    noticed = sum(not job.passed for job in jobs)
    failed = sum(job.passed and not (job.mutant and job.mutant.reason) for job in jobs)
    few = noticed < LEAST * len(jobs)
    print(f"\n{noticed} of {len(jobs)} mutants noticed, {sum(SPENT):.0f} CPU seconds")
    if few:
        print(f"expected at least {LEAST:.0%} to be noticed")
    print(f"{len(jobs) - failed} passed, {failed + few} failed")
    return 1 if failed or few else 0


def chosen(arguments: argparse.Namespace) -> list[Mutant]:
    """The mutants that the command line asks for."""
    mutants = read_table(arguments.table)
    if arguments.room:
        mutants = [each for each in mutants if each.room.startswith(arguments.room)]
    if arguments.only:
        mutants = [each for each in mutants if each.number in arguments.only]
    if arguments.share:
        rest, parts = arguments.share
        mutants = [each for each in mutants if each.number % parts == rest]
    return mutants


def share(text: str) -> tuple[int, int]:
    """The two numbers of `K/N`: mutants whose numbers leave K when they are divided by N."""
    rest, _, parts = text.partition("/")
    return int(rest), int(parts)


def main() -> int:
    """Run the mutants; returns the exit code. See the docstring of this file."""
    parser = argparse.ArgumentParser(description="plant faults, and see whether tests notice")
    parser.add_argument("--table", type=Path, default=TABLE, help="another table")
    parser.add_argument("--room", help="only mutants of rooms whose names begin so")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="only mutant N")
    parser.add_argument("--share", type=share, metavar="K/N", help="only each Nth mutant")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    parser.add_argument("--passing", action="store_true", help="tests pass without mutants")
    parser.add_argument("-j", type=int, default=1, metavar="N", help="run N mutants at once")
    arguments = parser.parse_args()
    mutants = chosen(arguments)
    if arguments.list:
        for mutant in mutants:
            print(f"#{mutant.number} {mutant.room}: {mutant}")
        return 0
    wrong = [each for mutant in mutants for each in complaints(mutant)]
    if wrong or not mutants:
        print("\n".join(wrong) or "no such mutant", file=sys.stderr)
        print(f"0 passed, {len(wrong) or 1} failed")
        return 1
    for name in PRELOADED:
        import_module(name)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as for Ctrl-C
    with tempfile.TemporaryDirectory() as folder:
        copies = [Copy(Path(folder, str(slot))) for slot in range(max(1, arguments.j))]
        if not arguments.passing and not passes_without(copies[0], mutants):
            print("0 passed, 1 failed")
            return 1
        return summarise(run_all(copies, mutants))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
