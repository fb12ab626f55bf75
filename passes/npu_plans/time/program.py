"""What a core and its DMA engine do, as plain data: work, starts, waits, loops.

    Start(0, bytes=4096, runs=1, owner="conv1")
    Wait(0)
    Loop(8, (Start(1, 512, 4, "conv1"), Work(900, "conv1"), Wait(1)))

A body is a tuple of steps. Bodies that are the same should be one object: the simulation runs them
faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Work:
    """The core computes for some cycles.

    `owner`: the layer that it is counted for. `is_layer`: false for work that is no layer, such as
    a copy of a row on chip. `macs`: multiply-accumulates. `bytes`: read and written on chip.
    `stall`: those of the cycles for which slower memories keep the core waiting.
    """

    cycles: int
    owner: str = ""
    is_layer: bool = True
    macs: int = 0
    bytes: int = 0
    stall: int = 0


@dataclass(frozen=True)
class Start:
    """The start of a transfer of some bytes in some contiguous runs.

    `token` names the transfer until its wait; then the number may name another one.
    """

    token: int
    bytes: int
    runs: int = 1
    owner: str = ""


@dataclass(frozen=True)
class Wait:
    """The core waits until a transfer is done."""

    token: int


@dataclass(frozen=True)
class Rename:
    """Transfers in flight get other tokens, all at once: those that a loop carries along.

    `pairs`: old and new tokens.
    """

    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Loop:
    """A body that runs `count` times. Iteration i runs `cases[i]` in its place, if there is one."""

    count: int
    body: Body
    cases: Mapping[int, Body] = field(default_factory=dict[int, "Body"])

    def stretches(self) -> Iterator[tuple[int, Body]]:
        """The bodies in the order in which they run, and how often each runs in a row."""
        done = 0
        for index in sorted(index for index in self.cases if 0 <= index < self.count):
            if index > done:
                yield index - done, self.body
            yield 1, self.cases[index]
            done = index + 1
        if done < self.count:
            yield self.count - done, self.body


Step: TypeAlias = Work | Start | Wait | Rename | Loop
Body: TypeAlias = tuple[Step, ...]
