"""The rows of a table as Markdown: means over seeds, and sample deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from npu_train.table import Row

COLUMNS = (
    "network",
    "threshold",
    "accuracy %",
    "in zero blocks %",
    "less moved %",
    "each map once %",
    "put on: accuracy %",
    "put on: less moved %",
)
COST = 0.01
"""How much accuracy on validation images the choice below the table may cost."""


def markdown(rows: Sequence[Row]) -> str:
    """The table: a line for each pruning and threshold.

    The last two columns are of networks that are trained without the threshold, which is put on
    them afterwards. At threshold 0 these are the only ones.
    """
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for (channels, weights, threshold), at in groups(rows):
        lines.append(f"| {title(channels, weights)} | {threshold:g} | {' | '.join(cells(at))} |")
    lines += ["", *chosen(rows), headline(rows)]
    return "\n".join(lines) + "\n"


def groups(rows: Sequence[Row]) -> Iterator[tuple[tuple[float, float, float], list[Row]]]:
    """The rows that differ only in the seed or in what they are trained for."""
    for weights, channels in sorted({(row.weights, row.channels) for row in rows}):
        those = [row for row in rows if (row.channels, row.weights) == (channels, weights)]
        for threshold in sorted({row.threshold for row in those}):
            at = [row for row in those if row.threshold == threshold]
            yield (channels, weights, threshold), at


def title(channels: float, weights: float) -> str:
    """What is pruned beside blocks."""
    parts = [
        *([f"{100 * channels:g} % of channels removed"] if channels else []),
        *([f"{100 * weights:g} % of weights zero"] if weights else []),
    ]
    return ", ".join(parts) or "whole"


def cells(rows: Sequence[Row]) -> list[str]:
    """The cells of a line behind the threshold."""
    after = [row for row in rows if not row.trained]
    best = [row for row in rows if row.trained] or after
    put_on = after if best is not after else []
    return [
        share([row.accuracy for row in best], 2),
        share([row.zero_share for row in best]),
        share([row.reduced for row in best]),
        share([row.once for row in best]),
        share([row.accuracy for row in put_on], 2),
        share([row.reduced for row in put_on]),
    ]


def share(values: Sequence[float | None], digits: int = 1) -> str:
    """The mean of shares in percent, with the deviation of several; a dash if one is missing."""
    known = [100 * value for value in values if value is not None]
    if not known or len(known) < len(values):
        return "-"
    spread = f" ± {stdev(known):.{digits}f}" if len(known) > 1 else ""
    return f"{fmean(known):.{digits}f}{spread}"


def saved(row: Row) -> float:
    """The share of bytes that a row saves, counted by the C if it was run."""
    return row.once if row.reduced is None else row.reduced


def chosen(rows: Sequence[Row]) -> list[str]:
    """The line that chooses by validation images; none without them.

    Of all lines of the table whose mean accuracy on validation images is at most `COST` below that
    of the whole network without a threshold, it names the one that saves the most.
    """
    means: dict[tuple[float, float, float], tuple[float, float]] = {}
    best: dict[tuple[float, float, float], list[Row]] = {}
    for key, at in groups(rows):
        best[key] = [row for row in at if row.trained] or at
        known = [row.validation for row in best[key] if row.validation is not None]
        if not known:
            return []
        means[key] = fmean(known), fmean(saved(row) for row in best[key])
    plain = (0.0, 0.0, 0.0)
    if plain not in means:
        return []
    limit = means[plain][0] - COST
    key = max((each for each in means if means[each][0] >= limit), key=lambda k: means[k][1])
    here, there = (fmean(row.accuracy for row in best[each]) for each in (key, plain))
    return [
        f"The validation images choose, of all lines with at most {100 * COST:g} point less "
        f"accuracy on them: {title(*key[:2])}, threshold {key[2]:g}. It moves "
        f"{100 * means[key][1]:.1f} % less; accuracy on the test images {100 * here:.2f} %, "
        f"against {100 * there:.2f} %.",
        "",
    ]


def headline(rows: Sequence[Row]) -> str:
    """The line below the table: its seeds, and where the C and torch differ."""
    seeds, differing = len({row.seed for row in rows}), sum(row.differing for row in rows)
    return (
        f"Means of {seeds} seed{'s' * (seeds != 1)}, ± the deviation. Images to which the C gives "
        f"another class than torch, of all networks: {differing}."
    )
