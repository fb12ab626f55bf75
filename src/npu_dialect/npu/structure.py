"""Modules on tensors: several branches and the merge of their outputs (paper 001, section 2).

    %y = npu.module concat axis 1 of %x : tensor<1x4x8x8xf32> -> tensor<1x6x8x8xf32> {
      npu.branch part 1 {
        %0 = npu.conv2d %x, %w0 ... -> tensor<1x2x8x8xf32>
        npu.yield %0 : tensor<1x2x8x8xf32>
      }
      npu.branch part 0 {
        npu.yield %x : tensor<1x4x8x8xf32>
      }
    }

The branches run in the order of the text; `part` is a branch's position in the merge. The decisions
of `npu-plan-modules` stand in the text too: the module's policy, the size and offset of its input
and output map (MIFM, MOFM) on chip, and each branch's `required` and `occupied` bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    ConstantLike,
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import LAYER
from npu_dialect.module_attributes import (
    MODULE,
)
from npu_dialect.npu.enums import Merge, MergeAttr, Policy, PolicyAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.words import parse_word


def provenance(op: Operation) -> dict[str, Attribute]:
    """The attributes with a layer's name and module, to be copied to ops that replace the layer."""
    found = {key.name: key.raw(op) for key in (LAYER, MODULE)}
    return {name: attribute for name, attribute in found.items() if attribute is not None}


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The output map of a branch, or of layers in `npu.rows`.

    ```mlir
    npu.yield %0 : tensor<1x2x8x8xf32>
    ```
    """

    name = "npu.yield"

    value = operand_def(TensorType)

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value])

    def verify_(self) -> None:
        """The op stands directly inside `npu.branch`, `npu.rows` or `npu.computed`."""
        parent = self.parent_op()
        if parent is None or parent.name not in ("npu.branch", "npu.rows", "npu.computed"):
            raise VerifyException("expected npu.yield directly inside npu.branch or npu.rows")


@irdl_op_definition
class BranchOp(IRDLOperation):
    """One branch of a module: layers that lead from the module's input to one part of its merge.

    `required`: the most that one of its layers needs on chip besides MIFM and MOFM (Algorithm 3).
    `occupied`: the part of the MOFM that the branches before it have filled (Algorithm 5). Both are
    in bytes.

    ```mlir
    npu.branch part 2 required 248832 occupied 0 {
      npu.yield %x : tensor<1x4x8x8xf32>
    }
    ```
    """

    name = "npu.branch"

    part = prop_def(IntegerAttr.constr(i64))
    required = opt_prop_def(IntegerAttr.constr(i64))
    occupied = opt_prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")

    # No effects are declared: a branch has no result, so with pure layers it would count as dead.

    assembly_format = (
        "`part` $part (`required` $required^)? (`occupied` $occupied^)? "
        "attr-dict-with-keyword $body"
    )

    def __init__(self, part: int, body: Region) -> None:
        super().__init__(regions=[body], properties={"part": IntegerAttr(part, i64)})

    @property
    def value(self) -> SSAValue:
        """The output map of the branch."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last.value

    def verify_(self) -> None:
        """The branch is in a module, ends with `npu.yield`, and has no block arguments."""
        if not isinstance(self.parent_op(), BranchedModuleOp):
            raise VerifyException("expected a branch directly inside npu.module")
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("expected a branch that ends with npu.yield")
        if self.body.block.args:
            raise VerifyException("expected a branch without block arguments")


