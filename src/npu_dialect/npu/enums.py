"""The words that properties of npu ops are made of, as enum attributes."""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum


class Mode(StrEnum):
    """The arithmetic that gives integers another scale."""

    FLOAT = "float"
    """A product with a float32 number."""
    FIXED = "fixed"
    """A product with an integer multiplier, and a shift."""
    QLINEAR = "qlinear"
    """That of onnxruntime's QLinear operators, where it differs from `FLOAT`."""


class PoolKind(StrEnum):
    """What a pooling window computes."""

    MAX = "max"
    AVG = "avg"


class Overlap(StrEnum):
    """What happens to a convolution's value that several pooling windows hold."""

    ACCUMULATE = "accumulate"
    """It is computed once, and folded into every window."""
    RECOMPUTE = "recompute"
    """It is computed anew for each window."""


class Side(StrEnum):
    """Which summand a residual is."""

    FIRST = "first"
    SECOND = "second"


class Merge(StrEnum):
    """How a module merges its branches (paper 001, section 2, condition 3)."""

    CONCAT = "concat"
    ADD = "add"


class Policy(StrEnum):
    """Which maps of a module stay on chip (paper 001, Algorithm 6)."""

    BOTH = "I"
    """The module's IFM and its OFM."""
    INPUT = "II"
    """The module's IFM only."""


@irdl_attr_definition
class ModeAttr(EnumAttribute[Mode], SpacedOpaqueSyntaxAttribute):
    """`#npu<mode float>`."""

    name = "npu.mode"


@irdl_attr_definition
class PoolKindAttr(EnumAttribute[PoolKind], SpacedOpaqueSyntaxAttribute):
    """`#npu<pool_kind max>`."""

    name = "npu.pool_kind"


@irdl_attr_definition
class SideAttr(EnumAttribute[Side], SpacedOpaqueSyntaxAttribute):
    """`#npu<side first>`."""

    name = "npu.side"


@irdl_attr_definition
class MergeAttr(EnumAttribute[Merge], SpacedOpaqueSyntaxAttribute):
    """`#npu<merge concat>`."""

    name = "npu.merge"


@irdl_attr_definition
class PolicyAttr(EnumAttribute[Policy], SpacedOpaqueSyntaxAttribute):
    """`#npu<policy I>`."""

    name = "npu.policy"
