"""Random networks with branches, built on tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from npu_dialect.attributes import LAYER
from npu_dialect.npu import AddOp, ClampOp, ConcatOp, FullyConnectedOp, MulOp, ReluOp
from npu_dialect.npu.maps import shape_of
from npu_passes.graph.constants import constant_of

WIDTH = 3
"""Elements of the input, and of the output of a fully connected layer."""


@dataclass
class Builder:
    """A block under construction: `maps` are the values so far, each [1, N]."""

    draw: st.DrawFn
    block: Block
    maps: list[SSAValue] = field(default_factory=list[SSAValue])

    def add(self, op: Operation, group: str) -> SSAValue:
        """Append a layer; `group` is the first part of its name."""
        LAYER.set(op, f"{group}/{len(self.maps)}")
        self.block.add_op(op)
        self.maps.append(op.results[0])
        return op.results[0]

    def layer(self, x: SSAValue, group: str) -> SSAValue:
        """Append a layer that reads one map."""
        match self.draw(st.sampled_from(["relu", "clamp", "dense", "dense", "shift"])):
            case "relu":
                return self.add(ReluOp(x, x.type), group)
            case "clamp":
                return self.add(
                    ClampOp(x, -0.5, self.draw(st.sampled_from([0.5, 2])), x.type), group
                )
            case "shift":
                return self.add(AddOp(x, self.constant(1), x.type), group)
            case _:
                weight = self.constant(WIDTH, shape_of(x)[1])
                return self.add(FullyConnectedOp(x, weight, None, kind(WIDTH)), group)

    def merge(self, parts: list[SSAValue], group: str) -> SSAValue:
        """A sum or a product of two maps where their shapes allow it, or a concatenation."""
        if len(parts) == 2 and parts[0].type == parts[1].type:
            pick = self.draw(st.sampled_from([AddOp, AddOp, AddOp, MulOp, None]))
            if pick is not None:
                return self.add(pick(parts[0], parts[1], parts[0].type), group)
        width = sum(shape_of(part)[1] for part in parts)
        return self.add(ConcatOp(parts, 1, kind(width)), group)

    def constant(self, *shape: int) -> SSAValue:
        """Random parameters, in front of all layers."""
        data = np.random.default_rng(len(self.maps)).standard_normal(shape).astype(np.float32)
        constant = constant_of(data, None)
        if (first := self.block.first_op) is None:
            self.block.add_op(constant)
        else:
            self.block.insert_op_before(constant, first)
        return constant.result

    def structure(self, x: SSAValue, depth: int, group: str) -> SSAValue:
        """A chain of layers and of modules nested up to `depth`; at times with a long skip."""
        for step in range(self.draw(st.integers(0, 3))):
            name = f"{group}/{step}"
            if depth == 0 or self.draw(st.booleans()):
                x = self.layer(x, name)
                continue
            count = self.draw(st.integers(2, 3))
            parts = [self.structure(x, depth - 1, f"{name}/{part}") for part in range(count)]
            if self.draw(st.integers(0, 7)) == 0:
                parts[0] = self.draw(st.sampled_from(self.maps))
            x = self.merge(self.draw(st.permutations(parts)), name)
        return x


def kind(width: int) -> TensorType[Attribute]:
    """The type of a map."""
    return TensorType(f32, [1, width])


@st.composite
def branched_networks(draw: st.DrawFn) -> str:
    """The text of a function, mostly of nested branches."""
    block = Block(arg_types=[kind(WIDTH)])
    builder = Builder(draw, block, [block.args[0]])
    result = builder.structure(block.args[0], 3, "net")
    if draw(st.integers(0, 3)) == 0:
        result = builder.merge([result, draw(st.sampled_from(builder.maps))], "end")
    block.add_op(ReturnOp(result))
    signature = FunctionType.from_lists([kind(WIDTH)], [result.type])
    return str(ModuleOp([FuncOp("f", signature, Region(block))]))
