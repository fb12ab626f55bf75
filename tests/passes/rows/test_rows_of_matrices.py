"""Chains of matrix products, softmax, sums and normalisations run row by row."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import SSAValue

from helpers.chains import Case, Network, agree, context, outputs
from npu_dialect.npu import (
    AddOp,
    FullyConnectedOp,
    MapOp,
    MatmulOp,
    MulOp,
    NormalizeOp,
    SoftmaxOp,
    TransposeOp,
)
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_dialect.npu.rows import RowsOp
from npu_dialect.sram import AllocOp
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.buffers.transpose_in_place import TransposeInPlacePass
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.rows.fuse_rows import FuseRowsPass


def dense(network: Network, width: int) -> None:
    """A fully connected layer on the rows of a map of any rank, between two reshapes."""
    shape = shape_of(network.value)
    weight, bias = network.constant(width, shape[-1]), network.constant(width)
    network.reshape(prod(shape[:-1]), shape[-1])
    network.add(lambda x, out: FullyConnectedOp(x, weight, bias, out))
    network.reshape(*shape[:-1], width)


def heads(network: Network, count: int) -> SSAValue:
    """The map [1, N, D], or a product of it with a constant, as heads [1, count, N, D / count]."""
    _, rows, depth = shape_of(network.value)
    network.reshape(1, rows, count, depth // count)
    network.add(lambda x, out: TransposeOp(x, (0, 2, 1, 3), out))
    return network.value


def attention(network: Network, count: int, *, mask: bool, residual: bool) -> None:
    """Attention of `count` heads over a map [1, N, D]."""
    source = network.value
    _, rows, depth = shape_of(source)
    parts: list[SSAValue] = []
    for _ in range(3):
        network.value = source
        dense(network, depth)
        parts.append(heads(network, count))
    query, key, value = parts
    network.value = query
    network.add(lambda x, out: MatmulOp(x, key, out, transposed_rhs=True))
    scale = network.constant(1)
    network.add(lambda x, out: MulOp(x, scale, out))
    if mask:
        masked = network.constant(rows, rows)
        network.add(lambda x, out: AddOp(masked, x, out))
    network.add(lambda x, out: SoftmaxOp(x, 3, out))
    network.add(lambda x, out: MatmulOp(x, value, out))
    network.add(lambda x, out: TransposeOp(x, (0, 2, 1, 3), out))
    network.reshape(1, rows, depth)
    if residual:
        network.add(lambda x, out: AddOp(source, x, out))


def mixed(network: Network, width: int) -> None:
    """A normalisation, two fully connected layers with a function between, and a sum."""
    source = network.value
    depth = shape_of(source)[-1]
    scale = network.constant(depth)
    network.add(lambda x, out: NormalizeOp(x, scale, None, out, axes=[2], epsilon=1e-5))
    dense(network, width)
    network.add(lambda x, out: MapOp(x, FunctionAttr.of("gelu", []), out))
    dense(network, depth)
    network.add(lambda x, out: AddOp(x, source, out))


@st.composite
def transformers(draw: st.DrawFn) -> Case:
    """One or two blocks of a transformer on a map [1, N, D]."""
    count, each = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    network = Network.start((1, draw(st.integers(2, 6)), count * each), draw(st.integers(0, 99)))
    for _ in range(draw(st.integers(1, 2))):
        if draw(st.booleans()):
            mixed(network, draw(st.integers(1, 7)))
        else:
            attention(network, count, mask=draw(st.booleans()), residual=draw(st.booleans()))
    return Case(network.module())


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(case=transformers(), in_place=st.booleans())
def test_every_stop_computes_the_same(case: Case, in_place: bool) -> None:
    ctx, module = context(), case.module.clone()
    expected = outputs(module.clone())
    FuseRowsPass(when="always").apply(ctx, module)
    assert any(isinstance(op, RowsOp) for op in module.walk())
    agree(module, expected, 1e-4)
    BufferizePass().apply(ctx, module)
    if in_place:
        TransposeInPlacePass().apply(ctx, module)
    AssignSramOffsetsPass().apply(ctx, module)
    agree(module, expected, 1e-4)
    LowerToLoopsPass().apply(ctx, module)
    agree(module, expected, 1e-4)


def test_the_matrix_of_scores_never_exists() -> None:
    """Only one row of scores is on chip, and heads are views of queries, keys and values."""
    ctx = context()
    network = Network.start((1, 20, 6), 0)
    attention(network, 2, mask=True, residual=False)
    module = network.module()
    FuseRowsPass(when="smallest").apply(ctx, module)
    BufferizePass().apply(ctx, module)
    TransposeInPlacePass().apply(ctx, module)
    buffers = [shape_of(op.buffer) for op in module.walk() if isinstance(op, AllocOp)]
    assert (1, 2, 20, 20) not in buffers
    assert (1, 2, 1, 20) in buffers
    assert not any(isinstance(op, TransposeOp) for op in module.walk())
