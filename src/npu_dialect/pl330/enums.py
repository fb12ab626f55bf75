"""The words that properties of pl330 ops are made of, as enum attributes."""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum


class Register(StrEnum):
    """A register of a channel thread: source address, channel control, destination address."""

    SAR = "sar"
    CCR = "ccr"
    DAR = "dar"


class Request(StrEnum):
    """What a peripheral asks for: one transfer, a burst, or (`periph`) whichever it wants."""

    SINGLE = "single"
    BURST = "burst"
    PERIPH = "periph"


@irdl_attr_definition
class RegisterAttr(EnumAttribute[Register], SpacedOpaqueSyntaxAttribute):
    """`#pl330<register sar>`."""

    name = "pl330.register"


@irdl_attr_definition
class RequestAttr(EnumAttribute[Request], SpacedOpaqueSyntaxAttribute):
    """`#pl330<request burst>`."""

    name = "pl330.request"
