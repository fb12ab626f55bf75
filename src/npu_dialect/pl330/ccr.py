"""The channel control register (CCR) of the PL-330, which sets the bursts of loads and stores.

    src 8x16 inc dst 4x8 prot 2 cache 3 swap 32

reads bursts of 16 beats of 8 bytes from increasing addresses, and writes bursts of 8 beats of 4
bytes to one fixed address. The layout of the word is that of Arm's DMA-330 manual (DDI 0424). The
fields for increments, beats and bursts were checked by execution on QEMU's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

BEATS = tuple(1 << n for n in range(8))
"""The sizes of a beat that the register can encode, in bytes."""
BURST = 16
"""The most beats of a burst that the register can encode."""
SWAPS = (8, 16, 32, 64, 128)
"""Sizes in bits of the units whose bytes are swapped; with 8, no bytes are swapped."""


@dataclass(frozen=True)
class Side:
    """The bursts of the source or the destination: `beats` beats of `beat` bytes.

    `inc`: whether the address increases from beat to beat. `prot`, `cache`: the 3-bit protection
    and cache fields.

    Raises: VerifyException if the register cannot encode a number.
    """

    beat: int
    beats: int
    inc: bool = True
    prot: int = 0
    cache: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.beat not in BEATS:
            raise VerifyException(f"expected beats of 1, 2, 4, ... 128 bytes, got {self.beat}")
        if not 1 <= self.beats <= BURST:
            raise VerifyException(f"expected a burst of 1 to {BURST} beats, got {self.beats}")
        if not 0 <= self.prot < 8:
            raise VerifyException(f"expected prot to be 0 to 7, got {self.prot}")
        if not 0 <= self.cache < 8:
            raise VerifyException(f"expected cache to be 0 to 7, got {self.cache}")

    def low_bits(self) -> int:
        """The bits for increment, beat and burst, at the positions of the source."""
        return int(self.inc) | BEATS.index(self.beat) << 1 | (self.beats - 1) << 4

    def high_bits(self) -> int:
        """The bits for protection and caching, at the positions of the source."""
        return self.prot << 8 | self.cache << 11

    @staticmethod
    def of_bits(bits: int) -> Side:
        """The side that 14 bits encode; the inverse of `low_bits` and `high_bits`."""
        return Side(
            BEATS[bits >> 1 & 7], (bits >> 4 & 15) + 1, bool(bits & 1), bits >> 8 & 7, bits >> 11
        )

    def __str__(self) -> str:
        """The text in the IR."""
        words = [f"{self.beat}x{self.beats}"]
        words += ["inc"] if self.inc else []
        words += [f"prot {self.prot}"] if self.prot else []
        words += [f"cache {self.cache}"] if self.cache else []
        return " ".join(words)

    def assembly(self, letter: str) -> str:
        """The text in the manual's assembly: `SAI SS64 SB16`, and SP and SC if they are not 0.

        `letter` is S for the source, D for the destination.
        """
        words = [f"{letter}A{'I' if self.inc else 'F'}", f"{letter}S{8 * self.beat}"]
        words += [f"{letter}B{self.beats}"]
        words += [f"{letter}P{self.prot}"] if self.prot else []
        words += [f"{letter}C{self.cache}"] if self.cache else []
        return " ".join(words)


@dataclass(frozen=True)
class Ccr:
    """A value of the register: both sides, and the size in bits of the units with swapped bytes.

    Raises: VerifyException if the register cannot encode a number.
    """

    src: Side
    dst: Side
    swap: int = 8

    def __post_init__(self) -> None:
        """Check that `swap` is one of `SWAPS`."""
        if self.swap not in SWAPS:
            raise VerifyException(f"expected swap to be 16, 32, 64 or 128 bits, got {self.swap}")

    def word(self) -> int:
        """The value as a 32-bit word."""
        src, dst = (side.low_bits() | side.high_bits() for side in (self.src, self.dst))
        return src | dst << 14 | SWAPS.index(self.swap) << 28

    @staticmethod
    def of_word(word: int) -> Ccr:
        """The value that a 32-bit word encodes.

        Raises: VerifyException if reserved bits are set.
        """
        if not 0 <= word < len(SWAPS) << 28:
            raise VerifyException(f"expected a CCR without reserved bits, got {word:#010x}")
        sides = (Side.of_bits(word >> shift & 0x3FFF) for shift in (0, 14))
        return Ccr(*sides, swap=SWAPS[word >> 28])

    def __str__(self) -> str:
        """The text in the IR."""
        swap = f" swap {self.swap}" if self.swap != 8 else ""
        return f"src {self.src} dst {self.dst}{swap}"

    def assembly(self) -> str:
        """The text in the manual's assembly."""
        swap = f" ES{self.swap}" if self.swap != 8 else ""
        return f"{self.src.assembly('S')} {self.dst.assembly('D')}{swap}"


def parse_side(parser: AttrParser) -> Side:
    """Parse `8x16 inc prot 2 cache 3`."""
    beat = parser.parse_shape_dimension(allow_dynamic=False)
    parser.parse_shape_delimiter()
    beats = parser.parse_shape_dimension(allow_dynamic=False)
    inc = parser.parse_optional_keyword("inc") is not None
    prot = parser.parse_integer(allow_boolean=False) if parser.parse_optional_keyword("prot") else 0
    cache = (
        parser.parse_integer(allow_boolean=False) if parser.parse_optional_keyword("cache") else 0
    )
    return Side(beat, beats, inc, prot, cache)


def parse_ccr(parser: AttrParser) -> Ccr:
    """Parse `src ... dst ... swap 32`."""
    parser.parse_keyword("src")
    src = parse_side(parser)
    parser.parse_keyword("dst")
    dst = parse_side(parser)
    swap = parser.parse_integer(allow_boolean=False) if parser.parse_optional_keyword("swap") else 8
    return Ccr(src, dst, swap)


@irdl_attr_definition
class CcrAttr(ParametrizedAttribute):
    """A value of the channel control register.

    ```mlir
    #pl330.ccr<src 8x16 inc dst 8x16 inc>
    ```
    """

    name = "pl330.ccr"

    word: IntAttr

    @staticmethod
    def of(ccr: Ccr) -> CcrAttr:
        """The attribute for a value."""
        return CcrAttr(IntAttr(ccr.word()))

    def ccr(self) -> Ccr:
        """The value that the attribute holds."""
        return Ccr.of_word(self.word.data)

    def verify(self) -> None:
        """The word has no reserved bits set."""
        self.ccr()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<src ... dst ...>`."""
        with parser.in_angle_brackets():
            return (IntAttr(parse_ccr(parser).word()),)

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            printer.print_string(str(self.ccr()))
