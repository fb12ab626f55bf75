"""The base class of all layers: two forms, one syntax, a shape rule.

A layer op exists in two forms with the same operands and properties:

    %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>                        // a value
    npu.relu ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)                // destination style

Passes use the interface of `LayerOp`, not the individual ops: buffer planning needs only a layer's
operands, destination, shape rule and cost. An op of another dialect can subclass `LayerOp`; passes
then treat it like the layers here. Passes on buffers ask less (`npu_dialect/computing.py`).
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, MemRefType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    VarOperandDef,
    opt_operand_def,
    opt_result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.attributes import LAYER, RUNS
from npu_dialect.computing import Computation, Computes
from npu_dialect.npu.maps import ELEMENT, Map, map_type
from npu_dialect.npu.syntax import Clause, parse_typed_operands, print_typed_operands


class LayerEffects(MemoryEffect):
    """A layer on tensors is pure; in destination style it reads inputs and writes its output."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """See `MemoryEffect`."""
        if isinstance(op, LayerOp) and op.destination is None:
            return set()
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}


class LayerComputes(Computes):
    """A layer computes its OFM from its inputs; each pass knows which elements it uses."""

    @classmethod
    def computation(cls, op: Operation) -> Computation | None:
        """See `Computes`."""
        if not isinstance(op, LayerOp):
            return None
        learned = op.parameter_inputs
        places = (place for place, value in enumerate(op.inputs) if value in learned)
        return Computation(op, frozenset(places), op.properties.get("accumulate") is not None)


class LayerOp(IRDLOperation, abc.ABC):
    """A layer on tensors (one result) or on memrefs (one destination).

    A subclass declares its inputs and properties; `CLAUSES` is its syntax between operands and
    types. xDSL collects a subclass's fields before those of its bases, so `out` is the last
    operand.
    """

    out = opt_operand_def(MemRefType)
    result = opt_result_def(TensorType)

    traits = traits_def(LayerEffects(), LayerComputes())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    CLAUSES: ClassVar[tuple[Clause, ...]] = ()
    PARAMETERS: ClassVar[tuple[str, ...]] = ()
    """Names of the operands that are learned parameters rather than feature maps."""
    ELEMENTWISE: ClassVar[bool] = False
    """Whether output element i needs only element i of inputs of its shape: it may run in place."""
    SCRATCH: ClassVar[bool] = False
    """Whether it may have a working memory, the operand `scratch`."""
    STRIDED: ClassVar[bool] = False
    """Whether its loops are as fast on maps whose rows lie apart, if each row (the last axis) is
    dense."""

    # -- the interface for passes ------------------------------------------------------------

    @abc.abstractmethod
    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the output, from the operands and properties.

        Raises: VerifyException if operands and properties do not fit together.
        """

    def macs(self) -> int:
        """The number of multiply-accumulates of one run; 0 for layers that have none."""
        return 0

    @property
    def destination(self) -> SSAValue | None:
        """The buffer that the layer writes in destination style; None on tensors."""
        return self.out

    @property
    def working_memory(self) -> SSAValue | None:
        """The buffer that holds nothing before and behind the layer; None if it needs none."""
        return getattr(self, "scratch", None)

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        """All operands but the destination and the working memory."""
        besides = (self.destination, self.working_memory)
        count = len(self.operands) - sum(each is not None for each in besides)
        return tuple(self.operands[:count])

    @property
    def parameter_inputs(self) -> tuple[SSAValue, ...]:
        """The inputs that are learned parameters (weights, bias)."""
        values = (getattr(self, name) for name in self.PARAMETERS)
        return tuple(value for value in values if value is not None)

    @property
    def maps(self) -> tuple[SSAValue, ...]:
        """The inputs that are feature maps (IFM)."""
        parameters = self.parameter_inputs
        return tuple(value for value in self.inputs if value not in parameters)

    @property
    def output(self) -> SSAValue:
        """The OFM: the result on tensors, the destination on buffers."""
        return self.results[0] if self.destination is None else self.destination

    @property
    def output_type(self) -> Map:
        """The type of the OFM."""
        return map_type(self.output)

    @property
    def layer_name(self) -> str | None:
        """The name of the layer in the model (`npu.layer`), if it has one."""
        return LAYER.get(self)

    @property
    def repetitions(self) -> int:
        """How often the layer runs in one inference: more than once inside row or tile loops."""
        return RUNS.get(self) or 1

    def in_place_inputs(self) -> tuple[int, ...]:
        """Positions in `inputs` of the maps that the output may overwrite.

        The layer reads element i of such a map only for output element i, before it writes that.
        """
        return tuple(range(len(self.inputs))) if self.ELEMENTWISE else ()

    def rebuilt(self, inputs: Sequence[SSAValue], out: SSAValue | Attribute) -> Self:
        """A copy of the layer with other inputs, as many as `self.inputs`.

        `out` is the destination buffer, or the result type on tensors. The working memory stays.
        """
        destination = isinstance(out, SSAValue)
        working = () if self.working_memory is None else (self.working_memory,)
        new = type(self).create(
            operands=(*inputs, *working, out) if destination else inputs,
            result_types=() if destination else (out,),
            properties=dict(self.properties),
            attributes=dict(self.attributes),
        )
        segments = [
            len(getattr_operands(self, name)) for name, _ in self.get_irdl_definition().operands
        ]
        segments[-1] = int(destination)
        new.properties["operandSegmentSizes"] = DenseArrayBase.from_list(IntegerType(32), segments)
        return new

    # -- verification -------------------------------------------------------------------------

    def verify_(self) -> None:
        """Check the form, the element types and the shape rule."""
        if (self.destination is None) == (not self.results):
            raise VerifyException(
                "expected either a tensor result or a destination buffer in outs(...)"
            )
        family = TensorType if self.destination is None else MemRefType
        for value in self.inputs:
            type_ = map_type(value)
            if type(type_) is not family:
                raise VerifyException(f"expected {family.name} operands, got {type_}")
            if any(extent < 0 for extent in type_.get_shape()):
                raise VerifyException(f"expected static shapes, got {type_}")
        element = self.output_type.get_element_type()
        if not isa(element, ELEMENT):
            raise VerifyException(f"expected float or integer elements, got {element}")
        self.verify_elements(element)
        expected = self.infer_shape()
        if self.output_type.get_shape() != expected:
            raise VerifyException(
                f"expected an output of shape {list(expected)}, "
                f"got {list(self.output_type.get_shape())}"
            )

    def verify_elements(self, element: Attribute) -> None:
        """Check that the elements of all inputs have the type of the output's, `element`."""
        for value in self.inputs:
            if map_type(value).get_element_type() != element:
                raise VerifyException(
                    f"expected operands with elements of type {element}, got {value.type}"
                )

    # -- syntax --------------------------------------------------------------------------------

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse either form."""
        if parser.parse_optional_keyword("ins"):
            operands = parse_typed_operands(parser)
            parser.parse_keyword("outs")
            outs = parse_typed_operands(parser)
            scratch: Sequence[SSAValue] = ()
            if cls.SCRATCH and parser.parse_optional_keyword("scratch"):
                scratch = parse_typed_operands(parser)
            properties = cls.parse_clauses(parser)
            attributes = parser.parse_optional_attr_dict()
            return cls.assemble(parser, operands, outs, (), properties, attributes, scratch)
        names = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        properties = cls.parse_clauses(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = (
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            if len(names) != 1
            else [parser.parse_type()]
        )
        parser.parse_punctuation("->")
        result = parser.parse_type()
        values = parser.resolve_operands(names, types, parser.pos)
        return cls.assemble(parser, values, (), (result,), properties, attributes)

    @classmethod
    def assemble(
        cls,
        parser: Parser,
        inputs: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        properties: dict[str, Attribute],
        attributes: dict[str, Attribute],
        scratch: Sequence[SSAValue] = (),
    ) -> Self:
        """Create the op from its parsed parts, and assign the operands to its segments."""
        if len(outs) > 1:
            parser.raise_error("expected one destination in outs(...)")
        if len(scratch) > 1:
            parser.raise_error("expected one buffer in scratch(...)")
        segments = cls.input_segments(parser, len(inputs), properties)
        segments += [len(scratch)] * cls.SCRATCH + [len(outs)]
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(IntegerType(32), segments)
        return cls.create(
            operands=(*inputs, *scratch, *outs),
            result_types=result_types,
            properties=properties,
            attributes=attributes,
        )

    @classmethod
    def input_segments(
        cls, parser: Parser, count: int, properties: dict[str, Attribute]
    ) -> list[int]:
        """How many of `count` inputs belong to each operand: required ones, then optional ones."""
        names = [name for name, _ in cls.get_irdl_definition().operands][: -1 - cls.SCRATCH]
        required = sum(not name_is_optional(cls, name) for name in names)
        if variadic := next((name for name in names if name_is_variadic(cls, name)), None):
            return [count if name == variadic else 1 for name in names]
        if not required <= count <= len(names):
            wanted = str(required) if required == len(names) else f"{required}-{len(names)}"
            parser.raise_error(f"expected {wanted} input operands, got {count}")
        return [int(index < count) for index in range(len(names))]

    @classmethod
    def parse_clauses(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the clauses in the order of `CLAUSES`; absent ones get their default."""
        properties: dict[str, Attribute] = {}
        for clause in cls.CLAUSES:
            if parser.parse_optional_keyword(clause.keyword):
                value = clause.parse(parser)
            elif clause.required:
                parser.raise_error(f"expected `{clause.keyword}`")
            else:
                value = clause.default
            if value is not None:
                properties[clause.prop] = value
        properties.update(cls.parse_epilogue(parser))
        return properties

    @classmethod
    def parse_epilogue(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the text after the clauses; there is none unless a subclass overrides this."""
        return {}

    def print_epilogue(self, printer: Printer) -> None:
        """Print what `parse_epilogue` reads."""

    def print(self, printer: Printer) -> None:
        """Print either form."""
        printer.print_string(" ")
        if self.destination is None:
            printer.print_list(self.inputs, printer.print_ssa_value)
        else:
            print_typed_operands(printer, "ins", self.inputs)
            printer.print_string(" ")
            print_typed_operands(printer, "outs", (self.destination,))
            if self.working_memory is not None:
                printer.print_string(" ")
                print_typed_operands(printer, "scratch", (self.working_memory,))
        self.print_clauses(printer)
        printer.print_op_attributes(self.attributes)
        if self.destination is None:
            printer.print_string(" : ")
            types = [value.type for value in self.inputs]
            if len(types) == 1:
                printer.print_attribute(types[0])
            else:
                with printer.in_parens():
                    printer.print_list(types, printer.print_attribute)
            printer.print_string(" -> ")
            printer.print_attribute(self.results[0].type)

    def print_clauses(self, printer: Printer) -> None:
        """Print the clauses that differ from their default, then the epilogue."""
        for clause in self.CLAUSES:
            value = self.properties.get(clause.prop)
            if value is None or (value == clause.default and not clause.always):
                continue
            printer.print_string(f" {clause.keyword}")
            clause.print(printer, value)
        self.print_epilogue(printer)


def getattr_operands(op: LayerOp, name: str) -> Sequence[SSAValue]:
    """The operands of an op under one name, as a sequence."""
    value: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
    if value is None:
        return ()
    return (value,) if isinstance(value, SSAValue) else value


def name_is_optional(op: type[LayerOp], name: str) -> bool:
    """Whether an operand of an op may be left out."""
    return isinstance(dict(op.get_irdl_definition().operands)[name], OptOperandDef)


def name_is_variadic(op: type[LayerOp], name: str) -> bool:
    """Whether an operand of an op is variadic."""
    definition = dict(op.get_irdl_definition().operands)[name]
    return isinstance(definition, VarOperandDef) and not isinstance(definition, OptOperandDef)
