"""`npu-compile --verbose`: print the remarks that passes have written into the IR for people.

    %y = npu.concat %a, %b axis 1 {npu.layer = "cat", npu.no_module = "its operands share conv3"}

gives the remark

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
    """An observer that passes each remark to `say` once, after the pass that wrote it.

    `said` holds the remarks so far, as keys.
    """

    say: Callable[[str], None]
    said: dict[str, None] = field(default_factory=dict[str, None])

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Say the remarks of the module that are new."""
        for remark in remarks(module):
            if remark not in self.said:
                self.said[remark] = None
                self.say(remark)


def remarks(module: ModuleOp) -> Iterator[str]:
    """The remarks of a module, in the order of its ops."""
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
    """A remark on a module of branches: its peak memory on chip, in bytes.

    It also names the peak in the best order of the layers, if the op carries that bound.
    """
    bound = PEAK_BOUND.get(op)
    text = f"{layer_name(op)}: {peak} bytes live on chip"
    if bound is None:
        return text
    if bound == peak:
        return f"{text}, and no order of its layers needs fewer"
    return f"{text}, {bound} in the best order of its layers"


def spill_remarks(op: Operation) -> Iterator[str]:
    """Remarks on maps off chip: which they are, and the bytes that their function moves."""
    if isinstance(op, dram.AllocOp):
        yield f"{op.buffer.name_hint or 'a map'}: lies off chip"
        if (reason := NOT_COMPRESSED.get(op)) is not None:
            yield f"{op.buffer.name_hint or 'a map'}: not moved in blocks: {reason}"
    if (moved := SPILLED.get(op)) is not None:
        yield f"{symbol_of(op)}: {moved} bytes are moved for maps off chip"


def symbol_of(op: Operation) -> str:
    """A function's symbol as the IR text spells it, `@name`; else the op's name."""
    name = op.properties.get("sym_name")
    return f"@{name.data}" if isinstance(name, StringAttr) else op.name


def layer_name(op: Operation) -> str:
    """The layer's name in the model; the op's name, such as `npu.concat`, if it has none."""
    return LAYER.get(op) or op.name


def value_name(value: SSAValue) -> str:
    """The value's name in the model, else in the IR text, else "an operand"."""
    owner = value.owner
    name = VALUE.get(owner) if isinstance(owner, Operation) else None
    return name or value.name_hint or "an operand"
