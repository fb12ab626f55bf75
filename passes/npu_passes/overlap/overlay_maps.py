"""`npu-overlay-maps`: say how close the output of a layer may follow its dying input (on buffers).

    npu.conv2d ins(%x, %w, %b : ...) outs(%y : ...) ... {npu.layer = "dw1"}
becomes
    npu.conv2d ins(%x, %w, %b : ...) outs(%y : ...) ... {npu.overlays = array<i64: 0, 3, 640, 640>}

Level of IR: layers on buffers without offsets. A layer that reads its input once, from its start to
its end, may write its output over what it will not read again. How far apart the two must lie
depends on the loops that really run: the order of rows, columns and channels, blocks of pixels, the
halo of the kernel, and what is read ahead in words. So the pass lowers a copy of the layer, follows
the bytes that its loops touch, and writes the distances to the layer. It decides no offset:
npu-assign-sram-offsets may use a distance or not.

A loop over rows of a map (`npu.rows`) uses rows of one buffer for the last time, its input or a
ring, while it writes rows of others. Its claims follow from running it, row by row.

Layers whose input and output fit below the peak side by side are left alone. So are layers in
loops, with regions, that run in place, or whose buffers are in use elsewhere at that time; and maps
of two types that C takes for different memory, as int32 and float32; and programs that are planned
as another type, which have no loops.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from npu_dialect.attributes import BY_CHANNEL, FLASH, OVER_INPUT, OVERLAYS, PLANNED_AS
from npu_dialect.npu.epilogue import EpilogueAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.walking import walk_kind
from npu_passes.analysis.nests import NestReader, storage_bytes
from npu_passes.analysis.overlaid import Claim
from npu_passes.analysis.peaks import layers_at_peaks
from npu_passes.analysis.row_claims import claims_of_rows
from npu_passes.graph.use_flash import Flash
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.lowering.turned import can_turn
from npu_passes.support.refuse import RefusingPass
from npu_passes.support.symbols import global_of
from npu_plans.overlays.nest import (
    Node,
    TooManyForms,
    backwards,
    distance,
    distance_in_classes,
    mirrored,
)


@dataclass(frozen=True)
class OverlayMapsPass(RefusingPass):
    """Say how close the outputs of layers may follow their dying inputs; see the module."""

    name = "npu-overlay-maps"

    registers: int | None = None
    """The option of npu-lower-to-loops, which must get the same."""
    unroll: int = 512
    """The option of npu-lower-to-loops, which must get the same."""
    flash: Flash | None = None
    """The option of npu-lower-to-loops, which must get the same."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Find the layers at the peak of each function, then measure them together."""
        if PLANNED_AS.is_on(op):
            return
        for loop in list(walk_kind(op, scf.ForOp)):
            if isinstance(loop.parent_op(), FuncOp) and (claims := claims_of_rows(loop)):
                OVERLAYS.set(loop, tuple(n for each in claims for n in each.numbers()))
        found = layers_at_peaks(op)
        lowering = LowerToLoopsPass(self.registers, self.unroll, self.flash)
        measured = measure(ctx, op, found, lowering)
        for layer, pairs in found.items():
            if claims := measured[shape_of(layer, pairs)]:
                OVERLAYS.set(layer, tuple(n for each in claims for n in each.numbers()))


def shape_of(layer: LayerOp, pairs: Sequence[tuple[int, int]]) -> Hashable:
    """What the claims of a layer depend on: op, properties, types of operands, and its pairs.

    How often it runs decides what is worth its flash. The values of weights and of output scales
    are left out: no address depends on them.
    """
    operands = list(layer.operands)
    same = tuple(operands.index(value) for value in operands)
    types = tuple(value.type for value in operands)
    properties = tuple((name, without_scales(layer.properties[name])) for name in layer.properties)
    orders = FLASH.get(layer), BY_CHANNEL.is_on(layer), OVER_INPUT.is_on(layer), layer.repetitions
    return layer.name, frozenset(properties), types, same, tuple(pairs), orders


def without_scales(attribute: Attribute) -> Hashable:
    """An attribute; of the scales in an epilogue only how many there are."""
    if not isinstance(attribute, EpilogueAttr) or attribute.data.requantize is None:
        return attribute
    requantize = attribute.data.requantize
    others = attribute.data.with_parts(requantize=None)
    return others, len(requantize.scales), requantize.zero_point, requantize.mode


