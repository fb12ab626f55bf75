"""`npu-order-layers`: run the layers of a function in the order with the least peak (tensors).

    %a = npu.conv2d %x ...              // 1 KB      %c = npu.conv2d %x ...              // 8 KB
    %b = npu.max_pool2d %x ...          // 1 KB      %d = npu.conv2d %c ...              // 1 KB
    %c = npu.conv2d %x ...              // 8 KB      %a = npu.conv2d %x ...
    %d = npu.conv2d %c ...              // 1 KB      %b = npu.max_pool2d %x ...
    %y = npu.concat %a, %b, %d ...      becomes      %y = npu.concat %a, %b, %d ...

The decision: `npu_plans/modules/layer_orders.py` searches all orders, by exact lifetimes of the
buffers that the layers will have (`layer_reader.py`). The function gets the peak of the new order,
and what no order can be below:

    func.func @f(...) attributes {npu.peak = 12288 : i64, npu.peak_bound = 12288 : i64}

Both are equal if the search was exact. If `budget` tried steps do not suffice for that, the order
is the best one found. Nothing is changed unless the peak becomes lower. With `when=fits` it must
also become so low that all maps fit on the chip, and they must not fit in the given order. With
`when=needed` it is enough that they do not fit in the given order.

With `when=needed`, chains of layers whose results wait then move to later places, on the way to a
concatenation that is larger than the chip (`npu_plans/modules/waiting_chains.py`). The peak does
not become higher:

    %b = npu.max_pool2d %x ...          // for %p         %a = npu.softmax %x ...
    %a = npu.softmax %x ...             // for %y         %c = npu.relu %x ...
    %c = npu.relu %x ...                // for %p         %b = npu.max_pool2d %x ...
    %p = npu.add %b, %c ...                               %p = npu.add %b, %c ...
    %y = npu.concat %a, %p ...          becomes           %y = npu.concat %a, %p ...

A function keeps its order if it has states, several blocks, or an op on tensors that is neither a
layer nor a constant: a call, an op with an effect, `npu.module` or `npu.rows`. So the pass runs
behind `npu-inline-modules` and before `npu-fuse-rows`. Constants move in front of the first layer
that reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npu_dialect.machine import Machine
from npu_dialect.module_attributes import PEAK, PEAK_BOUND
from npu_dialect.target import machine_of
from npu_passes.buffers.spaces import Spaces
from npu_passes.modules.layer_reader import LayerProgram, read_layers
from npu_passes.support.refuse import RefusingPass, refuse
from npu_plans.modules.layer_orders import BUDGET, Ordered, least_peak
from npu_plans.modules.waiting_chains import later_chains


@dataclass(frozen=True)
class OrderLayersPass(RefusingPass):
    """Order the layers of each function for the least peak memory; see the module."""

    name = "npu-order-layers"

    budget: int = BUDGET
    """How many steps the search may try in a function."""
    when: Literal["always", "fits", "needed"] = "always"
    """`fits`: only if all maps fit on the machine's chip then, and do not in the given order.
    `needed`: if they do not in the given order; then results that wait are made later, too."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Order the functions of a program."""
        if self.budget < 0:
            refuse(op, f"expected a budget of 0 steps or more, got {self.budget}")
        machine = machine_of(op)
        fits = machine.planned_bytes if machine is not None and self.when == "fits" else None
        spaces = Spaces.of_module(op)
        for function in [each for each in op.walk() if isinstance(each, func.FuncOp)]:
            program = read_layers(function, spaces)
            if program is None:
                continue
            found = least_peak(program.graph, self.budget, fits)
            if self.when == "needed":
                found = off_chip_order(program, found, machine)
            if found.order != tuple(range(len(program.units))):
                rewrite(function, program, found)


def off_chip_order(program: LayerProgram, found: Ordered, machine: Machine | None) -> Ordered:
    """The order for maps that do not fit on the chip of a machine in the given order.

    That is the order with the least peak, with its chains moved to where their results wait least.
    If the maps fit, it is the given order.
    """
    graph, given = program.graph, tuple(range(len(program.units)))
    if machine is None or graph.peak(given) <= machine.planned_bytes:
        return replace(found, order=given)
    order = later_chains(graph, found.order, machine.planned_bytes)
    return replace(found, order=order, peak=graph.peak(order))


def rewrite(function: func.FuncOp, program: LayerProgram, found: Ordered) -> None:
    """Move the ops of a function into their new order, and note its peak."""
    block = function.body.block
    units = [op for number in found.order for op in program.units[number]]
    known = set(units)
    free = dict.fromkeys(op for op in block.ops if op not in known)
    placed: dict[Operation, None] = {}

    def place(op: Operation) -> None:
        for owner in (value.owner for value in op.operands):
            if isinstance(owner, Operation) and owner in free and owner not in placed:
                place(owner)
        placed[op] = None

    last = block.last_op
    for op in (*units, *(each for each in free if each is not last)):
        if op not in placed:
            place(op)
    for op in placed:
        op.detach()
        assert last is not None
        block.insert_op_before(op, last)
    PEAK.set(function, found.peak)
    PEAK_BOUND.set(function, found.bound)
