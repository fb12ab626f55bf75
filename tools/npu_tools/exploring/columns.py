"""The columns of a store: what a row says about its point, and what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from npu_dialect.machine import LEAST, RATES, RATES_BY_TYPE
from npu_tools.exploring.points import OPTIONS, Point, compiler, machine_numbers, plain_of

FORMAT = 1
"""The version of the columns, which each file of a store says."""

TEXT, NUMBER, REAL, TRUTH = "text", "number", "real", "truth"
"""The kinds of columns: a string, a 64-bit integer, a 64-bit float, a boolean; all may be null."""

IDENTITY: Mapping[str, str] = {
    "key": TEXT,
    "model": TEXT,
    "model_digest": TEXT,
    "target": TEXT,
    "compiler": TEXT,
    "machine": TEXT,
}
"""`machine`: all numbers of the machine, as JSON."""

OPTION_COLUMNS: Mapping[str, str] = {
    name: {"weights_in_sram": NUMBER, "stream_input": TRUTH}.get(name, TEXT) for name in OPTIONS
}

MACHINE_COLUMNS: Mapping[str, str] = {
    **{key: NUMBER for key in LEAST},
    **{key: REAL for key in RATES},
}
"""The numbers of the machine that are columns of their own."""

RESULT_COLUMNS: Mapping[str, str] = {
    "status": TEXT,
    "diagnostic": TEXT,
    "arena_bytes": NUMBER,
    "live_bound_bytes": NUMBER,
    "weights_bytes": NUMBER,
    "scratch_bytes": NUMBER,
    "off_chip.bytes": NUMBER,
    "off_chip.weight_bytes": NUMBER,
    "off_chip.feature_map_read_bytes": NUMBER,
    "off_chip.feature_map_write_bytes": NUMBER,
    "off_chip.feature_map_reads": NUMBER,
    "off_chip.feature_map_writes": NUMBER,
    "cycles": NUMBER,
    "compute_cycles": NUMBER,
    "transfer_cycles": NUMBER,
    "exposed_cycles": NUMBER,
    "transferred_bytes": NUMBER,
    "exposed_bytes": NUMBER,
    "frames_per_second": REAL,
    "energy_pj": REAL,
    "not_timed": TEXT,
    "verified": TRUTH,
    "largest_error": REAL,
}
"""`status`: `ok` or `failed`, with the `diagnostic` of the compiler. `verified`: whether the C
agrees with its reference; null if that was not asked."""

COLUMNS: Mapping[str, str] = {
    **IDENTITY,
    **OPTION_COLUMNS,
    **MACHINE_COLUMNS,
    **RESULT_COLUMNS,
}

OBJECTIVES = tuple(
    name
    for name, kind in COLUMNS.items()
    if kind in (NUMBER, REAL) and name not in ("alignment", "registers")
)
"""Columns that can be made as small as possible, or with a `-` as large as possible."""

Row = dict[str, Any]


def row_of(point: Point, results: Mapping[str, Any]) -> Row:
    """The row of a point."""
    numbers = machine_numbers(point.machine)
    row: Row = dict.fromkeys(COLUMNS)
    row |= {
        "key": point.key,
        "model": str(point.job.model),
        "model_digest": point.digest,
        "target": point.job.target,
        "compiler": compiler(),
        "machine": json.dumps(numbers, sort_keys=True),
        **point.options,
    }
    for key in MACHINE_COLUMNS:
        row[key] = plain_of(getattr(point.machine, key))
    row |= {key: plain_of(value) for key, value in results.items()}
    for key, kind in COLUMNS.items():
        if kind == REAL and row[key] is not None:
            row[key] = float(row[key])
    assert row.keys() == COLUMNS.keys(), row.keys() ^ COLUMNS.keys()
    return row


def by_type(machine: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers of a machine that are tables of element types, such as `macs_per_cycle.i8`."""
    return {
        f"{key}.{name}": rate
        for key in RATES_BY_TYPE
        for name, rate in machine.get(key, {}).items()
    }