class BranchEffects(MemoryEffect):
    """A module has the effects of the layers in its branches; layers on tensors have none."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        """See `MemoryEffect`."""
        assert isinstance(op, BranchedModuleOp)
        effects = [RecursiveMemoryEffect.get_effects(branch) for branch in op.branches]
        known = [some for some in effects if some is not None]
        return frozenset[EffectInstance]().union(*known) if len(known) == len(effects) else None


@irdl_op_definition
class BranchedModuleOp(IRDLOperation):
    """Branches over one input map (MIFM), merged into one output map (MOFM).

    The merge is a concatenation along an axis, or a sum. Branches can read values from outside, but
    no feature map other than the MIFM: that would be a long skip-connection (paper 001, section 2,
    condition 4). `mifm` and `mofm` are the bytes of these maps on chip, each with its offset.

    ```mlir
    %y = npu.module add of %x policy I mifm 1024 at 0 mofm 1024 at 2048
        : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
      npu.branch part 0 { ... }
      npu.branch part 1 { ... }
    }
    ```
    """

    name = "npu.module"

    input = operand_def(TensorType)
    merge = prop_def(MergeAttr)
    axis = opt_prop_def(IntegerAttr.constr(i64))
    policy = opt_prop_def(PolicyAttr)
    mifm = opt_prop_def(IntegerAttr.constr(i64))
    mifm_offset = opt_prop_def(IntegerAttr.constr(i64))
    mofm = opt_prop_def(IntegerAttr.constr(i64))
    mofm_offset = opt_prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")
    result = result_def(TensorType)

    traits = traits_def(NoTerminator(), BranchEffects())

    MAPS: ClassVar = ("mifm", "mofm")

    def __init__(
        self,
        input: SSAValue,
        merge: str,
        body: Region,
        result_type: Attribute,
        *,
        axis: int | None = None,
    ) -> None:
        super().__init__(
            operands=[input],
            result_types=[result_type],
            regions=[body],
            properties={
                "merge": MergeAttr(Merge(merge)),
                "axis": None if axis is None else IntegerAttr(axis, i64),
            },
        )

    @property
    def branches(self) -> tuple[BranchOp, ...]:
        """The branches, in execution order."""
        return tuple(op for op in self.body.block.ops if isinstance(op, BranchOp))

    @property
    def parts(self) -> tuple[SSAValue, ...]:
        """The output maps of the branches, in the order of the merge."""
        ordered = sorted(self.branches, key=lambda branch: branch.part.value.data)
        return tuple(branch.value for branch in ordered)

    @property
    def depth(self) -> int:
        """The nesting depth: 1 for a module in a function, 2 for one in a branch of that module."""
        parent = self.parent_op()
        while parent is not None and not isinstance(parent, BranchedModuleOp):
            parent = parent.parent_op()
        return 1 if parent is None else parent.depth + 1

    def verify_(self) -> None:
        """Check the paper's conditions for a module, and the plan if there is one."""
        branches = self.branches
        if self.body.block.args:
            raise VerifyException("expected a module without block arguments")
        if len(branches) != len(list(self.body.block.ops)):
            raise VerifyException("expected only npu.branch inside npu.module")
        if len(branches) < 2:
            raise VerifyException(f"expected at least two branches, got {len(branches)}")
        parts = [branch.part.value.data for branch in branches]
        if sorted(parts) != list(range(len(parts))):
            raise VerifyException(
                f"expected parts that number the branches from 0, got {sorted(parts)}"
            )
        self.verify_merge()
        self.verify_plan()
        for layer, value in self.outside_maps():
            if value != self.input:
                raise VerifyException(
                    f"expected branches that read the module's input only: {layer.name} reads "
                    f"{value.type} from outside, a long skip-connection"
                )

    def verify_merge(self) -> None:
        """Check that the shapes and elements of the branches merge into those of the result."""
        shapes = [shape_of(part) for part in self.parts]
        result = shape_of(self.result)
        match self.merge.data, self.axis:
            case Merge.ADD, None:
                expected = shapes[0]
                fits = all(shape == expected for shape in shapes)
            case Merge.CONCAT, IntegerAttr(value=axis) if 0 <= axis.data < len(result):
                at = axis.data
                rest = {(*shape[:at], *shape[at + 1 :]) for shape in shapes}
                fits = len(rest) == 1
                total = sum(shape[at] for shape in shapes if len(shape) > at)
                expected = (*shapes[0][:at], total, *shapes[0][at + 1 :])
            case merge, _:
                raise VerifyException(
                    f"expected merge `add`, or `concat` with an axis of the result, got {merge}"
                )
        if not fits or expected != result:
            raise VerifyException(
                f"expected branches that {self.merge.data} into {self.result.type}, "
                f"got {', '.join(str(part.type) for part in self.parts)}"
            )
        elements = {map_type(part).get_element_type() for part in self.parts}
        if elements != {map_type(self.result).get_element_type()}:
            raise VerifyException(f"expected branches with elements of {self.result.type}")

    def verify_plan(self) -> None:
        """Check the bytes and the offsets of a plan."""
        numbers = [self.mifm, self.mifm_offset, self.mofm, self.mofm_offset]
        for branch in self.branches:
            numbers += [branch.required, branch.occupied]
        if any(number is not None and number.value.data < 0 for number in numbers):
            raise VerifyException("expected bytes and offsets of at least 0")

    def outside_maps(self) -> Iterator[tuple[Operation, SSAValue]]:
        """Each (op, map) where an op in a branch reads a feature map from outside the branch.

        Ops at any depth count. Parameters and constants are no feature maps.
        """
        for branch in self.branches:
            for op in branch.body.walk():
                operands = op.maps if isinstance(op, LayerOp) else op.operands
                for value in operands:
                    if not is_within(branch, value) and not is_constant(value):
                        yield op, value

    # -- syntax --------------------------------------------------------------------------------

    @classmethod
    def parse(cls, parser: Parser) -> BranchedModuleOp:
        """Parse `concat axis 1 of %x policy I ... : type -> type { branches }`."""
        merge = parse_word(parser, Merge, "a merge of branches by")
        axis = parser.parse_integer() if parser.parse_optional_keyword("axis") else None
        parser.parse_keyword("of")
        name = parser.parse_unresolved_operand()
        plan: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("policy"):
            plan["policy"] = PolicyAttr(parse_word(parser, Policy, "policy"))
        for key in cls.MAPS:
            if parser.parse_optional_keyword(key):
                plan[key] = IntegerAttr(parser.parse_integer(), i64)
                if parser.parse_optional_keyword("at"):
                    plan[f"{key}_offset"] = IntegerAttr(parser.parse_integer(), i64)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        operand = parser.resolve_operand(name, type_)
        op = cls(operand, merge, parser.parse_region(), result, axis=axis)
        op.properties.update(plan)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(f" {self.merge.data}")
        if self.axis is not None:
            printer.print_string(f" axis {self.axis.value.data}")
        printer.print_string(" of ")
        printer.print_ssa_value(self.input)
        if self.policy is not None:
            printer.print_string(f" policy {self.policy.data}")
        for key in self.MAPS:
            size, offset = self.properties.get(key), self.properties.get(f"{key}_offset")
            if isinstance(size, IntegerAttr):
                printer.print_string(f" {key} {size.value.data}")
                if isinstance(offset, IntegerAttr):
                    printer.print_string(f" at {offset.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.input.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)
        printer.print_string(" ")
        printer.print_region(self.body)


def is_constant(value: SSAValue) -> bool:
    """Whether a value is the result of a constant op."""
    return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)


def is_within(op: Operation, value: SSAValue) -> bool:
    """Whether a value is defined in a region of an op."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent_block()
    return block is not None and op.is_ancestor(block)


def captured(region: Region) -> list[SSAValue]:
    """The values from outside of the op around it that a region reads, by their first uses."""
    parent = region.parent_op()
    assert parent is not None
    found: dict[SSAValue, None] = {}
    for op in region.walk():
        found.update((value, None) for value in op.operands if not is_within(parent, value))
    return list(found)


def branch_of(layers: Sequence[Operation], result: SSAValue, part: int) -> BranchOp:
    """A branch of some detached layers that yields `result`, for the merge's operand `part`."""
    return BranchOp(part, Region(Block([*layers, YieldOp(result)])))
