"""The discardable attributes for modules of branches and their plans (paper 001).

The entries have the same form as those of `attributes.py`.
"""

from __future__ import annotations

from npu_dialect.keys import Key, Place
from npu_dialect.kinds import BOOL, INT, INTS, TEXT, UNIT

FORWARD = Key(
    "npu.forward",
    (Place.LAYER, Place.MODULE),
    BOOL,
    "whether the OFM stays on chip for the next layer",
    writers="npu-plan-modules",
    readers="npu-spill-maps, reports",
    absent="it has not been decided",
)
REQUIRED = Key(
    "npu.required",
    (Place.LAYER, Place.MODULE),
    INT,
    "bytes that a planned layer needs on chip besides MIFMs and the occupied part of the MOFM",
    writers="npu-plan-modules",
    readers="reports",
    absent="the layer has no plan",
)
AVAILABLE = Key(
    "npu.available",
    (Place.LAYER, Place.MODULE),
    INT,
    "bytes on chip that MIFMs and the occupied part of the MOFM leave free for a planned layer",
    writers="npu-plan-modules",
    readers="reports",
    absent="the layer has no plan",
)
PASSES = Key(
    "npu.passes",
    (Place.LAYER, Place.MODULE),
    INT,
    "in how many passes over its output channels a planned layer runs",
    writers="npu-plan-modules",
    readers="reports",
    absent="one",
)
POLICY = Key(
    "npu.policy",
    (Place.BRANCH,),
    TEXT,
    "the policy of a branch, if it is not that of its module",
    writers="npu-plan-modules",
    readers="reports",
    absent="the policy of the module",
)
MERGE = Key(
    "npu.merge",
    (Place.MODULE,),
    TEXT,
    "the name of the merge layer, if the module has a name of its own",
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
    "the concatenation that reads the module is its merge; it has long skips as further operands",
    writers="npu-detect-modules",
    readers="npu-inline-modules",
    absent="the module holds its whole merge",
)
NO_MODULE = Key(
    "npu.no_module",
    (Place.LAYER,),
    TEXT,
    "why a merge does not end a module, or why its module leaves out operands",
    writers="npu-detect-modules",
    readers="reports",
    absent="it ends a module with all its operands, or npu-detect-modules has not run",
)
MODULE = Key(
    "npu.module",
    (Place.PROVENANCE,),
    TEXT,
    "the name of the outermost module to which a layer belonged",
    writers="npu-inline-modules",
    readers="reports",
    absent="the layer belonged to no module",
)
PLACE = Key(
    "npu.place",
    (Place.LAYER, Place.MODULE),
    INTS,
    "size and planned offset, in bytes, of the map that the layer writes",
    writers="npu-inline-modules",
    readers="npu-assign-sram-offsets",
    absent="the map may lie anywhere",
)
NOT_PLACED = Key(
    "npu.not_placed",
    (Place.LAYER,),
    TEXT,
    "why the map does not lie at the offset of npu.place",
    writers="npu-assign-sram-offsets",
    readers="reports",
    absent="it lies there, or it has no npu.place",
)
NOT_PLANNED = Key(
    "npu.not_planned",
    (Place.MODULE,),
    TEXT,
    "why a module has no plan",
    writers="npu-plan-modules",
    readers="reports",
    absent="it has one, or npu-plan-modules has not run",
)
PEAK = Key(
    "npu.peak",
    (Place.MODULE, Place.FUNCTION),
    INT,
    "the peak of the order of branches or layers: the most bytes that live on chip while it runs",
    writers="npu-reorder-branches, npu-order-layers",
    readers="reports",
    absent="the peak has not been computed",
)
PEAK_BOUND = Key(
    "npu.peak_bound",
    (Place.MODULE, Place.FUNCTION),
    INT,
    "a lower bound on npu.peak: the smallest peak of any order of the layers, in bytes",
    writers="npu-reorder-branches, npu-order-layers",
    readers="reports",
    absent="the bound has not been computed, or the search for it was too long",
)
