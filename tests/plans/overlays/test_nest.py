"""Distances of loop nests against running them, iteration by iteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from npu_plans.overlays.nest import (
    Access,
    Choice,
    Form,
    Loop,
    Node,
    backwards,
    can_turn,
    distance,
    distance_in_classes,
    factors_of,
    mirrored,
)

SOURCE, TARGET = 0, 1


def run(nodes: Sequence[Node], numbers: Mapping[int, int]) -> Iterator[tuple[int, bool, int, int]]:
    """The accesses of a nest in order: buffer, whether it writes, first and last byte."""
    for node in nodes:
        match node:
            case Access():
                first, last = (value(form, numbers) for form in (node.first, node.last))
                yield node.buffer, node.writes, first, last
            case Choice():
                yield from run(node.bodies[0], numbers)
            case Loop():
                for k in range(node.count):
                    yield from run(node.body, {**numbers, node.number: k})


def value(form: Form, numbers: Mapping[int, int]) -> int:
    """The value of a form in some iteration."""
    return form.constant + sum(factor * numbers[number] for number, factor in form.factors)


def exact(nodes: Sequence[Node]) -> int | None:
    """The distance of a nest by running it."""
    least, written = None, None
    for buffer, writes, first, last in run(nodes, {}):
        if writes and buffer == TARGET:
            written = last if written is None else max(written, last)
        if not writes and buffer == SOURCE and written is not None:
            gap = written - first + 1
            least = gap if least is None else max(least, gap)
    return least


@st.composite
def nests(draw: st.DrawFn, depth: int = 0, loops: tuple[int, ...] = ()) -> tuple[Node, ...]:
    """Nests of up to three loops; each number of a loop is used once on a path."""
    found: list[Node] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth < 3 and draw(st.booleans()):
            body = draw(nests(depth + 1, (*loops, depth)))
            found.append(Loop(depth, draw(st.integers(0, 4)), body))
            continue
        factors = factors_of({loop: draw(st.integers(-9, 9)) for loop in loops})
        first = draw(st.integers(-20, 20))
        ends = Form(first, factors), Form(first + draw(st.integers(0, 7)), factors)
        found.append(Access(draw(st.sampled_from((SOURCE, TARGET))), draw(st.booleans()), *ends))
    return tuple(found)


@given(nests())
def test_distance_is_exact(nodes: tuple[Node, ...]) -> None:
    assert distance(nodes, SOURCE, TARGET) == exact(nodes)


@given(nests())
def test_mirrored(nodes: tuple[Node, ...]) -> None:
    def flipped() -> Iterator[tuple[int, bool, int, int]]:
        for buffer, writes, first, last in run(nodes, {}):
            yield buffer, writes, -last, -first

    assert list(run(mirrored(nodes), {})) == list(flipped())


@given(nests())
def test_backwards_has_the_same_iterations(nodes: tuple[Node, ...]) -> None:
    assert sorted(run(backwards(nodes), {})) == sorted(run(nodes, {}))
    if can_turn(nodes):
        for node in nodes:
            if isinstance(node, Access):
                assert not node.writes
                continue
            assert isinstance(node, Loop)
            written: set[tuple[int, int]] = set()
            for k in range(node.count):
                new = {
                    (buffer, byte)
                    for buffer, writes, first, last in run(node.body, {node.number: k})
                    if writes
                    for byte in range(first, last + 1)
                }
                assert written.isdisjoint(new)
                written |= new


def rows(count: int, reads: tuple[int, int], step: int, writes: int) -> tuple[Node, ...]:
    """A layer that reads bytes of each row from `step` * row on, and then writes a row."""
    source = Access(SOURCE, False, Form(reads[0], ((0, step),)), Form(reads[1], ((0, step),)))
    target = Access(TARGET, True, Form(0, ((0, writes),)), Form(writes - 1, ((0, writes),)))
    return (Loop(0, count, (source, target)),)


def test_a_window_of_three_rows_keeps_one_row_apart() -> None:
    """Output row r is written when row r is still needed for row r + 1."""
    window = rows(25, (-320, 639), 320, 320)
    assert distance(window, SOURCE, TARGET) == 320
    assert can_turn(window)
    assert distance(mirrored(backwards(window)), SOURCE, TARGET) == 320


def test_an_output_that_grows_faster_stays_in_front() -> None:
    assert distance(rows(9, (0, 7), 8, 16), SOURCE, TARGET) == 64
    assert distance(mirrored(backwards(rows(9, (0, 7), 8, 16))), SOURCE, TARGET) == -8


def test_of_a_choice_one_body_runs() -> None:
    write = Access(TARGET, True, Form(9), Form(9))
    read = Access(SOURCE, False, Form(0), Form(0))
    assert distance((Choice(((write,), (read,))),), SOURCE, TARGET) is None
    assert distance((Loop(0, 2, (Choice(((write,), (read,))),)),), SOURCE, TARGET) == 10


def test_loops_that_cannot_turn() -> None:
    row = Access(TARGET, True, Form(0, ((0, 4),)), Form(4, ((0, 4),)))  # a byte of the next row
    read = Access(TARGET, False, Form(0), Form(0))
    assert not can_turn((Loop(0, 2, (row,)),))
    assert can_turn((Loop(0, 1, (row,)),))
    assert not can_turn((Loop(0, 1, (row, read)),))
    assert not can_turn((row,))


def test_what_may_stand_beside_loops_that_turn() -> None:
    """Reads of what the loops do not write, in front of the last loop: they run before them all."""
    (loop,) = rows(3, (0, 3), 4, 4)
    read, written = (Access(each, False, Form(0), Form(3)) for each in (SOURCE, TARGET))
    assert can_turn((read, loop))
    assert not can_turn((loop, read))
    assert not can_turn((written, loop))
    assert not can_turn((replace(read, writes=True), loop))
    assert not can_turn((Choice(((read,),)), loop))


@st.composite
def channels(draw: st.DrawFn) -> tuple[Loop, int]:
    """A loop over the channels of pixels, and their bytes; reads and writes are in steps."""
    pixel, count = draw(st.integers(1, 5)), draw(st.integers(1, 4))

    def access(depth: int) -> Access:
        buffer = draw(st.sampled_from((SOURCE, TARGET)))
        factors = {9: 1} | ({1: pixel * draw(st.integers(-3, 3))} if depth else {})
        first = pixel * draw(st.integers(0, 6))
        last = first + pixel * draw(st.integers(0, 3))
        ends = (Form(each, factors_of(factors)) for each in (first, last))
        return Access(buffer, buffer == TARGET, *ends, step=pixel)

    row = tuple(access(1) for _ in range(draw(st.integers(1, 3))))
    body = (Loop(1, draw(st.integers(1, 4)), row), access(0))
    return Loop(9, count, body), pixel


def meets(loop: Loop, apart: int) -> bool:
    """Whether a byte is read after it was written, if the source is so many bytes behind."""
    written: set[int] = set()
    steps = {access.step for access in accesses(loop)}
    for buffer, writes, first, last in run((loop,), {}):
        numbers = range(first, last + 1, *steps)
        if writes and buffer == TARGET:
            written.update(numbers)
        elif not writes and not written.isdisjoint(number + apart for number in numbers):
            return True
    return False


def accesses(node: Node) -> Iterator[Access]:
    """The accesses of a nest of loops."""
    if isinstance(node, Access):
        yield node
    elif isinstance(node, Loop):
        yield from (access for each in node.body for access in accesses(each))


@given(channels())
def test_channels_overwrite_only_their_own(case: tuple[Loop, int]) -> None:
    loop, pixel = case
    found = distance_in_classes((loop,), SOURCE, TARGET)
    if found is not None:
        distance_, modulus = found
        assert modulus >= loop.count
        assert modulus % pixel == 0
        assert not any(meets(loop, distance_ + number * modulus) for number in range(3))


def test_classes_that_meet_have_no_distance() -> None:
    """Elements of another step, more channels than a pixel has, and a loop of other steps."""

    def loop(count: int, factor: int, step: int, first: int = 0) -> Loop:
        ends = [Form(number, ((9, factor),)) for number in (first, first + 8)]
        read = Access(SOURCE, False, ends[0], ends[1], step)
        return Loop(9, count, (read, Access(TARGET, True, ends[0], ends[1], 4)))

    assert distance_in_classes((loop(4, 1, 4),), SOURCE, TARGET) == (0, 4)
    assert distance_in_classes((loop(4, 1, 4, 3),), SOURCE, TARGET) == (0, 4)
    assert distance_in_classes((loop(4, 1, 2),), SOURCE, TARGET) is None
    assert distance_in_classes((loop(5, 1, 4),), SOURCE, TARGET) is None
    assert distance_in_classes((loop(4, 2, 4),), SOURCE, TARGET) is None
    assert distance_in_classes((loop(4, 1, 4), loop(4, 1, 4)), SOURCE, TARGET) is None
