"""Reads the tables of docs/tiling.md."""

from __future__ import annotations

from helpers.paths import ROOT

PAGE = ROOT / "docs" / "tiling.md"


def column(name: str) -> dict[str, str]:
    """The cells of the column of that name, by the first cell of their row."""
    found: dict[str, str] = {}
    at = None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            at = None
        elif name in cells:
            at = cells.index(name)
        elif at is not None and not cells[0].startswith("---"):
            found[cells[0]] = cells[at]
    return found


def megabytes(name: str) -> list[float]:
    """A column of MB of the ten layers, without their sum."""
    return [float(cell) for row, cell in column(name).items() if row.startswith("conv")]
