"""Plans of a kernel row: each wanted tap meets its element once, and nothing else counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.row_plan import (
    QUAD,
    Pixel,
    Product,
    WeightWord,
    Word,
    plan_row,
    weight_words,
)

Meeting = tuple[int, int, int]
"""A pixel, one of its taps, and an element of the input."""


def meetings(steps: Sequence[WeightWord], taps: int, dilation: int) -> Counter[Meeting]:
    """The taps and elements that the instructions multiply; a half without a tap is zero."""
    found: Counter[Meeting] = Counter()
    words = weight_words(taps, dilation)
    for step in steps:
        for product in step.products:
            for half, other in halves(product):
                tap = words[step.weight][other]
                if tap is not None:
                    found[product.pixel, tap, product.word.elements[half]] += 1
    return found


def halves(product: Product) -> list[tuple[int, int]]:
    """The halves of input and weight that a product multiplies: 0 for bottom, 1 for top."""
    if not product.halves:
        return [(0, 0), (1, 1)]
    names = {"b": 0, "t": 1}
    one, other = product.halves
    return [(names[one], names[other])]


def wanted(pixels: Sequence[Pixel]) -> Counter[Meeting]:
    """The meetings that a convolution needs."""
    return Counter(
        (number, tap, pixel.start + tap * pixel.dilation)
        for number, pixel in enumerate(pixels)
        for tap in range(pixel.low, pixel.high)
    )


def check(taps: int, pixels: Sequence[Pixel], first: int, last: int) -> list[WeightWord]:
    """Plan a row, which must succeed, and check the plan."""
    steps = plan_row(taps, pixels, first, last)
    assert steps is not None
    assert meetings(steps, taps, pixels[0].dilation) == wanted(pixels)
    words = [product.word for step in steps for product in step.products]
    assert all(first <= word.start <= last and word.half in (0, 1) for word in words)
    assert [step.weight for step in steps] == sorted({step.weight for step in steps})
    return steps


@given(st.integers(1, 11), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_pixels_of_the_interior(taps: int, stride: int, count: int, dilation: int) -> None:
    """No load goes beyond the elements that are needed."""
    pixels = [Pixel(stride * number, 0, taps, dilation) for number in range(count)]
    reach = pixels[-1].start + (taps - 1) * dilation + 1
    if reach >= QUAD:
        check(taps, pixels, 0, reach - QUAD)
    else:  # a row with more elements behind, or before
        check(taps, pixels, 0, 0)
        check(taps, pixels, reach - QUAD, reach - QUAD)


@settings(max_examples=200)
@given(st.data())
def test_pixels_of_the_border(data: st.DataObject) -> None:
    """Taps on padding are left out, and no load leaves the row."""
    taps, size = data.draw(st.integers(1, 11)), data.draw(st.integers(QUAD, 12))
    dilation = data.draw(st.integers(1, 3))
    pixels: list[Pixel] = []
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(-taps * dilation, size))
        low, high = Axis(size, taps, before=-start, dilation=dilation).taps(0)
        pixels.append(Pixel(start, low, high, dilation))
    check(taps, pixels, 0, size - QUAD)


def test_a_row_shorter_than_a_word_has_no_plan() -> None:
    assert plan_row(3, [Pixel(0, 0, 3)], 0, -1) is None


def test_a_dilation_of_two_pairs_neighbouring_taps() -> None:
    assert weight_words(5, 2) == [(0, 1), (2, 3), (4, None)]
    assert weight_words(5) == [(0, 2), (1, 3), (4, None)]
    assert weight_words(3, 3) == [(0, None), (1, None), (2, None)]


def test_the_known_row() -> None:
    """Five taps of two neighbouring pixels: three words of weights, at most four loads."""
    steps = check(5, [Pixel(0, 0, 5), Pixel(1, 0, 5)], 0, 2)
    assert [len(step.products) for step in steps] == [2, 2, 2]
    assert [product.halves == "" for step in steps for product in step.products] == [
        *(True,) * 4,
        *(False,) * 2,
    ]
    loads = {product.word.start for step in steps for product in step.products}
    assert len(loads) <= 3
    assert Word(0, 1).elements == (1, 3)
