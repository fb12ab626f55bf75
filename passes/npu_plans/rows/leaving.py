"""Estimates what leaves the chip with some regions, as later passes will decide: no IR in here.

`npu_plans/rows/border.py` chooses regions by what exceeds the memory while each part runs. So a map
that is off the chip for many parts counts for each of them. Here the integer program of
`npu-spill-maps` (`npu_plans/spills`) chooses the maps that leave. Each costs what layers then move,
less what passes behind it save if there is room:

* A part of a concatenation is stored once. It stays on chip for the layers that read it before
  (`npu-keep-maps`, `npu-keep-parts`).
* A layer that changes each element in place moves nothing: it runs on the tiles of the layers that
  read its map (`npu-tile-loops`).

    part      reads     writes
    conv      image     slice 0 of all      100 bytes are stored
    conv      slice 0   slice 1 of all      100 bytes are stored
    relu      all       all
    conv      all       y                   200 bytes are loaded

A region also moves the rows of its rings, which takes time of the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from npu_plans.arena.problem import Buffer
from npu_plans.modules.layer_graph import members
from npu_plans.rows.border import homes_of, is_inner, local_sizes
from npu_plans.rows.growing import FunctionRows
from npu_plans.rows.regions import Choice, moved_in_rings
from npu_plans.spills.cheapest import cheapest
from npu_plans.spills.problem import MOST, SHARE, OpMemory, SpillProblem, TileNeed
from npu_plans.time.rates import Rates


def leaving_cycles(function: FunctionRows, choice: Choice, sram: int, rates: Rates) -> float | None:
    """About how many cycles the bus takes for maps, and the core for rings, with some regions.

    `sram`: the bytes on chip. None if the rest does not fit there, whichever maps leave.
    """
    moved = Leaving(function, choice).bytes(sram)
    if moved is None:
        return None
    rings = sum(moved_in_rings(function, part) for part in choice.regions)
    return float(moved / rates.dma_bytes_per_cycle + 2 * rings / rates.sram_bytes_per_cycle)


@dataclass(frozen=True)
class Leaving:
    """The maps of a function with some regions, and what they cost off the chip."""

    function: FunctionRows
    choice: Choice

    def bytes(self, sram: int) -> int | None:
        """The fewest bytes that move if the rest fits into `sram` bytes; None if it does not."""
        problem = self.problem(sram)
        chosen: frozenset[int] | None = frozenset()
        if problem.worst(frozenset())[0] > sram:
            chosen = cheapest(problem, sram, frozenset()) if problem.movable else None
        if chosen is None:
            return None
        results = sum(
            self.function.graph.sizes[buffer] * (1 + len(self.readers(buffer)))
            for buffer in self.results
        )
        return problem.cost(chosen) + results + sum(part.moved for part in self.choice.parts)

    def problem(self, sram: int) -> SpillProblem:
        """Which maps may leave, and what each part needs on chip."""
        sizes, lives = self.function.graph.sizes, self.lives
        numbers = {home: number for number, home in enumerate(lives)}
        steps: list[OpMemory] = []
        for at, part in enumerate(self.choice.parts):
            live = ((numbers[home], sizes[home]) for home in lives if at in lives[home])
            needs = [TileNeed((), (sum(local_sizes(self.function, part)),))]
            for home in sorted(self.used[at] - self.stay):
                tile = min(sizes[home] // SHARE, sram // MOST)
                needs.append(TileNeed((numbers[home],), (0, tile)))
            steps.append(OpMemory(at, tuple(live), tuple(needs)))
        return SpillProblem(
            tuple(Buffer(f"map {home}", sizes[home]) for home in lives),
            tuple(None if home in self.stay else self.cost(home) for home in lives),
            tuple(steps),
        )

    # -- which maps there are --------------------------------------------------------------------

    @cached_property
    def place(self) -> list[int]:
        """The part of each step."""
        parts = enumerate(self.choice.parts)
        return [at for at, part in parts for _ in range(part.first, part.last + 1)]

    @cached_property
    def homes(self) -> list[int]:
        """The buffer in which each buffer lies in the end."""
        return [home for home, _ in homes_of(self.function.graph, self.choice)]

    @cached_property
    def results(self) -> list[int]:
        """The buffers that regions put off the chip, row by row."""
        steps = self.function.graph.steps
        return [steps[part.last].writes for part in self.choice.regions if part.leaves]

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """For each buffer that there is in the end, those that lie in it."""
        graph, found = self.function.graph, dict[int, list[int]]()
        for buffer, home in enumerate(self.homes):
            users = list(members(graph.users[buffer]))
            inner = is_inner(users, self.choice, self.place)
            if graph.sizes[buffer] and users and not inner and buffer not in self.results:
                found.setdefault(home, []).append(buffer)
        return found

    @cached_property
    def lives(self) -> dict[int, range]:
        """The parts during which each of them lives."""
        graph, found = self.function.graph, dict[int, range]()
        for home, buffers in self.members.items():
            written = [self.parts(graph.writers[each]) or [0] for each in buffers]
            used = [self.parts(graph.users[each]) for each in buffers]
            found[home] = range(min(map(min, written)), max(map(max, used)) + 1)
        return found

    @cached_property
    def stay(self) -> frozenset[int]:
        """Those that cannot leave: what is there from the start, and what lives on."""
        graph = self.function.graph
        return frozenset(
            home
            for home, buffers in self.members.items()
            if any(not graph.writers[each] or each in graph.kept for each in buffers)
        )

    @cached_property
    def used(self) -> list[set[int]]:
        """Those that each part uses; behind the last part, what lives on."""
        found: list[set[int]] = [set() for _ in range(len(self.choice.parts) + 1)]
        for home, buffers in self.members.items():
            for buffer in buffers:
                for at in self.parts(self.function.graph.users[buffer]):
                    found[at].add(home)
        return found

    def parts(self, steps: int) -> list[int]:
        """The parts of a set of steps, ascending; a step behind the last one is in one behind."""
        numbers = members(steps)
        end = len(self.choice.parts)
        return sorted({self.place[each] if each < len(self.place) else end for each in numbers})

    # -- what they cost --------------------------------------------------------------------------

    def cost(self, home: int) -> int:
        """The bytes that move if a buffer lies off the chip."""
        graph, found = self.function.graph, 0
        spans = {graph.steps[each].span for each in members(graph.writers[home])}
        if not graph.single[home]:
            found = sum(end - start for start, end in spans)
        for buffer in self.members[home]:
            whole = graph.sizes[buffer] == graph.sizes[home]
            writers = members(graph.writers[buffer])
            if graph.single[home] and not all(map(self.changes, writers)):
                found += graph.sizes[buffer]
            if whole:
                found += graph.sizes[buffer] * len(self.readers(buffer))
        return found

    def readers(self, buffer: int) -> list[int]:
        """The parts that load all of a buffer."""
        graph = self.function.graph
        steps = members(graph.users[buffer] & ~graph.writers[buffer])
        return sorted(
            {
                self.place[each]
                for each in steps
                if each < len(self.place)
                and not self.changes(each)
                and not self.reads_slices(each, buffer)
            }
        )

    def changes(self, number: int) -> bool:
        """Whether a step changes each element of a map in place, and reads nothing else."""
        step, graph = self.function.steps[number], self.function.graph
        reads = [read for layer in step.layers for read in layer.reads]
        if len(step.layers) != 1 or len(reads) != 1 or not reads[0].overwrites:
            return False
        source = self.function.homes[reads[0].map]
        return source >= 0 and self.homes[source] == self.homes[graph.steps[number].writes]

    def reads_slices(self, number: int, buffer: int) -> bool:
        """Whether a step reads parts of a concatenation only, which stay on chip for it."""
        function = self.function
        reads = [read.map for layer in function.steps[number].layers for read in layer.reads]
        maps = [each for each in reads if function.homes[each] == buffer]
        return bool(maps) and all(each in self.slices for each in maps)

    @cached_property
    def slices(self) -> frozenset[int]:
        """The maps that are parts of a concatenation."""
        function, graph = self.function, self.function.graph
        return frozenset(
            step.layers[-1].map
            for step, done in zip(function.steps, graph.steps, strict=True)
            if step.layers and done.span[1] - done.span[0] < graph.sizes[done.writes]
        )
