"""The instructions of the PL-330 that change a register.

pl330.mov ccr src 8x16 inc dst 8x16 inc
pl330.mov sar 0x00100ca8
pl330.addh sar 20
pl330.adnh dar -320
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.irdl import BaseAttr, irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.pl330.ccr import Ccr, CcrAttr, parse_ccr
from npu_dialect.pl330.enums import Register, RegisterAttr
from npu_dialect.pl330.instruction import WORD, OneOp, check_range, number

ADDRESSES = ("sar", "dar")
"""The source and the destination address register."""


@irdl_op_definition
class MovOp(OneOp):
    """Set a register. `patched`: the caller replaces the word in the code before the program runs,
    and ends the bursts from there at pages of 4096 bytes.

    ```mlir
    pl330.mov ccr src 8x16 inc dst 8x16 inc
    pl330.mov sar 0x00100ca8
    pl330.mov dar patched 0x00000000
    ```
    """

    name = "pl330.mov"
    MNEMONIC: ClassVar = "DMAMOV"
    OPCODE: ClassVar = 0xBC
    REGISTERS: ClassVar = {"sar": 0, "ccr": 1, "dar": 2}

    register = prop_def(RegisterAttr)
    value = prop_def(IntegerAttr.constr(i64) | BaseAttr(CcrAttr))
    patched = opt_prop_def(UnitAttr)

    def __init__(self, register: str, value: int | Ccr, *, patched: bool = False) -> None:
        super().__init__(
            properties={
                "register": RegisterAttr(Register(register)),
                "value": number(value) if isinstance(value, int) else CcrAttr.of(value),
                "patched": UnitAttr() if patched else None,
            }
        )

    @property
    def word(self) -> int:
        """The value as a 32-bit word."""
        value = self.value
        return value.word.data if isinstance(value, CcrAttr) else value.value.data

    def verify_(self) -> None:
        """The value is a CCR for `ccr`, and an address for `sar` and `dar`."""
        if (self.register.data == "ccr") != isinstance(self.value, CcrAttr):
            raise VerifyException("expected clauses for ccr, and an address for sar and dar")
        if isinstance(self.value, CcrAttr):
            if self.patched is not None:
                raise VerifyException("expected only sar and dar to be patched")
        elif not 0 <= self.word <= WORD:
            raise VerifyException(f"expected an address of 32 bits, got {self.word}")

    def encode(self) -> bytes:
        """See `OneOp`."""
        register = self.REGISTERS[self.register.data]
        return bytes([self.OPCODE, register]) + self.word.to_bytes(4, "little")

    def arguments(self) -> tuple[str, ...]:
        """See `OneOp`."""
        value = self.value
        text = value.ccr().assembly() if isinstance(value, CcrAttr) else f"{self.word:#010x}"
        return (self.register.data.upper(), text)

    @classmethod
    def parse(cls, parser: Parser) -> MovOp:
        """Parse a register and its value."""
        register = parser.parse_keyword_in(("ccr", "sar", "dar"))
        if register == "ccr":
            op = cls(register, parse_ccr(parser))
        else:
            patched = parser.parse_optional_keyword("patched") is not None
            op = cls(register, parser.parse_integer(allow_boolean=False), patched=patched)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        value = self.value
        text = str(value.ccr()) if isinstance(value, CcrAttr) else f"{self.word:#010x}"
        patched = "patched " if self.patched is not None else ""
        printer.print_string(f" {self.register.data} {patched}{text}")
        printer.print_op_attributes(self.attributes)


class AddOp(OneOp, ABC):
    """Add a number to an address register."""

    LEAST: ClassVar[int]
    MOST: ClassVar[int]

    register = prop_def(RegisterAttr)
    amount = prop_def(IntegerAttr.constr(i64))

    def __init__(self, register: str, amount: int) -> None:
        super().__init__(
            properties={"register": RegisterAttr(Register(register)), "amount": number(amount)}
        )

    def verify_(self) -> None:
        """The number is in the range of the instruction: 16 bits and its sign."""
        if self.register.data not in ADDRESSES:
            raise VerifyException(f"expected sar or dar, got {self.register.data}")
        check_range("the number to add", self.amount, self.LEAST, self.MOST)

    def encode(self) -> bytes:
        """See `OneOp`."""
        opcode = self.OPCODE | ADDRESSES.index(self.register.data) << 1
        return bytes([opcode]) + (self.amount.value.data & 0xFFFF).to_bytes(2, "little")

    def arguments(self) -> tuple[str, ...]:
        """See `OneOp`."""
        return (self.register.data.upper(), f"{self.amount.value.data & 0xFFFF:#x}")

    @classmethod
    def parse(cls, parser: Parser) -> AddOp:
        """Parse a register and a number."""
        op = cls(parser.parse_keyword_in(ADDRESSES), parser.parse_integer(allow_boolean=False))
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(f" {self.register.data} {self.amount.value.data}")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class AddhOp(AddOp):
    """Add 0 to 65535 to SAR or DAR: `pl330.addh sar 20`."""

    name = "pl330.addh"
    MNEMONIC: ClassVar = "DMAADDH"
    OPCODE: ClassVar = 0x54
    LEAST: ClassVar = 0
    MOST: ClassVar = 65535


@irdl_op_definition
class AdnhOp(AddOp):
    """Add -65536 to -1 to SAR or DAR: `pl330.adnh sar -320`.

    The instruction holds the low 16 bits of the number; the controller sets the high bits to ones.
    """

    name = "pl330.adnh"
    MNEMONIC: ClassVar = "DMAADNH"
    OPCODE: ClassVar = 0x5C
    LEAST: ClassVar = -65536
    MOST: ClassVar = -1
