"""What the passes have noted in the IR for people: `npu-compile --verbose`.

    %y = npu.concat %a, %b axis 1 {npu.layer = "cat", npu.no_module = "its operands share conv3"}

is the remark

    cat: no module: its operands share conv3
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from npu_dialect import dram
from npu_dialect.attributes import LAYER, NOT_COMPRESSED, SPILLED, VALUE
from npu_dialect.module_attributes import (
    LONG_SKIPS,
    NO_MODULE,
    NOT_PLACED,
    NOT_PLANNED,
    PEAK,
    PEAK_BOUND,
)
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.rows import RowsOp


@dataclass
class Remarks:
    """Says each remark once, when the pass that it comes from has run."""

    say: Callable[[str], None]
    said: dict[str, None] = field(default_factory=dict[str, None])

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Say what is new."""
        for remark in remarks(module):
            if remark not in self.said:
                self.said[remark] = None
                self.say(remark)


def remarks(module: ModuleOp) -> Iterator[str]:
    """The remarks that stand in a module, in the order of the text."""
    for op in module.walk():
        yield from spill_remarks(op)
        if isinstance(op, RowsOp):
            names = [layer_name(each) for each in op.body.walk() if isinstance(each, LayerOp)]
            yield f"{', '.join(dict.fromkeys(names))}: run row by row"
        if (reason := NO_MODULE.get(op)) is not None:
            yield f"{layer_name(op)}: no module: {reason}"
        if (reason := NOT_PLANNED.get(op)) is not None:
            yield f"{layer_name(op)}: not planned: {reason}"
        if (reason := NOT_PLACED.get(op)) is not None:
            yield f"{layer_name(op)}: not at the place of its module's plan: {reason}"
        if (peak := PEAK.get(op)) is not None:
            yield peak_remark(op, peak)
        if (places := LONG_SKIPS.get(op)) is not None:
            for place in places:
                if 0 <= place < len(op.operands):
                    source = value_name(op.operands[place])
                    yield (
                        f"{layer_name(op)}: {source} is a long skip-connection, "
                        "which comes from off-chip memory"
                    )


def peak_remark(op: Operation, peak: int) -> str:
    """What a module needs on chip, and what it would need in the best order of its layers."""
    bound = PEAK_BOUND.get(op)
    text = f"{layer_name(op)}: {peak} bytes live on chip"
    if bound is None:
        return text
    if bound == peak:
        return f"{text}, and no order of its layers needs fewer"
    return f"{text}, {bound} in the best order of its layers"


def spill_remarks(op: Operation) -> Iterator[str]:
    """Which maps lie off chip, and what that costs their function."""
    if isinstance(op, dram.AllocOp):
        yield f"{op.buffer.name_hint or 'a map'}: lies off chip"
        if (reason := NOT_COMPRESSED.get(op)) is not None:
            yield f"{op.buffer.name_hint or 'a map'}: not moved in blocks: {reason}"
    if (moved := SPILLED.get(op)) is not None:
        yield f"{symbol_of(op)}: {moved} bytes are moved for maps off chip"


def symbol_of(op: Operation) -> str:
    """The name of a function in the text."""
    name = op.properties.get("sym_name")
    return f"@{name.data}" if isinstance(name, StringAttr) else op.name


def layer_name(op: Operation) -> str:
    """The layer's name in the model; the op's own if it has none."""
    return LAYER.get(op) or op.name


def value_name(value: SSAValue) -> str:
    """The value's name in the model, or in the text."""
    owner = value.owner
    name = VALUE.get(owner) if isinstance(owner, Operation) else None
    return name or value.name_hint or "an operand"
