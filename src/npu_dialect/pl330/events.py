"""The instructions of the PL-330 for events, peripherals and other channels.

pl330.sev 0
pl330.wfe 1 invalid
pl330.wfp 2 burst
pl330.go 3 at 0x00100000
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.pl330.enums import Request, RequestAttr
from npu_dialect.pl330.instruction import WORD, OneOp, check_range, number


@irdl_op_definition
class SevOp(OneOp):
    """Signal an event or an interrupt: `pl330.sev 0`."""

    name = "pl330.sev"
    MNEMONIC: ClassVar = "DMASEV"
    OPCODE: ClassVar = 0x34
    assembly_format = "$event attr-dict"

    event = prop_def(IntegerAttr.constr(i64))

    def __init__(self, event: int) -> None:
        super().__init__(properties={"event": number(event)})

    def verify_(self) -> None:
        """The field has 5 bits."""
        check_range("the event", self.event, 0, 31)

    def encode(self) -> bytes:
        """See `OneOp`."""
        return bytes([self.OPCODE, self.event.value.data << 3])

    def arguments(self) -> tuple[str, ...]:
        """See `OneOp`."""
        return (f"E{self.event.value.data}",)


@irdl_op_definition
class WfeOp(OneOp):
    """Wait for an event: `pl330.wfe 1`; with `invalid`, fetch the code again afterwards."""

    name = "pl330.wfe"
    MNEMONIC: ClassVar = "DMAWFE"
    OPCODE: ClassVar = 0x36
    assembly_format = "$event (`invalid` $invalid^)? attr-dict"

    event = prop_def(IntegerAttr.constr(i64))
    invalid = opt_prop_def(UnitAttr)

    def __init__(self, event: int, *, invalid: bool = False) -> None:
        super().__init__(
            properties={"event": number(event), "invalid": UnitAttr() if invalid else None}
        )

    def verify_(self) -> None:
        """The field has 5 bits."""
        check_range("the event", self.event, 0, 31)

    def encode(self) -> bytes:
        """See `OneOp`."""
        invalid = 2 if self.invalid is not None else 0
        return bytes([self.OPCODE, self.event.value.data << 3 | invalid])

    def arguments(self) -> tuple[str, ...]:
        """See `OneOp`."""
        event = f"E{self.event.value.data}"
        return (event, "invalid") if self.invalid is not None else (event,)


class PeripheralOp(OneOp, ABC):
    """An instruction for a peripheral and one kind of request."""

    KINDS: ClassVar[dict[str, tuple[int, str]]]
    """For each kind of request the bits that it adds to the opcode, and its assembly letter."""

    peripheral = prop_def(IntegerAttr.constr(i64))
    request = prop_def(RequestAttr)

    def __init__(self, peripheral: int, request: str) -> None:
        super().__init__(
            properties={"peripheral": number(peripheral), "request": RequestAttr(Request(request))}
        )

    def verify_(self) -> None:
        """The peripheral fits into 5 bits, and the instruction has this kind of request."""
        check_range("the peripheral", self.peripheral, 0, 31)
        if self.request.data not in self.KINDS:
            kinds = " or ".join(self.KINDS)
            raise VerifyException(f"expected the request to be {kinds}, got {self.request.data}")

    def encode(self) -> bytes:
        """See `OneOp`."""
        bits, _ = self.KINDS[self.request.data]
        return bytes([self.OPCODE | bits, self.peripheral.value.data << 3])

    def mnemonic(self) -> str:
        """See `OneOp`."""
        return f"{self.MNEMONIC}{self.KINDS[self.request.data][1]}"

    def arguments(self) -> tuple[str, ...]:
        """See `OneOp`."""
        return (f"P{self.peripheral.value.data}",)

    @classmethod
    def parse(cls, parser: Parser) -> PeripheralOp:
        """Parse `2 burst`."""
        op = cls(
            parser.parse_integer(allow_boolean=False), parser.parse_keyword_in(tuple(cls.KINDS))
        )
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(f" {self.peripheral.value.data} {self.request.data}")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class WfpOp(PeripheralOp):
    """Wait for a request of a peripheral: `pl330.wfp 2 burst`; `periph` waits for any kind."""

    name = "pl330.wfp"
    MNEMONIC: ClassVar = "DMAWFP"
    OPCODE: ClassVar = 0x30
    KINDS: ClassVar = {"single": (0, ""), "periph": (1, ""), "burst": (2, "")}

    def mnemonic(self) -> str:
        """The mnemonic without a letter: the kind of request is an argument."""
        return self.MNEMONIC

    def arguments(self) -> tuple[str, ...]:
        """See `OneOp`."""
        return (f"P{self.peripheral.value.data}", self.request.data)


@irdl_op_definition
class LdpOp(PeripheralOp):
    """Load for a request, and notify the peripheral at the last load: `pl330.ldp 2 burst`."""

    name = "pl330.ldp"
    MNEMONIC: ClassVar = "DMALDP"
    OPCODE: ClassVar = 0x25
    KINDS: ClassVar = {"single": (0, "S"), "burst": (2, "B")}


@irdl_op_definition
class StpOp(PeripheralOp):
    """Store for a request, and notify the peripheral: `pl330.stp 2 burst`."""

    name = "pl330.stp"
    MNEMONIC: ClassVar = "DMASTP"
    OPCODE: ClassVar = 0x29
    KINDS: ClassVar = {"single": (0, "S"), "burst": (2, "B")}


@irdl_op_definition
class FlushpOp(OneOp):
    """Discard the pending requests of a peripheral: `pl330.flushp 2`."""

    name = "pl330.flushp"
    MNEMONIC: ClassVar = "DMAFLUSHP"
    OPCODE: ClassVar = 0x35
    assembly_format = "$peripheral attr-dict"

    peripheral = prop_def(IntegerAttr.constr(i64))

    def __init__(self, peripheral: int) -> None:
        super().__init__(properties={"peripheral": number(peripheral)})

    def verify_(self) -> None:
        """The field has 5 bits."""
        check_range("the peripheral", self.peripheral, 0, 31)

    def encode(self) -> bytes:
        """See `OneOp`."""
        return bytes([self.OPCODE, self.peripheral.value.data << 3])

    def arguments(self) -> tuple[str, ...]:
        """See `OneOp`."""
        return (f"P{self.peripheral.value.data}",)


@irdl_op_definition
class GoOp(OneOp):
    """Start a channel: `pl330.go 3 at 0x00100000 nonsecure`. Only the manager thread has it."""

    name = "pl330.go"
    MNEMONIC: ClassVar = "DMAGO"
    OPCODE: ClassVar = 0xA0

    channel = prop_def(IntegerAttr.constr(i64))
    address = prop_def(IntegerAttr.constr(i64))
    nonsecure = opt_prop_def(UnitAttr)

    def __init__(self, channel: int, address: int, *, nonsecure: bool = False) -> None:
        super().__init__(
            properties={
                "channel": number(channel),
                "address": number(address),
                "nonsecure": UnitAttr() if nonsecure else None,
            }
        )

    def verify_(self) -> None:
        """The fields have 3 and 32 bits."""
        check_range("the channel", self.channel, 0, 7)
        check_range("the address", self.address, 0, WORD)

    def encode(self) -> bytes:
        """See `OneOp`."""
        opcode = self.OPCODE | (2 if self.nonsecure is not None else 0)
        address = self.address.value.data.to_bytes(4, "little")
        return bytes([opcode, self.channel.value.data]) + address

    def arguments(self) -> tuple[str, ...]:
        """See `OneOp`."""
        words = (f"C{self.channel.value.data}", f"{self.address.value.data:#010x}")
        return (*words, "ns") if self.nonsecure is not None else words

    @classmethod
    def parse(cls, parser: Parser) -> GoOp:
        """Parse `3 at 0x00100000 nonsecure`."""
        channel = parser.parse_integer(allow_boolean=False)
        parser.parse_keyword("at")
        address = parser.parse_integer(allow_boolean=False)
        nonsecure = parser.parse_optional_keyword("nonsecure") is not None
        op = cls(channel, address, nonsecure=nonsecure)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(f" {self.channel.value.data} at {self.address.value.data:#010x}")
        if self.nonsecure is not None:
            printer.print_string(" nonsecure")
        printer.print_op_attributes(self.attributes)
