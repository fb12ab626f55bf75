"""`npu-inline-modules`: turn modules into layers and merges again (on tensors).

    %y = npu.module concat axis 1 of %x policy I mifm 512 at 0 {npu.layer = "fire2"} : ... {
      npu.branch part 1 { ... npu.yield %b : tensor<1x64x55x55xf32> }
      npu.branch part 0 { ... npu.yield %a : tensor<1x64x55x55xf32> }
    }
becomes
    ...                                     // the layers that lead to %b, then those to %a
    %y = npu.concat %a, %b axis 1 {npu.layer = "fire2", npu.module = "fire2"} : ...

The inverse of `npu-detect-modules`, for passes that know layers only. The decision: the layers keep
the execution order of the branches, so that a reordering outlives its module. Attributes of a
planned layer (`npu.forward`) stay on the layer. Of the module's plan only the offsets stay: the
layers that write the MIFM, the MOFM or a part of it get size and offset of that map as
`npu.place = array<i64: BYTES, OFFSET>`, for `npu-assign-sram-offsets{strategy=modules}`. Each layer
gets the name of the outermost module around it as `npu.module`. A module without a name is called
by its number: `module3` is the fourth one of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import LAYER
from npu_dialect.keys import Key, without
from npu_dialect.module_attributes import (
    IN_PART,
    LONG_SKIPS,
    MERGE,
    MODULE,
    NOT_PLANNED,
    PEAK,
    PEAK_BOUND,
    PLACE,
)
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import AddOp, ConcatOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.structure import BranchedModuleOp, YieldOp
from npu_passes.modules.module_reader import modules_of
from npu_passes.support.refuse import RefusingPass

PLANNED: tuple[Key[Any], ...] = (IN_PART, NOT_PLANNED, PEAK, PEAK_BOUND)
"""Attributes of a module that mean nothing on its merge."""


def layers_of(module: BranchedModuleOp) -> tuple[Operation, ...]:
    """The ops that a module executes, in order: those of its branches, without their yields."""
    return tuple(
        op
        for branch in module.branches
        for op in branch.body.block.ops
        if not isinstance(op, YieldOp)
    )


def merge_layers(module: BranchedModuleOp, parts: Sequence[SSAValue]) -> list[LayerOp]:
    """The layers that merge the parts of a module: a concatenation, or additions of two maps."""
    type_ = module.result.type
    if module.axis is not None:
        return [ConcatOp(parts, module.axis.value.data, type_)]
    sums: list[LayerOp] = [AddOp(parts[0], parts[1], type_)]
    for part in parts[2:]:
        sums.append(AddOp(sums[-1].output, part, type_))
    return sums


Region: TypeAlias = tuple[int, int]
"""Size and offset of a map on chip, in bytes."""


def region_of(size: IntegerAttr | None, offset: IntegerAttr | None) -> Region | None:
    """Size and offset together; None if one of them is unknown."""
    if size is None or offset is None:
        return None
    return size.value.data, offset.value.data


def regions_of(module: BranchedModuleOp) -> Iterator[tuple[SSAValue, Region]]:
    """The planned regions of the MIFM, and of the parts of the MOFM if they are slices of it.

    Parts are slices if channels of one image are concatenated.
    """
    if (mifm := region_of(module.mifm, module.mifm_offset)) is not None:
        yield module.input, mifm
    shape = shape_of(module.result)
    if module.axis is None or module.axis.value.data != 1 or shape[0] != 1:
        return
    if module.mofm is None or module.mofm_offset is None or shape[1] < 1:
        return
    start = module.mofm_offset.value.data
    for part in module.parts:
        size = module.mofm.value.data * shape_of(part)[1] // shape[1]
        if part != module.input:
            yield part, (size, start)
        start += size


def joined_by(module: BranchedModuleOp) -> tuple[ConcatOp, int] | None:
    """The concatenation with long skip-connections that reads a module, and the operand's position.

    None if there is none, or if it concatenates along another axis.
    """
    if not IN_PART.is_on(module) or module.axis is None or not module.result.has_one_use():
        return None
    (use,) = module.result.uses
    outer = use.operation
    if not isinstance(outer, ConcatOp) or not LONG_SKIPS.is_on(outer):
        return None
    return (outer, use.index) if outer.axis.value == module.axis.value else None


def join(outer: ConcatOp, at: int, parts: Sequence[SSAValue]) -> None:
    """Replace operand `at` of a concatenation, the result of a module, by the module's parts."""
    operands = [*outer.operands[:at], *parts, *outer.operands[at + 1 :]]
    made = ConcatOp(operands, outer.axis.value.data, outer.results[0].type)
    made.attributes |= outer.attributes
    places = LONG_SKIPS.get(outer)
    if places is not None:
        LONG_SKIPS.set(made, tuple(each + (len(parts) - 1) * (each > at) for each in places))
    Rewriter.replace_op(outer, [made], [made.output])


def inline(module: BranchedModuleOp) -> None:
    """Replace a module by its layers and its merge; modules in it stay modules."""
    parts, layers = module.parts, layers_of(module)
    for value, region in regions_of(module):
        if isinstance(value.owner, LayerOp):
            PLACE.set_default(value.owner, region)
    for layer in layers:
        layer.detach()
    Rewriter.insert_op(layers, InsertPoint.before(module))
    if (joined := joined_by(module)) is not None:
        join(*joined, parts)
        Rewriter.erase_op(module)
        return
    merges = merge_layers(module, parts)
    merges[-1].attributes |= without(module.attributes, MERGE, *PLANNED)
    if (name := MERGE.get(module)) is not None:
        LAYER.set(merges[-1], name)
    if (region := region_of(module.mofm, module.mofm_offset)) is not None:
        PLACE.set(merges[-1], region)
    if (around := MODULE.get(module)) is not None:
        for merge in merges:
            MODULE.set(merge, around)
    Rewriter.insert_op(merges, InsertPoint.before(module))
    Rewriter.replace_op(module, [], [merges[-1].output])


def module_name(module: BranchedModuleOp, index: int) -> str:
    """The name of a module; one without a name is called by its position in the program."""
    return LAYER.get(module) or f"module{index}"


def mark(module: BranchedModuleOp, name: str) -> None:
    """Write the name of a module on its layers, and on the modules in it."""
    for op in module.walk():
        if isinstance(op, LayerOp | BranchedModuleOp):
            MODULE.set(op, name)


@dataclass(frozen=True)
class InlineModulesPass(RefusingPass):
    """Turn modules into layers in their order of execution; see the module."""

    name = "npu-inline-modules"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline all modules, outer ones first."""
        for index, module in enumerate(modules_of(op)):
            mark(module, module_name(module, index))
        for module in [found for found in op.walk() if isinstance(found, BranchedModuleOp)]:
            inline(module)
