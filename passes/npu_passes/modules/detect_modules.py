"""`npu-detect-modules`: put branches and the merge that joins them into one op (on tensors).

    %a = npu.conv2d %x, %v ... {npu.layer = "fire2/expand1x1"} : ... -> tensor<1x64x55x55xf32>
    %b = npu.conv2d %x, %w ... {npu.layer = "fire2/expand3x3"} : ... -> tensor<1x64x55x55xf32>
    %y = npu.concat %a, %b axis 1 {npu.layer = "fire2/concat"} : ... -> tensor<1x128x55x55xf32>
becomes
    %y = npu.module concat axis 1 of %x {npu.layer = "fire2", npu.merge = "fire2/concat"}
        : tensor<1x16x55x55xf32> -> tensor<1x128x55x55xf32> {
      npu.branch part 0 {
        %a = npu.conv2d %x, %v ...
        npu.yield %a : tensor<1x64x55x55xf32>
      }
      npu.branch part 1 { ... }
    }

`npu_plans/modules/graph.py` decides which merges end a module (paper 001, Algorithm 2). Where a
branch splits again, its module contains another module. The branches are in the order of their
first layers, and those without a layer are last. Their layers move to the place of the merge.

A merge of several maps that does not end a module gets the reason as `npu.no_module = "..."`. It
gets the positions of its operands that are long skip-connections, whose maps are read from off-chip
memory, as `npu.long_skips = array<i64: 1>`. The other operands of such a concatenation, if they are
adjacent, may still make a module; its result is concatenated with the long skip-connections
(`npu.in_part`). Functions of several blocks and layers in destination style are not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import LAYER
from npu_dialect.module_attributes import IN_PART, LONG_SKIPS, MERGE, MODULE, NO_MODULE, PLACE
from npu_dialect.npu.layers import ConcatOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.structure import BranchedModuleOp, BranchOp, branch_of
from npu_passes.modules.network import Network, merge_of
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_plans.modules.graph import Branch, Module, Modules, detect
from npu_plans.modules.module_names import module_names


@dataclass(frozen=True)
class Detection:
    """The layers of a block, the modules in it, and the names of the modules by their merge."""

    network: Network
    found: Modules
    names: dict[int, str]


def find_modules(block: Block, max_depth: int) -> Detection:
    """Find the modules of a block whose branches are at most `max_depth` layers long."""
    network = Network.of(block)
    found = detect(network.nodes, max_depth)
    layers = {
        merge: [
            name
            for number in (*sorted(module.members), merge)
            if (name := network.layer_name(number)) is not None
        ]
        for merge, module in found.modules.items()
    }
    members = {number: module.members for number, module in found.modules.items()}
    return Detection(network, found, module_names(layers, members))


class Wrapping:
    """Puts the layers of a block into modules, inner ones first."""

    def __init__(self, detection: Detection) -> None:
        """Prepare to wrap; the IR is not changed yet."""
        self.network = detection.network
        self.found = detection.found
        self.names = detection.names
        self.ops = list(detection.network.ops)
        self.values = list(detection.network.values)

    def run(self) -> None:
        """Make all modules, and write on other merges why they end none."""
        for number, op in enumerate(self.ops):
            if op is not None and len(op.operands) > 1:
                self.annotate(op, number)
        for number, module in self.found.modules.items():
            self.wrap(number, module)

    def annotate(self, op: Operation, number: int) -> None:
        """Set `npu.no_module` and `npu.long_skips` of a merge, or remove those of an older run."""
        NO_MODULE.drop(op)
        LONG_SKIPS.drop(op)
        if (remark := self.found.remarks.get(number)) is not None:
            reason = remark.named(self.name)
            NO_MODULE.set(op, reason)
        if (places := self.found.long_skips.get(number)) is not None:
            LONG_SKIPS.set(op, tuple(places))

    def name(self, node: int) -> str:
        """The name of a node in a remark: its module's if it is a whole merge, else its own."""
        module = None if node in self.found.long_skips else self.names.get(node)
        return module or self.network.name(node)

    def wrap(self, number: int, module: Module) -> None:
        """Replace a merge by the module that ends with it."""
        merge, start = self.ops[number], self.values[module.start]
        assert merge is not None
        kind = merge_of(merge)
        assert kind is not None
        axis = merge.axis.value.data if isinstance(merge, ConcatOp) else None
        parts = tuple(merge.operands[module.first : module.first + len(module.branches)])
        ordered = sorted(module.branches, key=lambda branch: self.first(branch, number))
        branches = [self.branch(branch, parts[branch.part]) for branch in ordered]
        result = merge.results[0].type
        if isinstance(merge, ConcatOp):
            result = concatenated(parts, merge.axis.value.data)
        op = BranchedModuleOp(start, kind, Region(Block(branches)), result, axis=axis)
        Rewriter.insert_op(op, InsertPoint.before(merge))
        if not (whole := len(parts) == len(merge.operands)):
            IN_PART.set(op, True)
        else:
            op.attributes |= merge.attributes
            unmark(op)
        if (name := self.names.get(number)) is not None:
            own = LAYER.get(merge)
            if whole and own is not None:
                MERGE.set(op, own)
            LAYER.set(op, name)
        made = op if whole else rest_of(merge, op, module.first, len(parts))
        Rewriter.replace_op(merge, [] if whole else [made], [made.results[0]])
        self.ops[number], self.values[number] = made, made.results[0]

    def branch(self, branch: Branch, result: SSAValue) -> BranchOp:
        """Move the layers of a branch into it."""
        layers = [op for number in branch.chain if (op := self.ops[number]) is not None]
        for layer in layers:
            layer.detach()
            unmark(layer)
        return branch_of(layers, result, branch.part)

    def first(self, branch: Branch, merge: int) -> tuple[int, int]:
        """The sort key of a branch: the number of its first layer, then its part."""
        if not branch.chain:
            return merge, branch.part
        module = self.found.modules.get(branch.chain[0])
        return branch.chain[0] if module is None else min(module.members), branch.part


