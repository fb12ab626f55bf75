"""Random graphs with layers that are alike: the same results, and no more bytes alive."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from helpers.chains import outputs
from helpers.pipeline import context, parse, run_passes
from npu_dialect.npu.maps import bytes_of, is_tensor_type
from npu_dialect.walking import walk_kind

MAP, HALF, DOUBLE = (f"tensor<1x2x{size}x{size}xf32>" for size in (4, 2, 8))
LAYERS = (
    ("npu.relu {0}", MAP, MAP),
    ("npu.relu {0}", HALF, HALF),
    ("npu.clamp {0} low 0.0 high 1.0", MAP, MAP),
    ("npu.max_pool2d {0} kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0]", MAP, HALF),
    ("npu.pick {0} axis 2 [0 to 3 each 2] axis 3 [0 to 3 each 2]", MAP, DOUBLE),
    ("npu.max_pool2d {0} kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0]", DOUBLE, MAP),
    ("npu.add {0}, {1}", MAP, MAP),
    ("npu.add {0}, {1}", HALF, HALF),
)


@st.composite
def graphs(draw: st.DrawFn) -> str:
    """A function of few kinds of layers, so that many are alike; each unused map is a result."""
    maps, lines, read = [("%0", MAP)], list[str](), set[str]()
    for number in range(1, draw(st.integers(2, 12))):
        usable = [each for each in LAYERS if any(each[1] == type_ for _, type_ in maps)]
        text, source, result = draw(st.sampled_from(usable))
        names = [name for name, type_ in maps if type_ == source]
        inputs = [draw(st.sampled_from(names)) for _ in range(text.count("{"))]
        types = source if len(inputs) == 1 else f"({source}, {source})"
        lines.append(f"%{number} = {text.format(*inputs)} : {types} -> {result}")
        maps.append((f"%{number}", result))
        read |= set(inputs)
    results = [each for each in maps if each[0] not in read]
    names, types = (", ".join(each) for each in zip(*results, strict=True))
    body = "\n  ".join([*lines, f"func.return {names} : {types}"])
    return f"func.func @f(%0 : {MAP}) -> ({types}) {{\n  {body}\n}}"


def most_bytes(module: ModuleOp) -> int:
    """The most bytes of maps that are alive while a layer runs."""
    (function,) = walk_kind(module, FuncOp)
    ops = list(function.body.block.ops)
    last = {value: at for at, op in enumerate(ops) for value in op.operands}
    first: dict[SSAValue, int] = {each: at for at, op in enumerate(ops) for each in op.results}
    first |= dict.fromkeys(function.body.block.args, -1)

    def size(value: SSAValue) -> int:
        assert is_tensor_type(value.type)
        return bytes_of(value.type)

    return max(
        sum(size(each) for each, made in first.items() if made <= at <= last.get(each, made))
        for at in range(len(ops))
    )


@settings(max_examples=60, deadline=None)
@given(text=graphs())
def test_merged_graphs_compute_the_same(text: str) -> None:
    before, ctx = parse(context(), text), context()
    merged = run_passes(ctx, parse(ctx, text), "npu-merge-layers")
    for got, want in zip(outputs(merged), outputs(before), strict=True):
        np.testing.assert_array_equal(got, want)
    assert most_bytes(merged) <= most_bytes(before)
    (returned,) = walk_kind(merged, ReturnOp)
    assert len(set(returned.arguments)) == len(returned.arguments)
