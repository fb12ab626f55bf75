"""What advice consists of: plain data without IR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["options", "int8", "sram"]
"""What a way needs: other options of npu-compile, a network of bytes, or a machine with more
SRAM."""


@dataclass(frozen=True)
class Entry:
    """A way to compile a network with which it fits.

    `option`: what to write or do, such as `--pipeline rows`. `arena_bytes`: the SRAM in use.
    `sram_bytes`: that of the machine, which is another one if `kind` is `sram`. `cycles`: the
    estimated time of a run, None if the machine's file does not say how long things take.
    """

    kind: Kind
    option: str
    arena_bytes: int
    sram_bytes: int
    cycles: int | None = None

    def __str__(self) -> str:
        """One line for people."""
        time = "" if self.cycles is None else f", {self.cycles} cycles"
        return f"with {self.option}: {self.arena_bytes} of {self.sram_bytes} bytes of SRAM{time}"

    def as_dict(self) -> dict[str, Any]:
        """The entry for JSON."""
        return {
            "kind": self.kind,
            "option": self.option,
            "arena_bytes": self.arena_bytes,
            "sram_bytes": self.sram_bytes,
            "cycles": self.cycles,
        }


@dataclass(frozen=True)
class Advice:
    """The ways that fit, the cheapest first: other options, then other numbers, then another chip.

    `flash_bytes`: how much flash the weights need at least, if that is more than the machine has;
    then more SRAM is no help. `untried`: the ways for which the time was too short.
    """

    entries: tuple[Entry, ...] = ()
    flash_bytes: int | None = None
    untried: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """The advice for people; nothing if there is none."""
        if self.entries:
            yield "it fits, as the compiler has tried:"
            yield from (f"  {entry}" for entry in self.entries)
        if self.flash_bytes is not None:
            yield f"its weights do not fit either: they take {self.flash_bytes} bytes of flash"
        if self.untried:
            yield f"not tried, as the time for advice was over: {', '.join(self.untried)}"
