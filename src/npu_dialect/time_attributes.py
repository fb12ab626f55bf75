"""The table of discardable attributes with the time that a program takes.

    func.func @f(...) attributes {npu.cycles = {compute = 900 : i64, transfer = 460 : i64, ...}} {

The entries have the same form as those of `attributes.py`.
"""

from __future__ import annotations

from npu_dialect.keys import Key, Place
from npu_dialect.kinds import RECORD, TEXT

CYCLES = Key(
    "npu.cycles",
    (Place.PROVENANCE, Place.FUNCTION),
    RECORD,
    (
        "cycles of one run: compute, those of the core; transfer, those of all transfers, each "
        "alone; exposed, those for which the core waits; total, compute and exposed. They stand on "
        "a function, and on the first op of each layer for all ops and transfers with its name"
    ),
    writers="npu-estimate-time",
    readers="reports",
    absent="nobody has counted them",
)
NOT_TIMED = Key(
    "npu.not_timed",
    (Place.FUNCTION,),
    TEXT,
    "why npu-estimate-time could not count the cycles of a function",
    writers="npu-estimate-time",
    readers="reports",
    absent="they were counted, or no pass has tried",
)
