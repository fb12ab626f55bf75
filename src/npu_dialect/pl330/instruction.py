"""The base classes of all PL-330 instructions: each op gives its bytes and its line of assembly.

The encodings are those of Arm's DMA-330 manual (DDI 0424); most of them were checked by execution
on QEMU's model. Each instruction encodes itself. Only loops need an assembler, as their jumps
depend on their bodies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

WORD = 2**32 - 1
"""The largest 32-bit word."""


REQUESTS = ("single", "burst")
"""The kinds of request that a peripheral can make: for a single beat or for a burst."""


class HoldsInstructions:
    """A program or a loop: an op whose region holds instructions."""


class InsideProgram(OpTrait):
    """The trait of an op that may stand only in a program or a loop, so that it gets assembled."""

    def verify(self, op: Operation) -> None:
        """Check the parent op; an op without a parent passes, as it may still get one.

        Raises: VerifyException if the parent is neither a program nor a loop.
        """
        parent = op.parent_op()
        if parent is not None and not isinstance(parent, HoldsInstructions):
            raise VerifyException(
                f"'{op.name}' expects parent op to be one of 'pl330.program', 'pl330.loop', "
                "'pl330.loop_forever'"
            )


class InstructionOp(IRDLOperation, ABC):
    """One instruction, or a loop of instructions."""

    MNEMONIC: ClassVar[str]

    traits = traits_def(InsideProgram())

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes of code."""


class OneOp(InstructionOp, ABC):
    """One instruction; its first byte is OPCODE, to which some instructions add bits."""

    OPCODE: ClassVar[int]

    def encode(self) -> bytes:
        """The bytes of the instruction."""
        return bytes([self.OPCODE])

    def arguments(self) -> tuple[str, ...]:
        """The arguments after the mnemonic in assembly."""
        return ()

    def mnemonic(self) -> str:
        """The name in assembly."""
        return self.MNEMONIC

    def assembly(self) -> str:
        """The line of assembly."""
        return " ".join((self.mnemonic(), ", ".join(self.arguments()))).rstrip()

    @property
    def size(self) -> int:
        """Bytes of code."""
        return len(self.encode())


def number(value: int) -> IntegerAttr:
    """The attribute for a number in an instruction."""
    return IntegerAttr(value, i64)


def check_range(what: str, attribute: IntegerAttr, least: int, most: int) -> None:
    """Check that a number fits into its field.

    Raises: VerifyException if it is not in `least` to `most`.
    """
    if not least <= attribute.value.data <= most:
        raise VerifyException(
            f"expected {what} to be {least} to {most}, got {attribute.value.data}"
        )
