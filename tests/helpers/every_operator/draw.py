"""Random networks of every operator that the importer has a rule for.

    drawn = draw(7)
    drawn.model, drawn.feeds

`MAKERS` has an entry for each operator of `RULES`. A network is of floats, or has operators with
scales as operands, or is quantised by pairs of QuantizeLinear and DequantizeLinear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
from onnx import ModelProto

from helpers import random_moves, random_onnx
from helpers.every_operator.floats import FLOATS, Maker
from helpers.every_operator.integers import INTEGERS
from helpers.every_operator.moves import MOVES
from helpers.every_operator.network import Array, Network, outputs_of, session_of
from helpers.every_operator.pairs import Pairs
from helpers.every_operator.recurrent import RECURRENT
from npu_tools.importers.onnx.rules import RULES

PLAIN: Mapping[str, Maker] = {
    "AveragePool, MaxPool": random_onnx.pool,
    "BatchNormalization": random_onnx.batch_norm,
    "Clip, Relu": random_onnx.activation,
    "Concat": random_onnx.concat,
    "Conv": random_onnx.conv,
    "DepthToSpace, SpaceToDepth": random_moves.blocks,
    "Dropout, GlobalAveragePool, GlobalMaxPool, Identity, LRN": random_onnx.odd,
    "Expand, Tile": random_moves.repeat,
    "Flatten, Reshape, Squeeze, Unsqueeze": random_onnx.view,
    "Gather": random_moves.gather,
    "Gemm": random_onnx.dense,
    "PRelu": random_onnx.function,
    "Pad": random_moves.pad,
    "Resize": random_moves.resize,
    "Slice": random_moves.slice_,
    "Split": lambda net: split(net),
    "Transpose": random_onnx.transpose,
}
"""The makers of other tests; each name lists the operators."""


def split(net: random_onnx.RandomNetwork) -> bool:
    """A split into two parts."""
    assert isinstance(net, Network)
    if (x := net.pick()) is None:
        return False
    axes = [axis for axis, extent in enumerate(net.shape(x)) if extent > 1]
    if not axes:
        return False
    axis = net.random.choice(axes)
    first = net.random.randint(1, net.shape(x)[axis] - 1)
    sizes = net.ints([first, net.shape(x)[axis] - first])
    return net.add("Split", [x, sizes], axis=axis, outputs=2)


MAKERS: Mapping[str, Maker] = {
    **PLAIN,
    **FLOATS,
    **MOVES,
    **INTEGERS,
    **{kind: maker for kind, maker in RECURRENT.items() if kind in RULES},
}
"""All makers, by the operators that they add."""
OPSETS = (13, 17, 17, 17, 18, 21, 23)
FORMS = ("float", "float", "operators", "pairs")


@dataclass(frozen=True)
class Drawn:
    """A random network, its inputs, what onnxruntime computes, and the form that it is of."""

    model: ModelProto
    feeds: Mapping[str, Array]
    wanted: list[Array]
    form: str


def draw(seed: int, most: int = 8) -> Drawn:
    """A network of about `most` nodes or fewer that onnxruntime accepts."""
    random, numbers = Random(seed), np.random.default_rng(seed)
    while True:
        form = random.choice(FORMS)
        net = grown(random, numbers, form, random.randint(1, most))
        if not net.nodes:
            continue
        if form == "pairs":
            Pairs(net, random).rewrite()
        model, feeds = net.finished()
        if not model.graph.output:
            continue
        try:
            wanted = outputs_of(session_of(model), feeds)
        except RuntimeError:  # such as an operator that two opsets define in different ways
            continue
        if all(np.isfinite(array).all() for array in wanted):
            return Drawn(model, feeds, wanted, form)


def grown(random: Random, numbers: np.random.Generator, form: str, most: int) -> Network:
    """A network with random inputs and up to `most` steps."""
    makers = kinds_of(form)
    chosen = random.choice(list(makers))  # each operator is as likely as another to be the first
    opset = 9 if chosen == "Upsample" else random.choice(OPSETS)
    if chosen in ("Attention", "RMSNormalization"):
        opset = 23
    net = Network.start(random, numbers, 24 if chosen == "Swish" else opset)
    for _ in range(random.choice((1, 1, 2))):
        net.input(numbers.standard_normal(shape_for(chosen, random)).astype(np.float32))
    if random.random() < 0.2 and form == "float":
        net.input(numbers.integers(-9, 9, net.shape("x0")).astype(np.int32))
    steps = [chosen, *random.choices(list(makers), k=most - 1)]
    for step in steps:
        makers[step](net)
    return net


def kinds_of(form: str) -> Mapping[str, Maker]:
    """The makers of a form, by name."""
    return MAKERS if form == "operators" else {k: m for k, m in MAKERS.items() if k not in INTEGERS}


def shape_for(kind: str, random: Random) -> tuple[int, ...]:
    """A shape of an input; that of the rank that an operator needs, if it needs one."""
    rank = 4 if kind in PLAIN else random.choice((1, 2, 3, 4, 4, 4))
    if kind in ("Attention", "Conv over one axis", "GRU", "LSTM", "Pool over one axis", "RNN"):
        rank = 3
    if kind in ("GroupNormalization", "MeanVarianceNormalization", "Upsample"):
        rank = 4
    batch = random.choice((1, 1, 2))
    extents = [random.randint(1, 8) for _ in range(rank - 1)]
    if rank > 2:
        extents[0] = random.choice((1, 2, 3, 4, 6))
    return (batch, *extents)
