"""Random programs of the virtual clock, and random machines to run them on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from npu_plans.time.program import Body, Loop, Rename, Start, Step, Wait, Work
from npu_plans.time.rates import Rates

NAMES = st.sampled_from(["a", "b"])


@st.composite
def bodies(draw: st.DrawFn, depth: int = 2, free: int = 0) -> Body:
    """A program that waits for all its transfers; it uses tokens from `free` on."""
    found: list[Step] = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["work", "move", "loop", "carry"] if depth else ["work"]))
        moved = Start(free, draw(st.integers(0, 200)), draw(st.integers(1, 4)), draw(NAMES))
        inner = bodies(depth - 1, free + 2)
        match kind:
            case "work":
                layer = draw(st.booleans())
                found.append(Work(draw(st.integers(0, 60)), draw(NAMES), is_layer=layer))
            case "move":
                found += [moved, *draw(inner), Wait(free)]
            case "loop":
                cases = draw(st.dictionaries(st.integers(-1, 9), inner, max_size=2))
                found.append(Loop(draw(st.integers(0, 12)), draw(inner), cases))
            case _:
                body = (replace(moved, token=free + 1), *draw(inner), Wait(free))
                body = (*body, Rename(((free + 1, free),)))
                found += [moved, Loop(draw(st.integers(0, 12)), body), Wait(free)]
    return tuple(found)


RANDOM_RATES = st.builds(
    Rates,
    st.just({"f32": Fraction(1)}),
    st.just(Fraction(1)),
    st.fractions(Fraction(1, 4), 8, max_denominator=5),
    setup=st.integers(0, 30),
    jump=st.integers(0, 5),
    channels=st.integers(1, 3),
)
