"""npu-keep-maps on random networks: the same numbers, fewer bytes by what it says, and room."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, reject, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import PassFailedException

from helpers.pipeline import context, run_passes
from helpers.spilled import BUFFERS, spilled_bytes, with_machine
from npu_dialect import dram
from npu_dialect.interpreters import run_function
from npu_dialect.npu.maps import bytes_of, map_type
from npu_dialect.sram import AllocOp
from npu_dialect.walking import walk_kind
from npu_passes.analysis.accesses import accesses

WINDOW = "kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]"
SPILL = f"{BUFFERS},npu-spill-maps"


@st.composite
def networks(draw: st.DrawFn) -> str:
    """A random graph of maps of a few sizes, many of which are read several times."""
    values: list[tuple[str, int]] = [("x", 4)]
    lines: list[str] = []
    for index in range(draw(st.integers(4, 12))):
        name, channels = draw(st.sampled_from(values[-6:]))
        others = [each for each, size in values[-6:] if size == channels]
        other = draw(st.sampled_from(others))
        op = draw(st.sampled_from(("relu", "pool", "transpose", "add", "add", "concat")))
        kind = tensor(channels)
        text = {
            "relu": f"npu.relu %{name} : {kind}",
            "pool": f"npu.max_pool2d %{name} {WINDOW} : {kind}",
            "transpose": f"npu.transpose %{name} perm [0, 1, 3, 2] : {kind}",
            "add": f"npu.add %{name}, %{other} : ({kind}, {kind})",
            "concat": f"npu.concat %{name}, %{other} axis 1 : ({kind}, {kind})",
        }[op]
        result = 2 * channels if op == "concat" else channels
        if result <= 16:
            lines.append(f"%v{index} = {text} -> {tensor(result)}")
            values.append((f"v{index}", result))
    returned = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2))
    types = ", ".join(tensor(channels) for _, channels in returned)
    lines.append(f"func.return {', '.join(f'%{name}' for name, _ in returned)} : {types}")
    body = "\n  ".join(lines)
    return f"func.func @f(%x: {tensor(4)}) -> ({types}) {{\n  {body}\n}}\n"


def tensor(channels: int) -> str:
    """The type of a map."""
    return f"tensor<1x{channels}x4x4xf32>"


def moved(module: ModuleOp) -> int:
    """The bytes that the ops of all functions read and write of maps that have left the chip.

    An op that reads a map twice loads it once.
    """
    found = {
        (op, each.value, each.writes)
        for function in walk_kind(module, FuncOp)
        for op in function.body.block.ops
        for each in accesses(op)
        if isinstance(each.root.owner, dram.AllocOp)
    }
    return sum(bytes_of(map_type(value)) for _, value, _ in found)


@settings(max_examples=40, deadline=None)
@given(text=networks(), sram_bytes=st.sampled_from([600, 1100, 1700, 2600]))
def test_a_network_with_copies_on_chip_computes_the_same(text: str, sram_bytes: int) -> None:
    ctx = context()
    module = with_machine(ctx, text, sram_bytes)
    x = np.random.default_rng(5).standard_normal((1, 4, 4, 4)).astype(np.float32)
    expected = run_function(module, "f", [x])
    try:
        spilled = run_passes(ctx, module, SPILL)
        run_passes(ctx, module, f"{SPILL},npu-keep-parts,npu-tile-loops")
    except PassFailedException:
        reject()
    kept = run_passes(ctx, module, f"{SPILL},npu-keep-maps")
    copies = sum(1 for _ in walk_kind(kept, AllocOp)) - sum(1 for _ in walk_kind(spilled, AllocOp))
    event(f"{min(copies, 2)} copies")
    assert moved(spilled) - moved(kept) == spilled_bytes(spilled) - spilled_bytes(kept)
    assert str(run_passes(ctx, module, f"{SPILL},npu-keep-maps")) == str(kept)
    tiled = run_passes(ctx, module, f"{SPILL},npu-keep-maps,npu-keep-parts,npu-tile-loops")
    for each in (kept, tiled):
        for got, want in zip(run_function(each, "f", [x]), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
