"""The PL-330 instructions of one byte: loads, stores, barriers, the end.

pl330.ld
pl330.st
pl330.wmb
pl330.end
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from npu_dialect.pl330.instruction import OneOp


class PlainOp(OneOp, ABC):
    """An instruction of one byte."""

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class LdOp(PlainOp):
    """Load one burst, as CCR sets it for the source, from address SAR into the MFIFO."""

    name = "pl330.ld"
    MNEMONIC: ClassVar = "DMALD"
    OPCODE: ClassVar = 0x04


@irdl_op_definition
class LdsOp(PlainOp):
    """Load one beat if the last request was for a single beat."""

    name = "pl330.lds"
    MNEMONIC: ClassVar = "DMALDS"
    OPCODE: ClassVar = 0x05


@irdl_op_definition
class LdbOp(PlainOp):
    """Load one burst if the last request was for a burst."""

    name = "pl330.ldb"
    MNEMONIC: ClassVar = "DMALDB"
    OPCODE: ClassVar = 0x07


@irdl_op_definition
class StOp(PlainOp):
    """Store one burst, as CCR sets it for the destination, from the MFIFO to address DAR."""

    name = "pl330.st"
    MNEMONIC: ClassVar = "DMAST"
    OPCODE: ClassVar = 0x08


@irdl_op_definition
class StsOp(PlainOp):
    """Store one beat if the last request was for a single beat."""

    name = "pl330.sts"
    MNEMONIC: ClassVar = "DMASTS"
    OPCODE: ClassVar = 0x09


@irdl_op_definition
class StbOp(PlainOp):
    """Store one burst if the last request was for a burst."""

    name = "pl330.stb"
    MNEMONIC: ClassVar = "DMASTB"
    OPCODE: ClassVar = 0x0B


@irdl_op_definition
class StzOp(PlainOp):
    """Store one burst of zeros to address DAR."""

    name = "pl330.stz"
    MNEMONIC: ClassVar = "DMASTZ"
    OPCODE: ClassVar = 0x0C


@irdl_op_definition
class RmbOp(PlainOp):
    """Wait until all loads are done."""

    name = "pl330.rmb"
    MNEMONIC: ClassVar = "DMARMB"
    OPCODE: ClassVar = 0x12


@irdl_op_definition
class WmbOp(PlainOp):
    """Wait until all stores are done."""

    name = "pl330.wmb"
    MNEMONIC: ClassVar = "DMAWMB"
    OPCODE: ClassVar = 0x13


@irdl_op_definition
class NopOp(PlainOp):
    """Do nothing."""

    name = "pl330.nop"
    MNEMONIC: ClassVar = "DMANOP"
    OPCODE: ClassVar = 0x18


@irdl_op_definition
class KillOp(PlainOp):
    """Stop the thread at once; meant for the debug registers, not for programs."""

    name = "pl330.kill"
    MNEMONIC: ClassVar = "DMAKILL"
    OPCODE: ClassVar = 0x01


@irdl_op_definition
class EndOp(PlainOp):
    """The end of a program."""

    name = "pl330.end"
    MNEMONIC: ClassVar = "DMAEND"
    OPCODE: ClassVar = 0x00


PLAIN: tuple[type[PlainOp], ...] = (
    *(LdOp, LdsOp, LdbOp, StOp, StsOp, StbOp, StzOp),
    *(RmbOp, WmbOp, NopOp, KillOp, EndOp),
)
"""Instructions without arguments."""
