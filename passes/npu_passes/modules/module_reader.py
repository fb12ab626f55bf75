"""Reads `npu.module` on tensors as plain data, and finds the ops that are steps of a branch.

A step is a layer or a nested module. Constants and reshapes are no steps, and neither are
element-wise layers that run in place on a map of their branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from math import prod
from typing import Literal, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from npu_dialect.attributes import LAYER
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, Conv2dOp, ReshapeOp
from npu_dialect.npu.maps import bytes_of, element_bytes, map_type, shape_of
from npu_dialect.npu.row_windows import row_window
from npu_dialect.npu.structure import BranchedModuleOp, BranchOp, YieldOp, is_constant
from npu_dialect.target import machine_of
from npu_dialect.windows import Axis
from npu_passes.support.refuse import Refusal, refuse
from npu_passes.support.tails import tail_of
from npu_plans.modules.footprints import Storage
from npu_plans.modules.module_data import Branch, FeatureMap, Layer, Module, Pass


@dataclass
class ModuleReader:
    """Reads modules of one program; each map of the program gets a key of its own.

    `passes`: the most passes over its output channels in which a layer with working memory may run.
    """

    storage: Storage
    passes: int = 1
    maps: dict[SSAValue, FeatureMap] = field(default_factory=dict[SSAValue, FeatureMap])

    def frugal(self) -> ModuleReader:
        """A reader with the same maps that counts the least memory with which layers can run."""
        storage = self.storage.frugal()
        made = ModuleReader(storage, self.passes)
        for value, each in self.maps.items():
            size = storage.map_bytes(shape_of(value), element_bytes(map_type(value)))
            made.maps[value] = FeatureMap(each.key, size)
        return made

    def module(self, op: BranchedModuleOp) -> Module:
        """A module with its branches as plain data.

        Raises: PassFailedException, at the op, if an op in a branch is neither a layer nor a module
        nor a constant.
        """
        branches = tuple(
            Branch(
                branch.part.value.data,
                tuple(self.step(step) for step in steps_of(branch)),
                self.map(branch.value),
            )
            for branch in op.branches
        )
        merge = cast(Literal["concat", "add"], op.merge.data)
        return Module(
            name_of(op),
            self.map(op.input),
            self.map(op.result),
            merge,
            branches,
            slices=op.axis is not None and op.axis.value.data == 1 and shape_of(op.result)[0] == 1,
        )

    def step(self, op: LayerOp | BranchedModuleOp) -> Layer | Module:
        """A step of a branch as plain data."""
        return self.module(op) if isinstance(op, BranchedModuleOp) else self.layer(op)

    def layer(self, op: LayerOp) -> Layer:
        """A layer as plain data, with the memory that it needs on chip."""
        kernels = [value for value in op.parameter_inputs if len(shape_of(value)) > 1]
        whole = self.part(op, 1)
        split = tuple(self.part(op, count) for count in range(2, self.passes + 1))
        return Layer(
            name_of(op),
            tuple(self.map(value) for value in op.maps if not is_constant(value)),
            self.map(op.output),
            working=whole.working,
            weights=whole.weights,
            parameters=sum(bytes_of(map_type(value)) for value in kernels),
            inside=self.inside_bytes(op),
            moves=not isinstance(op, ConcatOp),
            elementwise=op.ELEMENTWISE,
            split=split if whole.working else (),
            tail=tail_of(op),
            rows=rows_bytes(op) if tail_of(op) else 0,
        )

    def part(self, op: LayerOp, passes: int) -> Pass:
        """WM.Partial and W.Partial of a layer that runs in `passes` passes over output channels.

        Only a convolution with a stride, or with a fused pool that has one, needs working memory.
        """
        axes, strides = windows_of(op)
        batch, channels = (*op.output_type.get_shape(), 1, 1)[:2]
        shape = (
            batch,
            -(-channels // passes),
            *(replace(axis, stride=1).outputs for axis in axes),
        )
        kernels = [value for value in op.parameter_inputs if len(shape_of(value)) > 1]
        weights = (
            self.storage.weight_bytes(
                -(-shape_of(value)[0] // passes),
                prod(shape_of(value)[1:]) * element_bytes(map_type(value)),
            )
            for value in kernels
        )
        element = element_bytes(op.output_type)
        return Pass(self.storage.working_bytes(shape, strides, element), sum(weights))

    def map(self, value: SSAValue) -> FeatureMap:
        """The map that a value lies in: for a layer in place, the map that it overwrites."""
        while (op := in_place(value)) is not None:
            value = op.maps[0]
        if value not in self.maps:
            size = self.storage.map_bytes(shape_of(value), element_bytes(map_type(value)))
            self.maps[value] = FeatureMap(len(self.maps), size)
        return self.maps[value]

    def inside_bytes(self, op: LayerOp) -> int:
        """Bytes of the map between a convolution and the pool or addition fused into it."""
        if not isinstance(op, Conv2dOp) or (op.pool is None and op.residual is None):
            return 0
        return self.storage.map_bytes(op.conv_shape(), element_bytes(op.output_type)).full


def rows_bytes(op: LayerOp) -> int:
    """Bytes of the rows of its IFM that a layer with row windows needs at once."""
    window, (batch, channels, _, width) = row_window(op), shape_of(op.maps[0])
    assert window is not None
    return batch * channels * window.reach * width * element_bytes(map_type(op.maps[0]))


def windows_of(op: LayerOp) -> tuple[tuple[Axis, ...], tuple[int, ...]]:
    """The sliding windows of a convolution, and the strides of these windows and of a fused pool.

    Both are empty for other layers, a pool among them: only the multipliers of a convolution
    compute patches at stride 1.
    """
    if isinstance(op, Conv2dOp):
        pool = () if op.pool is None else int_values(op.pool.strides)
        axes = op.axes()
        return axes, (*(axis.stride for axis in axes), *pool)
    return (), ()


def in_place(value: SSAValue) -> LayerOp | None:
    """The layer that computes a value, if the value needs no memory of its own; else None.

    That is a reshape, or an element-wise layer of one map that dies there. The map must be computed
    in the same block: a branch must not overwrite its MIFM.
    """
    op = value.owner
    if isinstance(op, ReshapeOp):
        return op
    if not isinstance(op, LayerOp) or not op.ELEMENTWISE or len(op.maps) != 1:
        return None
    source = op.maps[0]
    inside = isinstance(source.owner, Operation) and source.owner.parent is op.parent
    same = shape_of(source) == shape_of(value)
    return op if inside and same and not is_constant(source) and source.has_one_use() else None


def steps_of(branch: BranchOp) -> Iterator[LayerOp | BranchedModuleOp]:
    """The ops that are steps of a branch, in execution order.

    Raises: PassFailedException, at the op, if it is neither a layer nor a module nor a constant.
    """
    for op in branch.body.block.ops:
        if isinstance(op, LayerOp):
            if in_place(op.output) is None:
                yield op
        elif isinstance(op, BranchedModuleOp):
            yield op
        elif not isinstance(op, YieldOp) and not all(map(is_constant, op.results)):
            refuse(op, f"expected only layers and modules in a branch, got {op.name}")


def modules_of(module: ModuleOp) -> tuple[BranchedModuleOp, ...]:
    """The modules of a program that lie in no other, in execution order."""
    found = (op for op in module.walk() if isinstance(op, BranchedModuleOp))
    return tuple(op for op in found if op.depth == 1)


def name_of(op: Operation) -> str:
    """The name of a layer or module in the model, or the name of the op if it has none."""
    return LAYER.get(op) or op.name


def needed_machine(module: ModuleOp) -> Machine:
    """The machine of a program.

    Raises: PassFailedException if it has none.
    """
    machine = machine_of(module)
    if machine is None:
        raise Refusal(
            "expected a machine: attribute npu.target on the module, or npu-attach-target"
        )
    return machine


def layers_outside(module: ModuleOp) -> Iterator[LayerOp]:
    """The layers of a program that lie in no module, without those that run in place."""
    inside = set(chain.from_iterable(op.walk() for op in modules_of(module)))
    for op in module.walk():
        if isinstance(op, LayerOp) and op not in inside and in_place(op.output) is None:
            yield op
