"""Decides which ops run on the tiles of the layers that read their output.

An analysis: nothing is changed. `fused_producers.py` says which ones can. A choice moves no more
bytes and takes no more time than the ops in loops of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod

from xdsl.ir import Operation

from npu_dialect.machine import Machine
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_passes.tiling.finer_tiles import compute_cycles, cuts_of, cycles_of, ways
from npu_passes.tiling.fused_producers import Producer, is_unchanged, producers_among
from npu_passes.tiling.layer_spaces import COLUMNS, IN, ROWS
from npu_passes.tiling.stage import Stage, Staging, off_chip_operands, stage_of
from npu_passes.tiling.staged import StagedOp
from npu_plans.tiles.operand_regions import Cut

Fitting = Callable[[Operation, int], Staging | None]
"""The tiles of an op for so many free bytes; None if none fit."""

Final = tuple[Operation, int]
"""The op on whose tiles others run, and the index of the operand that they compute."""


def with_chains(
    staged: Sequence[StagedOp], machine: Machine, fitting: Fitting
) -> tuple[StagedOp, ...]:
    """The same ops, without those that run on the tiles of others."""
    fusion = Fusion({each.op: each for each in staged}, machine, fitting)
    ops = [each.op for each in staged if each.staging is not None]
    for producer in reversed(producers_among(ops)):
        fusion.take(producer)
    return tuple(fusion.staged[each.op] for each in staged if each.op not in fusion.finals)


@dataclass
class Fusion:
    """Collects chains of producers, from their readers on.

    `staged`: what is decided for each op. `finals`: where those ops run that have no loops.
    """

    staged: dict[Operation, StagedOp]
    machine: Machine
    fitting: Fitting
    finals: dict[Operation, tuple[Final, ...]] = field(
        default_factory=dict[Operation, tuple[Final, ...]]
    )

    def take(self, producer: Producer) -> None:
        """Let a producer run on the tiles of its readers, if that is worth it."""
        op, finals = producer.op, tuple(self.finals_of(producer))
        reads = [(value, final) for value in op.operands[:-1] for final, _ in finals]
        if not finals or not all(is_unchanged(value, op, final) for value, final in reads):
            return
        if producer.is_depthwise:
            ((final, _),) = finals
            changed = self.with_depthwise(op, final)
            if changed is None:
                return
            self.staged[final] = changed
        elif not self.is_worth(op, finals):
            return
        for final, index in finals:
            found = self.staged[final]
            chains = {**found.chains, index: (op, *found.chains.get(index, ()))}
            self.staged[final] = replace(found, chains=chains)
        self.finals[op] = finals

    def finals_of(self, producer: Producer) -> Iterator[Final]:
        """The ops on whose tiles a producer would run; none if it computes a kernel for one."""
        if any(index and reader in self.finals for reader, index in producer.readers):
            return
        for reader, index in producer.readers:
            yield from self.finals.get(reader, ((reader, index),))

    def is_worth(self, op: Operation, finals: Sequence[Final]) -> bool:
        """Whether an elementwise op takes less time on the tiles of some ops than in its own loops.

        On a machine that does not say how long things take, no element may be loaded twice.
        """
        again = sum((repeated(self.staging(final), index) for final, index in finals), Fraction())
        if not self.machine.dma_bytes_per_cycle:
            return again <= 1
        return again * self.compute(op) <= self.cycles(op)

    def with_depthwise(self, op: Operation, final: Operation) -> StagedOp | None:
        """A 1x1 convolution whose tiles a depthwise one computes; None if that is not worth it."""
        old, stage = self.staged[final], self.stage(final)
        kernels = tuple(stage.bytes(shape_of(value), value) for value in op.operands[1:-1])
        new = self.whole_maps(stage, old.free - sum(kernels))
        if new is None:
            return None
        changed = replace(old, staging=new, besides=(*kernels, tile_bytes(stage, new)))
        return changed if self.is_better(changed, op) else None

    def whole_maps(self, stage: Stage, free: int) -> Staging | None:
        """Tiles of a 1x1 convolution with whole rows and columns; one more tile must fit."""
        new, tile = None, 0
        for _ in range(2):  # the second time, with room for the tile that the first one needs
            new = self.fitting(stage.op, free - tile)
            if new is None or not has_whole_maps(new):
                break
            tile = tile_bytes(stage, new)
            if new.footprint + tile <= free:
                return new
        return channels_at_once(stage, self.machine, free)

    def is_better(self, changed: StagedOp, op: Operation) -> bool:
        """Whether a convolution moves fewer bytes in less time if another one runs on its tiles."""
        final, new = changed.op, changed.staging
        assert new is not None
        apart = self.staging(op).bytes + self.staging(final).bytes
        if new.bytes + sum(bytes_of(map_type(value)) for value in op.operands[1:-1]) > apart:
            return False
        if not self.machine.dma_bytes_per_cycle:
            return repeated(new, 0) <= 1
        more = repeated(new, 0) * self.compute(op)
        together = cycles_of(
            self.stage(final), new, self.machine, changed.free - sum(changed.besides), more=more
        )
        return together <= self.cycles(op) + self.cycles(final)

    def staging(self, op: Operation) -> Staging:
        """The tiles of an op."""
        found = self.staged[op].staging
        assert found is not None
        return found

    def stage(self, op: Operation) -> Stage:
        """The first way to stage an op."""
        return stage_of(op, off_chip_operands(op), self.machine.alignment)

    def compute(self, op: Operation) -> Fraction:
        """How long an op computes, once."""
        return compute_cycles(op, self.staging(op).cut, self.machine)

    def cycles(self, op: Operation) -> Fraction:
        """How long an op takes in loops of its own."""
        return cycles_of(self.stage(op), self.staging(op), self.machine, self.staged[op].free)


def repeated(staging: Staging, index: int) -> Fraction:
    """How often each element of an operand is loaded, on average."""
    cut = staging.cut
    extents = (axis.extent for axis in cut.space.operands[index])
    return Fraction(cut.loads(index).elements, prod(extents))


def channels_at_once(stage: Stage, machine: Machine, free: int) -> Staging | None:
    """The fastest tiles of some input channels, if one more tile fits, too; None if none do.

    None, too, if the machine does not say how long things take.
    """
    if not machine.dma_bytes_per_cycle:
        return None
    whole = Cut.of(stage.space, stage.space.whole)
    cuts = (cut for cut in cuts_of(stage.space, None) if cut.order == (IN,))
    most = stage.staging(whole, double=False).bytes
    found = [
        each
        for each in ways(stage, cuts, free, most)
        if each.footprint + tile_bytes(stage, each) <= free
    ]
    return min(found, key=lambda each: cycles_of(stage, each, machine, free), default=None)


def tile_bytes(stage: Stage, staging: Staging) -> int:
    """The bytes of a tile of the input."""
    return stage.bytes(staging.cut.shape(0), stage.op.operands[0])


def has_whole_maps(staging: Staging) -> bool:
    """Whether tiles have whole rows and columns."""
    return not {ROWS, COLUMNS} & set(staging.cut.order)