def measure(
    ctx: Context,
    module: ModuleOp,
    layers: Mapping[LayerOp, Sequence[tuple[int, int]]],
    lowering: LowerToLoopsPass,
) -> dict[Hashable, list[Claim]]:
    """The claims of layers by their shape; layers of one shape are lowered once."""
    first: dict[Hashable, LayerOp] = {}
    for layer, pairs in layers.items():
        first.setdefault(shape_of(layer, pairs), layer)
    if not first:
        return {}
    copies = [alone(layer, f"layer{index}") for index, layer in enumerate(first.values())]
    scratch = ModuleOp([*globals_of(module, list(first.values())), *copies])
    scratch.attributes.update(module.attributes)
    lowering.apply(ctx, scratch)
    found: dict[Hashable, list[Claim]] = {}
    for shape, layer, copy in zip(first, first.values(), copies, strict=True):
        found[shape] = claims_of(layer, layers[layer], copy)
    return found


def globals_of(module: ModuleOp, layers: Sequence[LayerOp]) -> list[Operation]:
    """Copies of the globals that layers read."""
    readers = [
        value.owner
        for layer in layers
        for value in layer.operands
        if isinstance(value.owner, memref.GetGlobalOp)
    ]
    found = dict.fromkeys(global_of(module, each.name_.string_value()) for each in readers)
    return [op.clone() for op in found if op is not None]


def alone(layer: LayerOp, name: str) -> FuncOp:
    """A function with a copy of a layer; its arguments are the operands that are no constants."""
    outer = outer_operands(layer)
    constants = {v: v.owner for v in layer.operands if isinstance(v.owner, memref.GetGlobalOp)}
    block = Block(arg_types=[value.type for value in outer])
    mapping: dict[SSAValue, SSAValue] = dict(zip(outer, block.args, strict=True))
    for value, op in constants.items():
        copy = op.clone()
        block.add_op(copy)
        mapping[value] = copy.memref
    block.add_ops((layer.clone(mapping), ReturnOp()))
    types: list[Attribute] = [value.type for value in outer]
    return FuncOp(name, (types, []), Region(block), "private")


def outer_operands(layer: LayerOp) -> list[SSAValue]:
    """The distinct operands of a layer that are no constants."""
    operands = dict.fromkeys(layer.operands)
    return [value for value in operands if not isinstance(value.owner, memref.GetGlobalOp)]


def claims_of(layer: LayerOp, pairs: Sequence[tuple[int, int]], function: FuncOp) -> list[Claim]:
    """The claims of a layer whose loops stand in a function.

    A layer may run backwards for one input only: two could want different directions. A claim at
    whose distances the two buffers would not overlap is left out. A layer that computes channel by
    channel over its input may lie closer to it, but at one distance only.
    """
    arguments = dict(zip(outer_operands(layer), function.body.block.args, strict=True))
    buffers = [each for each in arguments.values() if isinstance(each.type, MemRefType)]
    ops = list(function.body.block.ops)[:-1]
    nodes = NestReader.read(ops, buffers)
    turned = backwards(nodes) if len(pairs) == 1 and can_turn(ops) else None
    found: list[Claim] = []
    for source, target in pairs:
        ends = [buffers.index(arguments[layer.operands[each]]) for each in (source, target)]
        near, exact = least(nodes, *ends), in_classes(nodes, *ends)
        if exact is not None and (near is None or exact < near):
            found.append(Claim(source, target, exact, None, exact=True))
            continue
        far = None if turned is None else least(mirrored(turned), *ends)
        if near is not None and (
            near < storage_bytes(layer.operands[target])
            or (far is not None and far < storage_bytes(layer.operands[source]))
        ):
            found.append(Claim(source, target, near, far))
    return found


def least(nodes: Sequence[Node], source: int, target: int) -> int | None:
    """The distance of a nest, at least 0; None if it is not known."""
    try:
        return max(0, distance(nodes, source, target) or 0)
    except TooManyForms:
        return None


def in_classes(nodes: Sequence[Node], source: int, target: int) -> int | None:
    """The least exact distance of a nest by channels of pixels; None if it is no such nest."""
    try:
        found = distance_in_classes(nodes, source, target)
    except TooManyForms:
        return None
    return None if found is None else found[0]
