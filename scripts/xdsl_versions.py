"""Runs the tests with other versions of xDSL: `make test-xdsl` runs this.

    python scripts/xdsl_versions.py 0.70 0.74 [--tests PATH ...]

For each version `X.Y`, the newest `X.Y.*` is installed in a virtual environment of its own in
`build/xdsl/X.Y`. The other packages have the versions of `constraints.txt`. lit and the fast part
of pytest run there. Every version runs, even if an earlier one failed. The last lines sum up.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "xdsl"
LIT = ("-c", "from lit.main import main; main()")


def pins_without_xdsl() -> str:
    """The text of `constraints.txt` without the line for xDSL."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("xdsl==")) + "\n"


def environment(version: str) -> Path | None:
    """The Python of an environment with a version of xDSL; None if that cannot be installed."""
    folder = FOLDER / version
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pins = folder / "constraints.txt"
    pins.write_text(pins_without_xdsl() + f"xdsl=={version}.*\n", encoding="utf-8")
    install = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", pins)
    done = subprocess.run([*install, "-e", ".[test]"], cwd=ROOT, check=False)
    return None if done.returncode else python


def passes(python: Path, lit_tests: Sequence[str], pytests: Sequence[str]) -> bool:
    """Run lit and pytest in an environment on these paths; returns whether both succeed."""
    workers = str(os.cpu_count() or 1)
    commands: list[tuple[str, ...]] = []
    if lit_tests:
        commands.append((*LIT, *lit_tests, "-j", workers, "-q"))
    if pytests:
        commands.append(("-m", "pytest", "-q", "-n", workers, *pytests))
    codes = [
        subprocess.run([python, *command], cwd=ROOT, check=False).returncode for command in commands
    ]
    return not any(codes)


def main() -> int:
    """Test the versions on the command line; returns 0 if all pass."""
    parser = argparse.ArgumentParser(description="run the tests on other versions of xDSL")
    parser.add_argument("versions", nargs="+", metavar="X.Y", help="such as 0.70")
    parser.add_argument(
        "--tests",
        nargs="+",
        default=["lit-tests", "tests"],
        metavar="PATH",
        help="folders or files of lit-tests and tests (default: all)",
    )
    options = parser.parse_args()
    tests: list[str] = options.tests
    lit_tests = [path for path in tests if path.startswith("lit-tests")]
    pytests = [path for path in tests if not path.startswith("lit-tests")]
    outcomes: dict[str, str] = {}
    for version in options.versions:
        print(f"== xDSL {version}", flush=True)
        python = environment(version)
        if python is None:
            outcomes[version] = "cannot be installed"
        else:
            outcomes[version] = "passed" if passes(python, lit_tests, pytests) else "failed"
    for version, outcome in outcomes.items():
        print(f"xDSL {version}: {outcome}")
    return 0 if set(outcomes.values()) == {"passed"} else 1


if __name__ == "__main__":
    sys.exit(main())