def concatenated(parts: Sequence[SSAValue], axis: int) -> TensorType[Attribute]:
    """The type of a concatenation."""
    shape = list(shape_of(parts[0]))
    shape[axis] = sum(shape_of(part)[axis] for part in parts)
    return TensorType(map_type(parts[0]).get_element_type(), shape)


def rest_of(merge: Operation, module: BranchedModuleOp, first: int, count: int) -> ConcatOp:
    """The concatenation of long skip-connections and a module.

    The module replaces the `count` operands of `merge` from `first` on.
    """
    assert isinstance(merge, ConcatOp)
    operands = [*merge.operands[:first], module.result, *merge.operands[first + count :]]
    made = ConcatOp(operands, merge.axis.value.data, merge.results[0].type)
    made.attributes |= merge.attributes
    places = LONG_SKIPS.get(merge)
    assert places is not None
    moved = [at - (count - 1 if at > first else 0) for at in places]
    LONG_SKIPS.set(made, tuple(moved))
    return made


def unmark(op: Operation) -> None:
    """Remove `npu.module` and `npu.place`, which an earlier `npu-inline-modules` has set."""
    MODULE.drop(op)
    PLACE.drop(op)


@dataclass(frozen=True)
class DetectModulesPass(RefusingPass):
    """Wrap branches and their merge into modules; see the module.

    `max_depth`: the most layers that a branch may have; activations and views do not count.
    """

    name = "npu-detect-modules"

    max_depth: int = 8
    """The most layers that a branch may have; activations and views do not count."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Find modules in every function of one block."""
        if self.max_depth < 1:
            raise Refusal(f"expected a max-depth of at least 1, got {self.max_depth}")
        for function in op.walk():
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
                Wrapping(find_modules(function.body.block, self.max_depth)).run()
