"""Depthwise convolutions at the memory peak that read a slice, and write their output there."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.pipeline import context, parse, run_passes
from helpers.vector_depthwise import check_loops

CHOOSE = "npu-attach-target{target=cortex-m55},npu-choose-kernels"
PLACE = "npu-overlay-maps,npu-assign-sram-offsets,npu-turn-layers,npu-outline-layers"


def memref(channels: int, size: tuple[int, int], pixel: int) -> str:
    """The type of a map with channels last, whose pixels are some bytes apart."""
    rows, columns = size
    strides = f"strided<[{rows * columns * pixel}, 1, {columns * pixel}, {pixel}]>"
    return f"memref<1x{channels}x{rows}x{columns}xi8, {strides}, #npu.sram>"


def network(
    channels: int,
    others: int,
    size: tuple[int, int],
    kernel: int,
    end: int,
    *,
    planes: bool = False,
) -> ModuleOp:
    """A pointwise layer into a slice, a depthwise one that reads it, and a pointwise one.

    `planes`: the output has the model's layout.
    """
    whole = channels + others
    given_, made, slice_, both, out = (
        memref(count, size, pixel)
        for count, pixel in (
            (4, 4),
            (channels, channels),
            (channels, whole),
            (whole, whole),
            (end, end),
        )
    )
    if planes:
        out = f"memref<1x{end}x{size[0]}x{size[1]}xi8, #npu.sram>"
    weights = {
        "a": f"{channels}x4x1x1xi8",
        "b": f"{channels}x1x{kernel}x{kernel}xi8",
        "c": f"{end}x{channels}x1x1xi8",
    }
    numbers = Random(channels)
    lines = [
        f'"memref.global"() <{{sym_name = "{name}", type = memref<{type_}, #npu.flash>, '
        f"initial_value = dense<{numbers.randint(-9, 99)}> : tensor<{type_}>, "
        'sym_visibility = "private", constant}> : () -> ()'
        for name, type_ in weights.items()
    ]
    lines += [
        f"func.func @f(%x : {given_} {{sram.input}}, %z : {out} {{sram.output}}) {{",
        *(
            f"%{name} = memref.get_global @{name} : memref<{type_}, #npu.flash>"
            for name, type_ in weights.items()
        ),
        f"%both = sram.alloc : {both}",
        f"%s = memref.subview %both[0, 0, 0, 0] [1, {channels}, {size[0]}, {size[1]}] "
        f"[1, 1, 1, 1] : {both} to {slice_}",
        f"%y = sram.alloc : {made}",
    ]
    tail = "zero_points [-3, 0] then requantize scales [0.007] zero_point -3 mode float"
    pads = ", ".join([str(kernel // 2)] * 4)
    for source, type_, weight, groups, around, target, wanted in (
        ("x", given_, "a", 1, "0, 0, 0, 0", "s", slice_),
        ("s", slice_, "b", channels, pads, "y", made),
        ("y", made, "c", 1, "0, 0, 0, 0", "z", out),
    ):
        taps = f"memref<{weights[weight]}, #npu.flash>"
        lines.append(
            f"npu.conv2d ins(%{source}, %{weight} : {type_}, {taps}) outs(%{target} : {wanted}) "
            f"strides [1, 1] pads [{around}] groups {groups} {tail}"
        )
    return parse(context(), "\n".join([*lines, "func.return", "}"]))


@settings(deadline=None, max_examples=8)
@given(
    st.integers(4, 9),
    st.integers(1, 9),
    st.tuples(st.integers(5, 9), st.integers(5, 9)),
    st.sampled_from((3, 5)),
    st.integers(4, 9),
)
def test_loops(channels: int, others: int, size: tuple[int, int], kernel: int, end: int) -> None:
    module = network(channels, others, size, kernel, end)
    chosen = run_passes(context(), module.clone(), CHOOSE)
    layers = run_passes(context(), chosen.clone(), PLACE)
    check_loops(module, layers)


def test_the_output_lies_in_the_slice() -> None:
    """A last layer that writes planes reads all of the slice first, which then lives too long."""
    near, far = (
        str(run_passes(context(), network(8, 4, (9, 9), 3, 12, planes=planes), CHOOSE))
        for planes in (False, True)
    )
    assert near.count("outs(%s ") == 2
    assert far.count("outs(%s ") == 1
