"""Canonicalisation keeps what layers compute, and never adds a layer."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from helpers.reference import parsed
from npu_dialect.interpreters import run_function
from npu_dialect.npu.layer import LayerOp

SHAPES = ((2, 3, 4), (4, 3, 2), (1, 24), (24,), (2, 12), (6, 2, 2), (1, 1, 24))
BOUND = st.sampled_from(["-inf", "-2.0", "-0.5", "0.0", "0.5", "2.0", "inf"])


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, tuple[int, ...]]:
    """A function @f of layers in a row, of which some are returned, and the shape of its input."""
    shape, name, lines = draw(st.sampled_from(SHAPES)), "%x", list[str]()
    start, returned = shape, list[tuple[str, tuple[int, ...]]]()
    for index in range(draw(st.integers(1, 6))):
        kind, after = draw(st.sampled_from(["relu", "clamp", "reshape", "transpose"])), shape
        what = ""
        if kind == "clamp":
            low, high = sorted((draw(BOUND), draw(BOUND)), key=float)
            what = f" low {low} high {high}"
        elif kind == "reshape":
            after = draw(st.sampled_from(SHAPES))
        elif kind == "transpose":
            perm = draw(st.sampled_from(list(permutations(range(len(shape))))))
            after, what = tuple(shape[axis] for axis in perm), f" perm {list(perm)}"
        lines.append(f"%{index} = npu.{kind} {name}{what} : {typed(shape)} -> {typed(after)}")
        name, shape = f"%{index}", after
        if draw(st.integers(0, 3)) == 0:
            returned.append((name, shape))
    values = [*returned, (name, shape)]
    types = ", ".join(typed(each) for _, each in values)
    names = ", ".join(each for each, _ in values)
    head = f"func.func @f(%x: {typed(start)}) -> ({types})"
    body = "\n".join([*lines, f"func.return {names} : {types}"])
    return f"{head} {{\n{body}\n}}", start


def typed(shape: tuple[int, ...]) -> str:
    """The text of a tensor's type."""
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def layers(module: ModuleOp) -> int:
    """The number of layers."""
    return sum(isinstance(op, LayerOp) for op in module.walk())


@settings(max_examples=80, deadline=None)
@given(chains())
def test_the_same_numbers_in_no_more_layers(case: tuple[str, tuple[int, ...]]) -> None:
    text, shape = case
    before, after = parsed(text), parsed(text)
    CanonicalizePass().apply(Context(), after)
    after.verify()
    assert layers(after) <= layers(before)
    array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    for wanted, found in zip(
        run_function(before, "f", [array]), run_function(after, "f", [array]), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
