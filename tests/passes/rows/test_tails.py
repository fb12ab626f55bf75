"""Modules whose last reader overwrites their input compute the same after every pass."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region, SSAValue

from helpers.chains import ANY, Network, agree, context, outputs
from npu_dialect.attributes import CONSUMES, TARGET
from npu_dialect.machine import Machine
from npu_dialect.npu import AvgPool2dOp, ConcatOp, Conv2dOp, PoolAttr
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.target import TargetAttr
from npu_passes.analysis import lifetimes
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.buffers.concat_in_place import ConcatInPlacePass
from npu_passes.buffers.move_maps import MoveMapsPass
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.rows.fuse_tails import FuseTailsPass

AVERAGE = PoolAttr.of("avg", (3, 3), (1, 1), (1, 1, 1, 1), count_include_pad=True)


def typed(network: Network, op: LayerOp) -> SSAValue:
    """Add a layer with the type that its shape rule gives."""
    new = op.rebuilt(op.inputs, TensorType(f32, op.infer_shape()))
    op.erase()
    network.block.add_op(new)
    return new.results[0]


def pointwise(network: Network, value: SSAValue, channels: int) -> SSAValue:
    weight = network.constant(channels, shape_of(value)[1], 1, 1)
    return typed(network, Conv2dOp(value, weight, None, ANY))


def module_of(channels: int, parts: list[int], size: tuple[int, int], last: str) -> ModuleOp:
    """A chain of two modules of 1x1 convolutions, a 3x3 one, and an average pool with its 1x1."""
    network = Network.start((1, channels, *size), seed=1)
    value = pointwise(network, network.value, channels)
    for _ in range(2):
        first, middle, pooled = parts
        made: dict[str, SSAValue] = {}
        order = {"pool": ("middle", "first", "pool"), "first": ("pool", "middle", "first")}[last]
        for name in order:
            if name == "pool":
                pool = typed(network, AvgPool2dOp(value, AVERAGE, ANY))
                made[name] = pointwise(network, pool, pooled)
            elif name == "first":
                made[name] = pointwise(network, value, first)
            else:
                weight = network.constant(middle, shape_of(value)[1], 3, 3)
                conv = Conv2dOp(value, weight, None, ANY, pads=(1, 1, 1, 1))
                made[name] = typed(network, conv)
        value = typed(network, ConcatOp([made[n] for n in ("first", "middle", "pool")], 1, ANY))
    value = pointwise(network, value, 3)
    network.block.add_op(ReturnOp(value))
    kind = FunctionType.from_lists([network.block.args[0].type], [value.type])
    return ModuleOp([FuncOp("net", kind, Region(network.block))])


@settings(max_examples=25, deadline=None)
@given(
    channels=st.integers(1, 9),
    parts=st.lists(st.integers(1, 5), min_size=3, max_size=3),
    size=st.tuples(st.integers(2, 7), st.integers(2, 7)),
    last=st.sampled_from(["pool", "first"]),
    patches=st.booleans(),
    moves=st.booleans(),
)
def test_every_stop_computes_the_same(
    channels: int, parts: list[int], size: tuple[int, int], last: str, patches: bool, moves: bool
) -> None:
    ctx, module = context(), module_of(channels, parts, size, last)
    machine = replace(Machine.load("host"), sram_bytes=2**24)
    if patches:
        machine = replace(machine, row_multiple=4, column_multiple=4)
    TARGET.set(module, TargetAttr.of(machine))
    expected = outputs(module.clone())
    FuseTailsPass().apply(ctx, module)
    assert any(CONSUMES.is_on(op) for op in module.walk())
    BufferizePass().apply(ctx, module)
    ConcatInPlacePass().apply(ctx, module)
    if moves:
        MoveMapsPass().apply(ctx, module)
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    found = lifetimes.lifetimes_of(function, SramSpace())
    assert any(each.exact for each in found.overlays)
    assert moves == any(op.name == "memref.copy" for op in function.body.block.ops)
    AssignSramOffsetsPass().apply(ctx, module)
    agree(module, expected, 1e-4)
    LowerToLoopsPass().apply(ctx, module)
    agree(module, expected, 1e-4)


def test_it_takes_less_memory() -> None:
    """A part of 5 channels overwrites 5 of the 8 channels of the input."""
    arenas: list[int] = []
    for tails in (False, True):
        ctx, module = context(), module_of(8, [1, 2, 5], (16, 16), "pool")
        if tails:
            FuseTailsPass().apply(ctx, module)
        BufferizePass().apply(ctx, module)
        ConcatInPlacePass().apply(ctx, module)
        MoveMapsPass().apply(ctx, module)
        AssignSramOffsetsPass().apply(ctx, module)
        function = next(op for op in module.ops if isinstance(op, FuncOp))
        arenas.append(lifetimes_arena(function))
    assert arenas[1] < arenas[0]


def lifetimes_arena(function: FuncOp) -> int:
    """Bytes of the arena."""
    size = function.attributes["sram.arena"]
    return int(str(size).split(" ")[0])
