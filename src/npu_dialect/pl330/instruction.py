"""What all instructions of the PL-330 share: each knows its bytes and its line of assembly.

The encodings are those of Arm's DMA-330 manual (DDI 0424), most of them checked by execution on
QEMU's model. They are the instruction's own business; only loops, whose jumps depend on
their bodies, need an assembler.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import IRDLOperation, lazy_traits_def
from xdsl.traits import HasParent, OpTrait
from xdsl.utils.exceptions import VerifyException

WORD = 2**32 - 1
"""The largest word."""


def inside_programs() -> tuple[OpTrait, ...]:
    """An instruction stands in a program or in a loop, else nobody would assemble it."""
    from npu_dialect.pl330.loops import LoopForeverOp, LoopOp
    from npu_dialect.pl330.program import ProgramOp

    return (HasParent(ProgramOp, LoopOp, LoopForeverOp),)


class InstructionOp(IRDLOperation, ABC):
    """One instruction, or a loop of instructions."""

    MNEMONIC: ClassVar[str]

    traits = lazy_traits_def(inside_programs)

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
