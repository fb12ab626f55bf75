"""Moves chains of layers whose results wait for others to later places of an order, as plain data.

A concatenation that is larger than the chip never lies there as a whole. Each part of it is stored
once it is made. So what fills the chip are the maps on the way to it. Those that wait for others
take room meanwhile, or leave and return:

    b1; b2; b3; a1; a2; p; q; y reads b3 and q        a1; a2; p; b1; b2; b3; q; y
    b3 lies there for four steps, unread              for one

`later_chains` moves only layers on the way to such a concatenation, and only past layers on the
way to the same one. A chain is a run of steps each of which reads the map before it and nothing
else, and is its only reader. A chain whose result a layer reads moves behind others if that makes
the sum of live bytes over all steps less, and the peak of the order not higher. What counts are
maps, not buffers:

- A part of a concatenation that is too large lives as long as layers read it. The concatenation
  reads nothing.
- A map that a step overwrites counts once in that step.
- A map that is larger than the chip counts nothing, as it never lies there.

The sum becomes less with each move, so the moves end. All of it is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from npu_plans.modules.layer_graph import LayerGraph, LayerStep, members, sets


def later_chains(graph: LayerGraph, order: Sequence[int], capacity: int) -> tuple[int, ...]:
    """An order in which maps wait for fewer steps, with no higher peak; the given one if none is.

    `capacity` are the bytes on chip.
    """
    waits, peak, found = Waits(graph, capacity), graph.peak(order), tuple(order)
    for start, end in waits.runs(found):
        better: tuple[int, ...] | None = found
        while better is not None:
            found = better
            better = waits.improved(found, start, end, peak)
    return found


@dataclass(frozen=True)
class Waits:
    """The maps of a graph of layers, on a chip of `capacity` bytes.

    The map of a step has its number. The map in a buffer that no step writes has the number of the
    buffer, counted behind all steps.
    """

    graph: LayerGraph
    capacity: int

    @cached_property
    def joins(self) -> frozenset[int]:
        """The steps that complete a concatenation: the last ones that write a shared buffer."""
        shared = [each for each in self.graph.writers if each.bit_count() > 1]
        return frozenset(each.bit_length() - 1 for each in shared)

    @cached_property
    def large(self) -> frozenset[int]:
        """The concatenations that are larger than the chip."""
        sizes, steps = self.graph.sizes, self.graph.steps
        return frozenset(each for each in self.joins if sizes[steps[each].writes] > self.capacity)

    @cached_property
    def goals(self) -> tuple[int | None, ...]:
        """For each step the only concatenation on whose way it is.

        None if there is none or several, or if it is no larger than the chip.
        """
        found = [frozenset[int]() for _ in self.graph.steps]
        for number in reversed(range(len(found))):
            for each in self.graph.successors[number]:
                found[number] |= {each} if each in self.joins else found[each]
        return tuple(
            min(each) if len(each & self.large) == len(each) == 1 else None for each in found
        )

    @cached_property
    def reads(self) -> tuple[tuple[int, ...], ...]:
        """For each step the maps that it reads; a concatenation that is too large reads none."""
        writers, behind = self.graph.writers, len(self.graph.steps)
        maps = [
            (*members(step.before), *(behind + each for each in step.reads if not writers[each]))
            for step in self.graph.steps
        ]
        return tuple(() if number in self.large else each for number, each in enumerate(maps))

    @cached_property
    def readers(self) -> tuple[int, ...]:
        """For each map the steps that read it; one that is returned has one that never runs."""
        graph = self.graph
        found = sets(len(graph.steps) + len(graph.sizes), self.reads)
        never = 1 << len(graph.steps)
        kept = {graph.writers[each].bit_length() - 1 for each in graph.kept}
        return tuple(each | never * (number in kept) for number, each in enumerate(found))

    @cached_property
    def overwritable(self) -> tuple[tuple[int, ...], ...]:
        """For each step the maps that it overwrites if they die there."""
        steps = self.graph.steps

        def lies_in(number: int, step: LayerStep) -> bool:
            other = steps[number]
            same = (other.writes, other.span) == (step.writes, step.span)
            return same or other.writes in step.overwrites

        return tuple(
            tuple(each for each in reads if each < len(steps) and lies_in(each, step))
            for step, reads in zip(steps, self.reads, strict=True)
        )

    def size(self, number: int) -> int:
        """The bytes of a map on chip; 0 if it is larger than the chip."""
        steps, sizes = self.graph.steps, self.graph.sizes
        behind = number - len(steps)
        size = sizes[behind] if behind >= 0 else steps[number].span[1] - steps[number].span[0]
        return size if size <= self.capacity else 0

    def runs(self, order: Sequence[int]) -> list[tuple[int, int]]:
        """The places where steps on the way to one large concatenation run one behind the other.

        Each is the first place and the end (excluded).
        """
        goals = [self.goals[number] for number in order]
        starts = [at for at, goal in enumerate(goals) if not at or goal != goals[at - 1]]
        spans = zip(starts, [*starts[1:], len(goals)], strict=True)
        return [span for span in spans if goals[span[0]] is not None]

    def chains(self, run: Sequence[int]) -> list[tuple[int, ...]]:
        """The steps of a run as chains, in their order."""
        found: list[tuple[int, ...]] = []
        for number in run:
            last = found[-1][-1] if found else None
            if last is not None and self.follows(number, last):
                found[-1] = (*found[-1], number)
            else:
                found.append((number,))
        return found

    def follows(self, number: int, last: int) -> bool:
        """Whether a step reads the map of another and nothing else, and is its only reader."""
        return self.reads[number] == (last,) and self.graph.successors[last] == (number,)

    def moves(self, run: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
        """For each chain that waits, the run with it behind each chain that may precede it.

        A chain waits if a layer reads its map; concatenations that are too large do not.
        """
        chains = self.chains(run)
        for at, chain in enumerate(chains):
            others = chains[at + 1 :] if self.readers[chain[-1]] else []
            inside, found = sum(1 << each for each in chain), list[tuple[int, ...]]()
            for to, other in enumerate(others, at + 1):
                if self.graph.steps[other[0]].before & inside:
                    break
                moved = (*chains[:at], *chains[at + 1 : to + 1], chain, *chains[to + 1 :])
                found.append(tuple(number for each in moved for number in each))
            yield found

    def improved(
        self, order: tuple[int, ...], start: int, end: int, peak: int
    ) -> tuple[int, ...] | None:
        """The order with one move in a run from a place to an end; None if no move gains.

        The first chain that gains moves to where the sum of live bytes is least; of several such
        places, to the first.
        """
        run, done = order[start:end], sum(1 << each for each in order[:start])
        least = self.live(run, done)
        for moves in self.moves(run):
            found = sorted((self.live(each, done), at) for at, each in enumerate(moves))
            for live, at in found:
                new = (*order[:start], *moves[at], *order[end:])
                if live < least and self.graph.peak(new) <= peak:
                    return new
        return None

    def live(self, run: Sequence[int], done: int) -> int:
        """The bytes of the maps that live in each step of a run, summed over its steps.

        Only the maps that its steps use count. The steps in `done` have run before.
        """
        inside = done | sum(1 << each for each in run)
        place = {number: at for at, number in enumerate(run)}
        last = dict(place)
        for at, number in enumerate(run):
            last.update(dict.fromkeys(self.reads[number], at))
        stay = {each for each in last if self.readers[each] & ~inside}
        last.update(dict.fromkeys(stay, len(run) - 1))
        total = sum(self.size(each) * (end - place.get(each, 0) + 1) for each, end in last.items())
        for at, number in enumerate(run):
            over = self.overwritable[number]
            dying = [each for each in over if last[each] == at and each not in stay]
            total -= self.size(dying[0]) if dying else 0
        return total
