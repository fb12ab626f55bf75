"""Writes `constraints.txt` from the versions that are installed in this Python.

    python scripts/constraints.py

It pins every package that this project and its extras need, directly or indirectly. torch and the
packages that only torch needs are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PINS = Path(__file__).resolve().parent.parent / "constraints.txt"
PROJECT = "npu-dialect"
UNPINNED = ("torch", "sympy")
"""torch, and a package of which each version of torch needs another version."""


def requirements(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    """The requirements of an installed package with these extras, on this Python."""
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def pins() -> dict[str, str]:
    """The versions of all packages that the project needs, by name.

    Raises: PackageNotFoundError if one is not installed.
    """
    extras = distribution(PROJECT).metadata.get_all("Provides-Extra") or []
    waiting = [(PROJECT, frozenset(extras))]
    done: set[tuple[str, frozenset[str]]] = set()
    found: dict[str, str] = {}
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in done or name in UNPINNED:
            continue
        done.add((name, wanted))
        found[name] = distribution(name).version
        waiting += [
            (canonicalize_name(each.name), frozenset(each.extras))
            for each in requirements(name, wanted)
        ]
    del found[PROJECT]
    return found


def main() -> int:
    """Write a line for each package below the comment at the top; returns the exit code."""
    try:
        lines = [f"{name}=={version}" for name, version in sorted(pins().items())]
    except PackageNotFoundError as error:
        print(f"{error.name} is not installed: make venv docs TRAIN=1")
        return 1
    head = PINS.read_text(encoding="utf-8").partition("\n\n")[0]
    PINS.write_text("\n".join([head, "", *lines]) + "\n", encoding="utf-8")
    print(f"{PINS.name}: {len(lines)} packages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
