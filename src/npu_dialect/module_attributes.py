"""The discardable attributes that say what was planned for modules of branches (paper 001).

The form of an entry is that of `attributes.py`.
"""

from __future__ import annotations

from npu_dialect.keys import Key, Place
from npu_dialect.kinds import BOOL, INT, INTS, TEXT, UNIT

FORWARD = Key(
    "npu.forward",
    (Place.LAYER, Place.MODULE),
    BOOL,
    "whether the OFM stays on chip for the layer behind it",
    writers="npu-plan-modules",
    readers="npu-spill-maps, reports",
    absent="nobody has decided",
)
REQUIRED = Key(
    "npu.required",
    (Place.LAYER, Place.MODULE),
    INT,
    "bytes that a planned layer needs on chip beside MIFMs and occupied MOFM",
    writers="npu-plan-modules",
    readers="reports",
    absent="the layer has no plan",
)
AVAILABLE = Key(
    "npu.available",
    (Place.LAYER, Place.MODULE),
    INT,
    "bytes that MIFMs and occupied MOFM leave a planned layer",
    writers="npu-plan-modules",
    readers="reports",
    absent="the layer has no plan",
)
PASSES = Key(
    "npu.passes",
    (Place.LAYER, Place.MODULE),
    INT,
    "over how many parts of its output channels a planned layer runs in turn",
    writers="npu-plan-modules",
    readers="reports",
    absent="one",
)
POLICY = Key(
    "npu.policy",
    (Place.BRANCH,),
    TEXT,
    "the policy of a branch, where it is not that of its module",
    writers="npu-plan-modules",
    readers="reports",
    absent="the policy of the module",
)
MERGE = Key(
    "npu.merge",
    (Place.MODULE,),
    TEXT,
    "the name of the merge layer, where the module has a name of its own",
    writers="npu-detect-modules",
    readers="npu-inline-modules",
    absent="the merge has the name of the module",
)
LONG_SKIPS = Key(
    "npu.long_skips",
    (Place.LAYER,),
    INTS,
    "positions of operands that come from off-chip memory",
    writers="npu-detect-modules",
    readers="npu-inline-modules, reports",
    absent="all operands come from the module",
)
IN_PART = Key(
    "npu.in_part",
    (Place.MODULE,),
    UNIT,
    "the concatenation that reads the module is its merge, which has long skips too",
    writers="npu-detect-modules",
    readers="npu-inline-modules",
    absent="the module holds its whole merge",
)
NO_MODULE = Key(
    "npu.no_module",
    (Place.LAYER,),
    TEXT,
    "why a merge is not the end of a module",
    writers="npu-detect-modules",
    readers="reports",
    absent="it is one, or nobody looked",
)
MODULE = Key(
    "npu.module",
    (Place.PROVENANCE,),
    TEXT,
    "the name of the outermost module that a layer comes out of",
    writers="npu-inline-modules",
    readers="reports",
    absent="the layer comes out of none",
)
PLACE = Key(
    "npu.place",
    (Place.LAYER, Place.MODULE),
    INTS,
    "size and offset in bytes that a plan has for the map that the layer writes",
    writers="npu-inline-modules",
    readers="npu-assign-sram-offsets",
    absent="the map may lie anywhere",
)
NOT_PLACED = Key(
    "npu.not_placed",
    (Place.LAYER,),
    TEXT,
    "why the map lies somewhere else than at its place",
    writers="npu-assign-sram-offsets",
    readers="reports",
    absent="it lies there",
)
NOT_PLANNED = Key(
    "npu.not_planned",
    (Place.MODULE,),
    TEXT,
    "why a module has no plan",
    writers="npu-plan-modules",
    readers="reports",
    absent="it has one, or nobody planned",
)
PEAK = Key(
    "npu.peak",
    (Place.MODULE,),
    INT,
    "the most bytes that live on chip while the module runs, its branches in order",
    writers="npu-reorder-branches",
    readers="reports",
    absent="nobody has counted",
)
PEAK_BOUND = Key(
    "npu.peak_bound",
    (Place.MODULE,),
    INT,
    "the least peak that any order of the layers can have, in bytes",
    writers="npu-reorder-branches",
    readers="reports",
    absent="nobody has counted",
)
