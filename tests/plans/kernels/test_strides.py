"""Views of a buffer that gets other strides still have the same elements."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from npu_plans.kernels.strides import Strided, restrided

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def dense(shape: tuple[int, ...]) -> Strided:
    """The layout of a contiguous array."""
    return Strided(shape, tuple(prod(shape[axis + 1 :]) for axis in range(len(shape))))


def elements(memory: NDArray[np.int64], layout: Strided) -> NDArray[np.int64]:
    """The elements of a layout in a memory of 8-byte integers."""
    steps = tuple(8 * step for step in layout.strides)
    return as_strided(memory[layout.offset :], layout.shape, steps)


@given(st.data(), SHAPES)
def test_a_view_keeps_its_elements(data: st.DataObject, shape: tuple[int, ...]) -> None:
    perm = data.draw(st.permutations(range(len(shape))))
    old = dense(shape)
    permuted = dense(tuple(shape[axis] for axis in perm)).permuted(np.argsort(perm).tolist())
    new = Strided(permuted.shape, permuted.strides, 5)
    starts = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    sizes = [data.draw(st.integers(1, e - s)) for e, s in zip(shape, starts, strict=True)]
    offset = sum(s * p for s, p in zip(starts, old.strides, strict=True))
    view = Strided(tuple(sizes), old.strides, offset)
    if data.draw(st.booleans()) and tuple(sizes) == shape:
        wanted = data.draw(st.sampled_from([(prod(shape),), (1, prod(shape)), (*shape, 1)]))
        view = dense(wanted)
    found = restrided(old, new, view)
    content = np.arange(prod(shape), dtype=np.int64)
    memory = np.full(prod(shape) + 5, -1, np.int64)
    elements(memory, new)[...] = content.reshape(shape)
    if found is None:
        assert len(view.shape) != len(shape)
    else:
        np.testing.assert_array_equal(elements(memory, found), elements(content, view))


def test_axes_that_are_cut_apart_have_no_stride() -> None:
    old, new = dense((2, 3, 4)), dense((3, 2, 4)).permuted((1, 0, 2))
    assert restrided(old, new, Strided((6, 4), (4, 1))) is None
    assert restrided(old, new, Strided((3, 4), (4, 1), 12)) == Strided((3, 4), (8, 1), 4)
    assert new.rows_are_dense
    assert not dense((3, 4)).permuted((1, 0)).rows_are_dense
