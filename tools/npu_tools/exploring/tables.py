"""The tables that npu-explore prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npu_tools.exploring.front import Objective
from npu_tools.exploring.packages import Frame
from npu_tools.shared.text import columns

KEY_DIGITS = 8
"""How many digits of a key are shown, which are enough for `--report`."""


def shown_columns(rows: Frame, aims: Sequence[Objective], varied: Sequence[str]) -> list[str]:
    """The columns of a table: the model if there are several, what varies, the objectives."""
    models = ["model"] if rows["model"].nunique() > 1 else []
    names = [each for each in varied if each in rows.columns]
    tables = ["machine"] if any("." in each for each in varied) else []
    return list(dict.fromkeys((*models, *names, *tables, *(each.name for each in aims))))


def front_lines(front: Frame, aims: Sequence[Objective], varied: Sequence[str]) -> Iterator[str]:
    """The front as a table."""
    if front.empty:
        yield "no point has all objectives"
        return
    names = shown_columns(front, aims, varied)
    whose = " of their model" if front["model_digest"].nunique() > 1 else ""
    yield f"best in {', '.join(map(str, aims))}: no other point{whose} beats these {len(front)}"
    rows = [["point", *names]]
    for _, row in front.iterrows():
        rows.append([str(row["key"])[:KEY_DIGITS], *(text_of(row[name]) for name in names)])
    yield from columns(rows, left=1)


def text_of(value: object) -> str:
    """A cell of a table: numbers without a useless fraction."""
    return f"{value:g}" if isinstance(value, float) and value < 10**6 else str(value)


def failure_lines(rows: Frame, most: int) -> Iterator[str]:
    """How many points have failed, with the diagnostics of some of them."""
    failed = rows[rows["status"] == "failed"]
    if failed.empty:
        return
    yield f"{len(failed)} of {len(rows)} points have failed:"
    for _, row in failed.head(most).iterrows():
        first = str(row["diagnostic"]).splitlines()[0]
        yield f"  {str(row['key'])[:KEY_DIGITS]} ({row['sram_bytes']} bytes of SRAM): {first}"
    if len(failed) > most:
        yield f"  ... and {len(failed) - most} more; the store has their diagnostics"
