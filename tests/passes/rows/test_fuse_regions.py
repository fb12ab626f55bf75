"""Networks whose regions run row by row compute the same after every pass, in the planned bytes."""

from __future__ import annotations

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from helpers.chains import Case, Network, agree, context, outputs
from helpers.regions import regions
from npu_dialect.npu import AddOp, Conv2dOp, ReluOp
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.rows import RowsOp
from npu_passes.analysis.lifetimes import lifetimes_of
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.buffers.spaces import Spaces
from npu_passes.graph.fuse_additions import FuseAdditionsPass
from npu_passes.modules.layer_reader import read_layers
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.rows.fuse_regions import FuseRegionsPass
from npu_passes.rows.region_reader import RegionReader
from npu_plans.arena.problem import Problem, live_bound
from npu_plans.rows.regions import Choice, most_layers, smallest_regions

SLOWDOWN = 10**6
"""So many percent that the work does not matter."""


def planned(module: ModuleOp, *, always: bool) -> Choice:
    """The regions that the pass is to take."""
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    program = read_layers(function, Spaces())
    assert program is not None
    rows = RegionReader(program).function(overlays=False)
    return most_layers(rows) if always else smallest_regions(rows, SLOWDOWN)


def bytes_at_once(module: ModuleOp) -> int:
    """The most bytes of buffers that live at a time."""
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    found = lifetimes_of(function, SramSpace())
    problem = Problem(tuple(each.plain() for each in found.buffers), tuple(found.overlays))
    return live_bound(problem).bytes


def over_the_input() -> Case:
    """Two regions, each of which could overwrite its input: the function's, and what lies there.

    The second one computes an output of the function, which cannot lie in an input.
    """
    network = Network.start((1, 1, 3, 1), 1)
    weight, x = network.constant(1, 1, 1, 1), network.value
    network.add(ReluOp)
    network.add(lambda value, out: AddOp(value, x, out))
    middle = network.value
    network.add(ReluOp)
    network.add(lambda value, out: Conv2dOp(value, weight, None, out))
    network.add(lambda value, out: AddOp(value, middle, out))
    return Case(network.module())


@settings(max_examples=30, deadline=None)
@given(case=regions(), always=st.booleans())
@example(case=over_the_input(), always=False)
def test_regions_compute_the_same_in_the_bytes_that_are_planned(case: Case, always: bool) -> None:
    """No more bytes than planned are in use if no layer is left by itself, in place or not."""
    ctx, module = context(), case.module.clone()
    expected, choice = outputs(module.clone()), planned(module, always=always)
    assume(choice.parts)
    when = "always" if always else "smallest"
    FuseRegionsPass(when=when, max_slowdown=SLOWDOWN).apply(ctx, module)
    agree(module, expected)
    assert sum(isinstance(op, RowsOp) for op in module.walk()) == len(choice.regions)
    FuseAdditionsPass().apply(ctx, module)
    BufferizePass().apply(ctx, module)
    if len(choice.regions) == len(choice.parts):
        assert bytes_at_once(module) <= choice.peak
    AssignSramOffsetsPass().apply(ctx, module)
    agree(module, expected)
