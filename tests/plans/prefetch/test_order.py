"""Blocks are put into orders that compute the same, and in which transfers run beside computing.

Random blocks are executed before and after, on a memory of cells: from the start of a transfer to
its wait its target has no contents, and its source must not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.prefetch.order import Order, ordered
from npu_plans.prefetch.plan import MOST_RUNNING
from npu_plans.prefetch.problem import Block, Lived, Span, Step, Touch, Transfer, boxes_meet
from npu_plans.prefetch.timeline import Timeline

ROWS = 4
"""Rows of a map off the chip; a transfer moves one of them, which is one cell."""


@dataclass
class Random:
    """A block of random steps, as it grows; `code` says for the executor what a step does."""

    steps: list[Step] = field(default_factory=list[Step])
    transfers: list[Transfer] = field(default_factory=list[Transfer])
    uses: list[list[int]] = field(default_factory=list[list[int]])
    code: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    def add(self, step: Step, what: str, one: int = 0, other: int = 0, *buffers: int) -> int:
        """Add a step that uses some buffers."""
        self.steps.append(step)
        self.code.append((what, one, other))
        for each in buffers:
            self.uses[each].append(len(self.steps) - 1)
        return len(self.steps) - 1

    def transfer(self, buffer: int, row: int, *, load: bool) -> None:
        """Add a start and its wait."""
        chip, map_ = Touch(("chip", buffer), None, load), Touch("map", ((row, row + 1),), not load)
        step = Step((chip, map_))
        start = self.add(step, "load" if load else "store", buffer, row, buffer)
        wait = self.add(replace(step, needs=(start,)), "wait", start, 0, buffer)
        self.transfers.append(Transfer(start, wait, load, cycles=3, data=2))

    def compute(self, source: int, target: int) -> None:
        """Add a step that computes one buffer from another, or from itself."""
        touches = (Touch(("chip", source), None, False), Touch(("chip", target), None, True))
        self.add(Step(touches, work=1), "compute", source, target, source, target)

    def fill(self, source: int, part: int) -> int:
        """Add a step that computes a part of buffer 0 from another one."""
        box = ((part, part + 1),)
        touches = (Touch(("chip", source), None, False), Touch(("chip", 0), box, True))
        return self.add(Step(touches, work=1), "fill", source, part, source, 0)

    def read(self, parts: range) -> int:
        """Add a step that reads some parts of buffer 0."""
        box = ((parts.start, parts.stop),)
        step = Step((Touch(("chip", 0), box, False),), work=1)
        return self.add(step, "read", parts.start, parts.stop, 0)


@st.composite
def blocks(draw: st.DrawFn) -> tuple[Block, list[tuple[str, int, int]]]:
    """A block whose layers read what is loaded just before, and whose maps are partly stored.

    Buffer 0 is filled and read part by part; other buffers may lie where no part is yet, or where
    one is no longer.
    """
    random = Random(uses=[[]])
    parts: list[list[int]] = []
    for _ in range(draw(st.integers(1, 8))):
        first = len(random.uses)
        random.uses += [[], []]
        random.transfer(first, draw(st.integers(0, ROWS - 1)), load=True)
        if draw(st.booleans()) and first > 1:
            random.compute(first, first - 1)
        random.compute(first, first + 1)
        if draw(st.booleans()):
            random.transfer(first + 1, draw(st.integers(0, ROWS - 1)), load=False)
        if draw(st.booleans()):
            parts.append([random.fill(first + 1, len(parts))])
        if parts and draw(st.booleans()):
            part = draw(st.integers(0, len(parts) - 1))
            parts[part].append(random.read(range(part, part + 1)))
        if draw(st.integers(0, 5)) == 0:
            random.add(Step(fixed=draw(st.booleans())), "nothing")
    if not parts or draw(st.booleans()):
        last = random.read(range(len(parts)))
        parts = [[*steps, last] for steps in parts]
    spans = tuple(((part, part + 1), tuple(steps)) for part, steps in enumerate(parts))
    placed = [Lived(0, max(1, len(parts)), tuple(random.uses[0]), parts=spans)]
    lives = [(min(uses), max(uses)) for uses in random.uses]
    for number, (first, last) in enumerate(lives[1:], 1):
        beside = [
            placed[other].offset
            for other in range(1, number)
            if lives[other][0] <= last and first <= lives[other][1]
        ]
        beside += [at for (at, _), steps in spans if steps[0] <= last and first <= steps[-1]]
        offset = next(at for at in range(len(lives) + len(parts)) if at not in beside)
        placed.append(Lived(offset, 1, tuple(random.uses[number])))
    return Block(tuple(random.steps), tuple(random.transfers), tuple(placed)), random.code


def executed(
    code: Sequence[tuple[str, int, int]], steps: Sequence[int], offsets: Sequence[int]
) -> list[object]:
    """The map off the chip after all steps, and what is read of buffer 0.

    Fails if a step uses what has no contents.
    """
    chip: dict[int, object] = dict.fromkeys(range(2 * len(offsets) + 12), 0)
    far: list[object] = list(range(ROWS))
    for number in steps:
        what, one, other = code[number]
        if what == "load":
            assert far[other] is not None
            chip[offsets[one]] = None
        elif what == "store":
            assert chip[offsets[one]] is not None
            far[other] = None
        elif what == "wait":
            kind, buffer, row = code[one]
            if kind == "load":
                assert chip[offsets[buffer]] is None
                chip[offsets[buffer]] = far[row]
            else:
                assert far[row] is None
                far[row] = chip[offsets[buffer]]
        elif what == "compute":
            assert chip[offsets[one]] is not None
            chip[offsets[other]] = (number, chip[offsets[one]], chip[offsets[other]] is None)
        elif what == "fill":
            chip[offsets[0] + other] = chip[offsets[one]]
        elif what == "read":
            far += [(number, chip[offsets[0] + part]) for part in range(one, other)]
    return far


@settings(deadline=None, max_examples=1000)
@given(blocks(), st.integers(0, 12), st.integers(0, 2))
def test_the_same_is_computed(
    made: tuple[Block, list[tuple[str, int, int]]], more: int, channels: int
) -> None:
    block, code = replace(made[0], channels=channels), made[1]
    least = max((each.offset + each.size for each in block.buffers), default=0)
    order = ordered(block, least + more)
    assert sorted(order.steps) == list(range(len(block.steps)))
    assert all(offset < least + more for offset in order.offsets)
    given_ = [each.offset for each in block.buffers]
    assert executed(code, order.steps, order.offsets) == executed(
        code, range(len(block.steps)), given_
    )
    if channels:
        without = ordered(replace(block, channels=0), least + more)
        assert Timeline(block, order.steps).total <= Timeline(block, without.steps).total
    else:
        assert hidden(block, order) >= hidden(block, Order(tuple(range(len(block.steps))), ()))


def hidden(block: Block, order: Order) -> int:
    """How many transfers have a step beside them that computes."""
    place = {number: at for at, number in enumerate(order.steps)}
    return sum(
        any(
            block.steps[order.steps[at]].work
            for at in range(place[each.start] + 1, place[each.wait])
        )
        for each in block.transfers
    )


def row(number: int, *, writes: bool) -> Touch:
    """A row of a map."""
    return Touch("map", ((number, number + 1), (0, 8)), writes)


LAYER = Step(work=1)


def test_a_load_starts_in_front_of_what_it_needs_alone() -> None:
    """Two loads keep their order; an address moves along."""
    one, two = Touch("a", None, True), Touch("b", None, True)
    block = Block(
        (
            *(LAYER, LAYER),
            *(Step((one,)), Step((one,))),
            Step((Touch("a", None, False),), work=1),
            *(Step(light=True), Step((two,), needs=(5,)), Step((two,))),
            Step((Touch("b", None, False),), work=1),
        ),
        (Transfer(2, 3, True, cycles=2), Transfer(6, 7, True, cycles=9)),
    )
    assert ordered(block, 0).steps == (2, 5, 6, 0, 1, 3, 4, 7, 8)


@pytest.mark.parametrize(("moving", "start"), [(0, 1), (3, 0)])
def test_a_loop_whose_transfers_need_the_bus_hides_less(moving: int, start: int) -> None:
    """A load of 5 cycles in front of a loop of 6, of which 3 have the bus to themselves, or all."""
    block = Block(
        (
            *(Step(work=6), Step(work=6, moving=moving)),
            *(Step((Touch("a", None, True),)), Step((Touch("a", None, True),))),
            Step((Touch("a", None, False),), work=1),
        ),
        (Transfer(2, 3, True, cycles=5),),
    )
    assert ordered(block, 0).steps.index(2) == start


@pytest.mark.parametrize(("room", "offset"), [(None, 8), ((16, 24), 16), ((16, 18), 2)])
def test_a_buffer_stays_in_its_memory(room: tuple[int, int] | None, offset: int) -> None:
    """A buffer of 4 bytes moves out of the way of another one, or stays if its memory is full."""
    target = Touch("a", None, True)
    block = Block(
        (
            replace(LAYER, inside=((0, 8),)),
            *(Step((target,)), Step((target,), needs=(1,))),
            Step((Touch("a", None, False),), work=1),
        ),
        (Transfer(1, 2, True),),
        (Lived(2, 4, (1, 3), room=room),),
    )
    order = ordered(block, 32)
    assert order.offsets == (offset,)
    assert (order.steps[0] == 0) == (offset == 2)


def test_loads_start_together() -> None:
    """Nothing computes in front of them, so the second one need not wait for the first one."""
    block = Block(
        (
            *(Step((Touch("a", None, True),)), Step((Touch("a", None, True),))),
            *(Step((Touch("b", None, True),)), Step((Touch("b", None, True),))),
            Step((Touch("a", None, False), Touch("b", None, False)), work=1),
        ),
        (Transfer(0, 1, True), Transfer(2, 3, True)),
    )
    assert ordered(block, 0).steps == (0, 2, 1, 3, 4)


def test_as_many_run_as_an_engine_has_records_for() -> None:
    """Far more loads than that are wanted beside the first step that computes."""
    count = 3 * MOST_RUNNING
    steps, transfers = [Step(work=1)], list[Transfer]()
    for number in range(count):
        touch = Touch(("chip", number), None, writes=True)
        steps += [Step((touch,)), Step((touch,), needs=(2 * number + 1,))]
        transfers.append(Transfer(2 * number + 1, 2 * number + 2, load=True, cycles=1))
    lives = [Lived(number, 1, (2 * number + 1, 2 * count + 1)) for number in range(count)]
    steps.append(Step(work=1))
    order = ordered(Block(tuple(steps), tuple(transfers), tuple(lives)), count)
    running = most = 0
    for step in order.steps:
        running += (0 < step <= 2 * count) * (1 if step % 2 else -1)
        most = max(most, running)
    assert most == MOST_RUNNING


def test_room_in_inner_blocks_is_taken() -> None:
    block = Block(
        (
            Step(work=1, inside=((0, 8), (16, 24))),
            Step((Touch("a", None, True),)),
            Step((Touch("a", None, True),)),
            Step((Touch("a", None, False),), work=1),
        ),
        (Transfer(1, 2, True),),
        (Lived(4, 8, (1, 2, 3), alignment=4),),
    )
    assert ordered(block, 32) == Order((1, 0, 2, 3), (8,))
    assert ordered(replace(block, buffers=(Lived(4, 12, (1, 2, 3)),)), 32).steps == (0, 1, 2, 3)


Parts: TypeAlias = tuple[tuple[Span, tuple[int, ...]], ...]


@pytest.mark.parametrize("others", [(((0, 8), (0, 4)),), (((0, 8), (0, 4)), ((12, 16), (0, 4)))])
def test_a_part_that_is_not_filled_yet_is_free(others: Parts) -> None:
    """A buffer of 16 bytes has bytes 8 to 11 in use from step 4 on, maybe between others."""
    block = Block(
        (
            *(LAYER, Step((Touch("a", None, True),)), Step((Touch("a", None, True),))),
            *(Step((Touch("a", None, False),), work=1), LAYER),
        ),
        (Transfer(1, 2, True),),
        (Lived(8, 4, (1, 2, 3)), Lived(0, 16, (0, 4), parts=(*others, ((8, 12), (4,))))),
    )
    assert ordered(block, 16) == Order((1, 0, 2, 3, 4), (8, 0))


@pytest.mark.parametrize(
    ("capacity", "order"), [(16, Order((0, 1, 2, 3), (8, 0))), (20, Order((0, 1, 3, 2), (16, 0)))]
)
def test_a_store_ends_before_a_part_takes_its_place(capacity: int, order: Order) -> None:
    """Step 3 fills the part in which the buffer lies that is stored, unless that goes elsewhere."""
    block = Block(
        (
            Step((Touch("a", None, True),), work=1),
            *(Step((Touch("a", None, False),)), Step((Touch("a", None, False),), needs=(1,))),
            LAYER,
        ),
        (Transfer(1, 2, False),),
        (Lived(8, 4, (0, 1, 2)), Lived(0, 16, (0, 3), parts=(((0, 8), (0, 3)), ((8, 16), (3,))))),
    )
    assert ordered(block, capacity) == order


@pytest.mark.parametrize(
    ("beside", "order"), [((8, 12), (0, 1, 3, 2, 4)), ((4, 12), (0, 1, 2, 3, 4))]
)
def test_a_part_leaves_while_others_lie_in_parts_not_filled_yet(
    beside: Span, order: tuple[int, ...]
) -> None:
    """Bytes 0 to 7 of 16 are stored. What is in use beside step 3 lies behind them, or not."""
    block = Block(
        (
            Step((Touch("a", ((0, 8),), True),), work=1),
            Step((Touch("a", ((0, 8),), False),)),
            Step((Touch("a", ((0, 8),), False),), needs=(1,)),
            replace(LAYER, inside=(beside,)),
            Step((Touch("a", ((8, 16),), True),), work=1),
        ),
        (Transfer(1, 2, False),),
        (Lived(0, 16, (0, 1, 2, 4), parts=(((0, 8), (0, 1, 2)), ((8, 16), (4,)))),),
        channels=1,
    )
    assert ordered(block, 16) == Order(order, (0,))


@pytest.mark.parametrize(("beside", "start"), [((8, 16), 1), ((0, 16), 2), ((4, 8), 2)])
def test_the_first_half_of_a_double_buffer_is_loaded_early(beside: Span, start: int) -> None:
    """Step 1 needs what lies beside. Step 2 loads bytes 0 to 7 of 16 for the loop in step 4."""
    load = (Touch("a", ((0, 8),), True),)
    block = Block(
        (
            *(LAYER, replace(LAYER, inside=(beside,)), Step(load), Step(load, needs=(2,))),
            Step((Touch("a", None, True),), work=9),
        ),
        (Transfer(2, 3, True),),
        (Lived(0, 16, (2, 3, 4), parts=(((0, 8), (2, 3, 4)), ((8, 16), (4,)))),),
        channels=1,
    )
    assert ordered(block, 16).steps.index(2) == start


def test_a_half_that_is_no_longer_used_is_free() -> None:
    """The loop in step 0 uses 16 bytes. Only its last 8 are used behind it."""
    load = (Touch("b", None, True),)
    block = Block(
        (
            Step((Touch("a", None, True),), work=9),
            Step((Touch("a", ((8, 16),), False),), work=1),
            *(Step(load), Step(load, needs=(2,)), Step((Touch("b", None, False),), work=1)),
        ),
        (Transfer(2, 3, True),),
        (
            Lived(0, 16, (0, 1), parts=(((0, 8), (0,)), ((8, 16), (0, 1)))),
            Lived(0, 8, (2, 3, 4)),
        ),
        channels=1,
    )
    assert ordered(block, 16) == Order((0, 2, 1, 3, 4), (0, 0))


def test_what_a_layer_overwrites_has_left_before() -> None:
    """Layer 3 reads a buffer and writes over it, so that it lives beside the layer anyway."""
    block = Block(
        (
            Step((Touch("a", None, True),), work=1),
            *(Step((Touch("a", None, False),)), Step((Touch("a", None, False),), needs=(1,))),
            Step((Touch("a", None, False), Touch("b", None, True)), work=1),
            Step((Touch("b", None, False),), work=1),
        ),
        (Transfer(1, 2, False),),
        (Lived(0, 8, (0, 1, 2, 3)), Lived(0, 8, (3, 4))),
    )
    assert ordered(block, 32).steps == (0, 1, 2, 3, 4)


OTHER, SHORT = Lived(4, 4, (0, 4)), Lived(4, 4, (0,))


@pytest.mark.parametrize(
    ("other", "later"),
    [
        (OTHER, ()),
        (SHORT, ()),
        (replace(OTHER, uses=(0, 5)), ()),  # it lives in all steps: perhaps an argument
        (replace(OTHER, room=(0, 8)), ()),
        (OTHER, ((4, 5),)),  # it shares memory
        (OTHER, ((8, 9),)),  # something else lives later where it would go
    ],
)
def test_another_buffer_makes_way(other: Lived, later: tuple[Span, ...]) -> None:
    """8 bytes are free in two parts, in front of and behind another buffer, which can go away.

    `later`: what else is in use when only the other buffer lives.
    """
    block = Block(
        (
            replace(LAYER, inside=((12, 16),)),
            *(Step((Touch("a", None, True),)), Step((Touch("a", None, True),))),
            *(Step((Touch("a", None, False),), work=1), replace(LAYER, inside=later), LAYER),
        ),
        (Transfer(1, 2, True),),
        (Lived(8, 8, (1, 2, 3)), other),
    )
    moved, stays = Order((1, 0, 2, 3, 4, 5), (0, 8)), Order((0, 1, 2, 3, 4, 5), (8, 4))
    assert ordered(block, 16) == (moved if other in (OTHER, SHORT) and not later else stays)


def test_what_shares_memory_already_stays() -> None:
    """A buffer that overlaps another one while both live does so for a reason."""
    block = Block(
        (
            Step(work=1, inside=((0, 8),)),
            Step((Touch("a", None, True),)),
            Step((Touch("a", None, True),)),
            Step((Touch("a", None, False),), work=1, inside=((0, 2),)),
        ),
        (Transfer(1, 2, True),),
        (Lived(0, 8, (1, 2, 3)),),
    )
    assert ordered(block, 64) == Order((0, 1, 2, 3), (0,))


@pytest.mark.parametrize(("store", "to"), [(3, 2), (0, 1)])
def test_a_load_does_not_pass_the_store_of_the_same_row(store: int, to: int) -> None:
    """Row 3 is loaded, for which row 3 must have been stored; row 0 has nothing to do with it."""
    out, back = row(store, writes=True), row(3, writes=False)
    block = Block(
        (LAYER, Step((out,)), Step((out,)), Step((back,)), Step((back,)), LAYER),
        (Transfer(1, 2, False), Transfer(3, 4, True)),
    )
    order = ordered(block, 0).steps
    assert (order.index(3) < order.index(0)) is (to == 1)
    assert (order.index(2) > order.index(5)) is (to == 1)


def test_boxes() -> None:
    assert boxes_meet(((0, 4), (0, 8)), ((3, 5), (7, 9)))
    assert not boxes_meet(((0, 4), (0, 8)), ((4, 5), (0, 8)))
    assert boxes_meet(None, ((0, 1),))
    assert boxes_meet(((0, 1),), ((5, 6), (0, 1)))
