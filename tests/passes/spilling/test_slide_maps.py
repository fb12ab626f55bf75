"""npu-slide-maps on random networks: layers that write over their input compute the same."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, reject, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from helpers.pipeline import context, parse, run_passes
from helpers.spilled import BUFFERS
from npu_dialect.attributes import TARGET
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.analysis.on_chip import functions
from npu_passes.spilling.slide_maps import chosen, slide_maps

TILES = "npu-spill-maps,npu-keep-maps,npu-keep-parts,npu-gather-readers,npu-tile-loops"

KINDS = ("conv", "conv", "conv", "depthwise", "sum", "pool", "relu", "add")


@st.composite
def windows(draw: st.DrawFn, dilations: int) -> tuple[int, int, int, int]:
    """Kernel, dilation and pads in front and behind of windows that keep the size of a map."""
    kernel, dilation = draw(st.integers(1, 4)), draw(st.integers(1, dilations))
    around = (kernel - 1) * dilation
    before = draw(st.integers(0, around))
    return kernel, dilation, before, around - before


@st.composite
def layers(draw: st.DrawFn, name: str, source: str, other: str, kind: str) -> list[str]:
    """A layer that reads a map, and the constants that it needs."""
    what = draw(
        st.sampled_from(("conv", "conv", "conv", "depthwise", "sum", "pool", "relu", "add"))
    )
    if what == "relu":
        return [f"%{name} = npu.relu %{source} : {kind} -> {kind}"]
    if what == "add":
        return [f"%{name} = npu.add %{source}, %{other} : ({kind}, {kind}) -> {kind}"]
    kernel, dilation, before, behind = draw(windows(1 if what == "pool" else 2))
    pads = f"pads [{before}, {before}, {behind}, {behind}] dilations [{dilation}, {dilation}]"
    if what == "pool":
        return [
            f"%{name} = npu.max_pool2d %{source} kernel [{kernel}, {kernel}] {pads} "
            f": {kind} -> {kind}"
        ]
    shape = f"4x{1 if what == 'depthwise' else 4}x{kernel}x{kernel}"
    weight = np.random.default_rng(len(name) + kernel).standard_normal(
        [int(each) for each in shape.split("x")]
    )
    groups = " groups 4" if what == "depthwise" else ""
    values = str(np.round(weight, 3).tolist())
    made = [
        f"%{name}_w = arith.constant dense<{values}> : tensor<{shape}xf32>",
        f"%{name} = npu.conv2d %{source}, %{name}_w strides [1, 1] {pads}{groups} "
        f": ({kind}, tensor<{shape}xf32>) -> {kind}",
    ]
    if what == "sum":
        made[1] = made[1].replace(f"%{name} =", f"%{name}_s =")
        made.append(f"%{name} = npu.add %{name}_s, %{other} : ({kind}, {kind}) -> {kind}")
    return made


@st.composite
def networks(draw: st.DrawFn) -> tuple[str, tuple[int, int]]:
    """A network of layers that keep the size of their maps, and this size."""
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    kind = f"tensor<1x4x{rows}x{columns}xf32>"
    names, lines = ["x"], list[str]()
    for index in range(draw(st.integers(4, 9))):
        other = draw(st.sampled_from(names[-3:]))
        lines += draw(layers(f"v{index}", names[-1], other, kind))
        names.append(f"v{index}")
    parts = draw(st.lists(st.sampled_from(names[1:]), min_size=2, max_size=2, unique=True))
    whole = kind.replace("1x4x", f"1x{4 * len(parts)}x", 1)
    lines.append(
        f"%all = npu.concat {', '.join(f'%{each}' for each in parts)} axis 1 : "
        f"({', '.join([kind] * len(parts))}) -> {whole}"
    )
    lines.append(f"func.return %all, %{names[-1]} : {whole}, {kind}")
    body = "\n  ".join(lines)
    return f"func.func @f(%x: {kind}) -> ({whole}, {kind}) {{\n  {body}\n}}\n", (rows, columns)


@settings(max_examples=80, deadline=None)
@given(network=networks(), block=st.integers(1, 5), share=st.integers(2, 5))
def test_layers_that_write_over_their_input_compute_the_same(
    network: tuple[str, tuple[int, int]], block: int, share: int
) -> None:
    """Slides are made whether they save bytes or not, and then the maps leave the chip."""
    text, (rows, columns) = network
    ctx = context()
    module, memory = parse(ctx, text), share * 16 * rows * columns
    machine = Machine("small", memory, 0, dma_channels=4)
    TARGET.set(module, TargetAttr.of(machine))
    x = np.random.default_rng(5).standard_normal((1, 4, rows, columns)).astype(np.float32)
    expected = run_function(module, "f", [x])
    fused = run_passes(ctx, module, f"npu-fuse-additions,{BUFFERS},npu-split-lives")
    count = 0
    for function in list(functions(fused)):
        count += sum(len(layers) for _, layers in chosen(function, machine, block))
        slide_maps(function, machine, block)
    fused.verify()
    event("slides" if count else "none")
    tiles: list[ModuleOp] = []
    try:
        tiles.append(run_passes(ctx, fused, TILES))
    except PassFailedException:
        event("does not fit")
    if not count and not tiles:
        reject()
    for each in (fused, *tiles):
        found = run_function(each, "f", [x])
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
