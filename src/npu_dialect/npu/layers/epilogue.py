"""Layers with an epilogue, `then relu then max_pool ...`, and how ops read and change its parts."""

from __future__ import annotations

from abc import ABC
from typing import Unpack

from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.epilogue import Epilogue, EpilogueAttr, Parts, parse_then, print_then
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr, PointwiseAttr, TableAttr, check_channels
from npu_dialect.npu.quantization import AdditionAttr, RequantizeAttr


class EpilogueOp(LayerOp, ABC):
    """A layer that may do something to its sums before it stores them."""

    epilogue = opt_prop_def(EpilogueAttr)

    @property
    def parts(self) -> Epilogue:
        """The parts of the epilogue; all None if there is none."""
        return Epilogue() if self.epilogue is None else self.epilogue.data

    def change_epilogue(self, **parts: Unpack[Parts]) -> None:
        """Replace parts of the epilogue; None takes a part away."""
        self.epilogue = epilogue_of(self.parts.with_parts(**parts))

    @property
    def requantize(self) -> RequantizeAttr | None:
        """How i32 sums become i8 or ui8."""
        return self.parts.requantize

    @property
    def activation(self) -> PointwiseAttr | None:
        """The activation of the sums."""
        return self.parts.activation

    @property
    def pool(self) -> PoolAttr | None:
        """The pooling window."""
        return self.parts.pool

    @property
    def overlap(self) -> Overlap | None:
        """What happens to values that several pooling windows hold."""
        return self.parts.overlap

    @property
    def addition(self) -> AdditionAttr | None:
        """The addition of a residual."""
        return self.parts.addition

    @property
    def sum_activation(self) -> PointwiseAttr | None:
        """The activation behind the addition."""
        return self.parts.sum_activation

    @classmethod
    def parse_epilogue(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse `then relu then max_pool [2, 2] by [2, 2] overlap accumulate`."""
        found = epilogue_of(parse_then(parser))
        return {} if found is None else {"epilogue": found}

    def print_epilogue(self, printer: Printer) -> None:
        """Print what `parse_epilogue` reads."""
        print_then(printer, self.parts)


def epilogue_of(epilogue: Epilogue | None) -> EpilogueAttr | None:
    """The attribute of an epilogue; None for one without parts."""
    return None if epilogue is None or epilogue.is_empty() else EpilogueAttr(epilogue)


def check_activations(op: EpilogueOp) -> None:
    """Check that a layer's activations fit its elements and its channels.

    Raises: VerifyException if a table has other elements, a function is behind integers, or its
        parameters are not one for each channel.
    """
    element = op.output_type.get_element_type()
    for activation in (op.activation, op.sum_activation):
        if isinstance(activation, TableAttr) and activation.element != element:
            raise VerifyException(f"expected a table of {element} elements")
        if isinstance(activation, FunctionAttr):
            if op.requantize is not None:
                raise VerifyException("expected bounds or a table behind requantize, no function")
            check_channels(activation, shape_of(op.output))
