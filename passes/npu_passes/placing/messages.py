"""Texts that say why buffers do not fit: the buffers at the peak, in columns."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from npu_dialect.attributes import LAYER
from npu_dialect.npu.maps import is_buffer_type
from npu_passes.analysis.lifetimes import Lifetimes
from npu_plans.arena.problem import Bound


def name_of(function: Operation) -> str:
    """The symbol of a function."""
    name = function.properties.get("sym_name", function.attributes.get("sym_name"))
    return name.data if isinstance(name, StringAttr) else function.name


def place_of(lifetimes: Lifetimes, bound: Bound) -> str:
    """The op at the peak, with the name of its layer."""
    op = lifetimes.ops[min(bound.point, len(lifetimes.ops) - 1)]
    layer = LAYER.get(op)
    return op.name if layer is None else f'{op.name} "{layer}"'


def shape_text(value: SSAValue) -> str:
    """Shape and element type of a buffer: `1x6x14x14xf32`."""
    type_ = value.type
    assert is_buffer_type(type_)
    return "x".join(map(str, (*type_.get_shape(), type_.element_type)))


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """One line for each row, with the cells padded so that the columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "\n  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
