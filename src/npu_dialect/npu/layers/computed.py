"""An op of another dialect as a layer, so that it can run row by row with others.

    %e = tensor.empty() : tensor<1x8x12x12xf32>
    %1 = npu.computed %0, %w : (tensor<1x8x14x14xf32>, tensor<8x8x3x3xf32>) -> tensor<...> {
    ^bb0(%a: tensor<1x8x14x14xf32>, %b: tensor<8x8x3x3xf32>):
      %2 = linalg.conv_2d_nchw_fchw ins(%a, %b : ...) outs(%e : ...) -> tensor<1x8x12x12xf32>
      npu.yield %2
    }

The tensors that the op reads are operands. Numbers, and a tensor without elements from which it
starts, come from outside. `npu-fuse-rows` puts such ops into `npu.rows` so, and `npu-bufferize`
takes them out again: there, the types of the body are still those of whole maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self

from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, region_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from npu_dialect.computing import Computation, computation_of
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import ANY_MAP, map_type, shape_of
from npu_dialect.npu.structure import YieldOp, is_constant


@irdl_op_definition
class ComputedOp(LayerOp):
    """A layer whose map an op of another dialect computes.

    ```mlir
    %e = tensor.empty() : tensor<4x8xf32>
    %y = npu.computed %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%a: tensor<4x8xf32>):
      %0 = linalg.exp ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
      npu.yield %0 : tensor<4x8xf32>
    }
    ```
    """

    name = "npu.computed"

    read = var_operand_def(ANY_MAP)
    body = region_def("single_block")

    @classmethod
    def around(cls, computation: Computation) -> Self:
        """A layer in place of an op on tensors, which stays where it is."""
        op = computation.op
        reads = (each for each in computation.reads if isinstance(each.type, TensorType))
        values = tuple(dict.fromkeys(reads))
        block = Block(arg_types=[value.type for value in values])
        mapping: dict[SSAValue, SSAValue] = dict(zip(values, block.args, strict=True))
        inner = op.clone(mapping)
        block.add_ops((inner, YieldOp(inner.results[0])))
        new = cls.made(values, (), (op.results[0].type,), Region(block))
        new.attributes.update(op.attributes)
        return new

    @classmethod
    def made(
        cls,
        read: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        results: Sequence[Attribute],
        body: Region,
    ) -> Self:
        """An op with these operands, results and body."""
        segments = DenseArrayBase.from_list(IntegerType(32), [len(read), len(outs)])
        return cls.create(
            operands=(*read, *outs),
            result_types=results,
            properties={"operandSegmentSizes": segments},
            regions=[body],
        )

    @property
    def inner(self) -> Computation:
        """How the op in the body computes, on whole tensors."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        assert isinstance(last.value.owner, Operation)
        found = computation_of(last.value.owner)
        assert found is not None
        return found

    @property
    def parameter_inputs(self) -> tuple[SSAValue, ...]:
        """The constants of which an output row needs no single row."""
        return tuple(
            value for value in self.inputs if is_constant(value) and not self.follows_rows(value)
        )

    def follows_rows(self, value: SSAValue) -> bool:
        """Whether what the op reads of an input depends on the row that it computes.

        A row has all elements with one index along the last axis but one.
        """
        domain = self.inner.domain
        if domain is None or len(shape_of(self.output)) < 2:
            return False
        rows = domain.maps[-1].results[-2].used_dims()
        maps = (domain.maps[place] for place in self.positions(value))
        return any(not rows.isdisjoint(each.used_dims()) for m in maps for each in m.results)

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the output: the body says what it is."""
        return shape_of(self.output)

    def verify_elements(self, element: Attribute) -> None:
        """The op in the body checks its operands."""

    def verify_(self) -> None:
        """Check the body: what it yields is computed by its op, from its arguments."""
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or not isinstance(last.value.owner, Operation):
            raise VerifyException("expected a body that ends with npu.yield of what it computes")
        op = last.value.owner
        if computation_of(op) is None or len(op.results) != 1:
            raise VerifyException(f"expected an op that says how it computes, got {op.name}")
        before = [each for each in self.body.block.ops if each not in (op, last)]
        if before:
            raise VerifyException(f"expected one op in the body, got {before[0].name}, too")
        types = [arg.type for arg in self.body.block.args]
        if len(types) != len(self.inputs):
            raise VerifyException(f"expected {len(self.inputs)} block arguments, got {len(types)}")
        if self.destination is None:
            wanted = [*(value.type for value in self.inputs), self.results[0].type]
            if [*types, op.results[0].type] != wanted:
                raise VerifyException("expected a body with the types of operands and result")
        super().verify_()

    def macs(self) -> int:
        """The points of a sum; 0 for an op that does not add up."""
        domain = self.inner.domain
        return prod(domain.extents) if domain is not None and domain.sums else 0

    def in_place_inputs(self) -> tuple[int, ...]:
        """See `LayerOp`."""
        inner = self.inner
        places: dict[SSAValue, int] = {arg: arg.index for arg in self.body.block.args}
        reads = (inner.reads[index] for index in inner.in_place_reads())
        return tuple(places[value] for value in reads if value in places)

    def rebuilt(self, inputs: Sequence[SSAValue], out: SSAValue | Attribute) -> Self:
        """See `LayerOp`."""
        outs = (out,) if isinstance(out, SSAValue) else ()
        results = () if isinstance(out, SSAValue) else (out,)
        new = self.made(inputs, outs, results, self.body.clone())
        new.attributes.update(self.attributes)
        return new

    def positions(self, value: SSAValue) -> list[int]:
        """The operands of the op in the body that an input is; the result's place if it starts it.

        Places are those in the maps of the op's domain.
        """
        argument = self.body.block.args[self.inputs.index(value)]
        return [at for at, each in enumerate(self.inner.op.operands) if each is argument]

    def take_out(self) -> None:
        """Put the op of the body in place of this one.

        On buffers, one that adds to its destination gets a copy of what it starts from first.
        """
        place, inner = InsertPoint.before(self), self.inner
        if self.destination is None:
            last = self.body.block.last_op
            assert isinstance(last, YieldOp)
            value = last.value
            assert isinstance(value.owner, Operation)
            value.owner.attributes.update(self.attributes)
            Rewriter.erase_op(last)
            Rewriter.inline_block(self.body.block, place, self.inputs)
            value.name_hint = self.results[0].name_hint
            Rewriter.replace_op(self, (), (value,))
            return
        values = dict[SSAValue, SSAValue](zip(self.body.block.args, self.inputs, strict=True))
        if inner.start is not None and values[inner.start] is not self.destination:
            Rewriter.insert_op(memref.CopyOp(values[inner.start], self.destination), place)
        count = len(inner.op.operands) - inner.starts
        operands = [values.get(each, each) for each in inner.op.operands[:count]]
        new = inner.on([*operands, self.destination])
        new.attributes.update(self.attributes)
        Rewriter.insert_op(new, place)
        Rewriter.erase_op(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the form on tensors."""
        names = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        result = parser.parse_type()
        values = parser.resolve_operands(names, types, parser.pos)
        new = cls.made(values, (), (result,), parser.parse_region())
        new.attributes.update(attributes)
        return new

    def print(self, printer: Printer) -> None:
        """Print the form on tensors; the other one is never written."""
        printer.print_string(" ")
        printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        with printer.in_parens():
            printer.print_list([value.type for value in self.inputs], printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(map_type(self.output))
        printer.print_string(" ")
        printer.print_region(self.body)
