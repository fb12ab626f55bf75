"""What all instructions of the PL-330 share: each knows its bytes and its line of assembly.

The encodings are those of Arm's DMA-330 manual (DDI 0424), most of them checked by execution on
QEMU's model. They are the instruction's own business; only loops, whose jumps depend on
their bodies, need an assembler.
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
"""The largest word."""


REQUESTS = ("single", "burst")
"""What a peripheral can ask for."""


class HoldsInstructions:
    """A program or a loop: an op whose region holds instructions."""


class InsideProgram(OpTrait):
    """An instruction stands in a program or in a loop, else no assembler would see it."""

    def verify(self, op: Operation) -> None:
        """Check the parent of an instruction; an op without a parent may still get one."""
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
    """One instruction; the first of its bytes is OPCODE, to which some add bits."""

    OPCODE: ClassVar[int]

    def encode(self) -> bytes:
        """The bytes."""
        return bytes([self.OPCODE])

    def arguments(self) -> tuple[str, ...]:
        """What stands behind the mnemonic in assembly."""
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
    """A number in an instruction."""
    return IntegerAttr(value, i64)


def check_range(what: str, attribute: IntegerAttr, least: int, most: int) -> None:
    """A number has to fit into its field.

    Raises: VerifyException.
    """
    if not least <= attribute.value.data <= most:
        raise VerifyException(
            f"expected {what} to be {least} to {most}, got {attribute.value.data}"
        )
