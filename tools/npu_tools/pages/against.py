"""Two builds side by side: the numbers of another report.json beside those of this one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from npu_tools.pages.answer import moved
from npu_tools.shared.errors import UserError

Table = Mapping[str, Any]

NEEDED = {"model": str, "arena_bytes": int, "layers": list, "memory": dict, "off_chip": dict}
"""Keys of report.json that a comparison reads, with their types."""

NUMBERS = ("offset", "size", "first", "last")
"""Keys of a buffer in `memory_map`."""


@dataclass(frozen=True)
class Pair:
    """A number of this build and of the other one; None where a build has none."""

    title: str
    here: float | None
    there: float | None

    @property
    def change(self) -> float | None:
        """By how many percent this build has more."""
        if self.here is None or not self.there:
            return None
        return 100 * (self.here - self.there) / self.there


def read_report(path: Path) -> dict[str, Any]:
    """Read the report.json of another build.

    Raises: UserError if it is no such file; OSError if it cannot be read.
    """
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"--against {path}: expected a report.json, got no JSON: {error}") from None
    report = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    wrong = next((key for key, kind in NEEDED.items() if not isinstance(report.get(key), kind)), "")
    if wrong := wrong or unlike_ours(report):
        raise UserError(f"--against {path}: expected a report.json of npu-compile, with {wrong}")
    return report


def unlike_ours(report: Table) -> str:
    """The key of a report whose entries are not those of npu-compile; empty if all are."""
    memory: Any = report.get("memory_map") or {"boxes": []}
    checks: dict[str, Callable[[], object]] = {
        "layers": lambda: "".join(row["name"] for row in layer_pairs([], {**report, "time": {}})),
        "time": lambda: list(layer_pairs([], report)),
        "memory_map": lambda: [
            (sum(map(box.get, NUMBERS)), box["name"]) for box in memory["boxes"]
        ],
    }
    for key, check in checks.items():
        try:
            check()
        except (KeyError, TypeError, AttributeError):
            return key
    return ""


def totals(here: Table, there: Table) -> list[Pair]:
    """The numbers of whole builds."""
    return [Pair(title, number(read, here), number(read, there)) for title, read in TOTALS.items()]


TOTALS: Mapping[str, Callable[[Table], Any]] = {
    "arena, bytes": lambda report: report["arena_bytes"],
    "bound, bytes": lambda report: report["memory"]["live_bound_bytes"],
    "SRAM, bytes": lambda report: report["memory"]["sram_bytes"],
    "weights, bytes": lambda report: report["weights_bytes"],
    "off chip, bytes": lambda report: moved(report["off_chip"]),
    "cycles": lambda report: report["time"]["cycles"],
    "cycles that wait": lambda report: report["time"]["exposed_cycles"],
    "instructions": lambda report: report["instructions"],
    "layers": lambda report: len(report["layers"]),
}


def number(read: Callable[[Table], Any], report: Table) -> float | None:
    """A number of a report; None if it has none."""
    try:
        found = read(report)
    except (KeyError, TypeError):
        return None
    return found if isinstance(found, int | float) else None


def layer_pairs(rows: Sequence[Table], there: Table) -> Iterator[dict[str, Any]]:
    """For each layer of both builds: cycles, bytes over the border and offset of both."""
    layers = {each["name"]: each for each in there["layers"]}
    time: Table = there.get("time") or {}
    times = {each["name"]: each for each in time.get("layers", ())}
    for row in rows:
        name = row["name"]
        other, timed = layers.pop(name, None), times.get(name)
        yield {
            "name": name,
            "id": row["id"],
            "cycles": Pair("cycles", row["cycles"], timed and timed["cycles"]),
            "moved": Pair("off chip", row["moved"], timed and timed["transferred_bytes"]),
            "offset": Pair("offset", row["offset"], other and other.get("offset")),
        }
    for name in layers:
        timed = times.get(name)
        yield {
            "name": name,
            "id": None,
            "cycles": Pair("cycles", None, timed and timed["cycles"]),
            "moved": Pair("off chip", None, timed and timed["transferred_bytes"]),
            "offset": Pair("offset", None, layers[name].get("offset")),
        }
