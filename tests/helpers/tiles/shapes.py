"""Random layers, small enough to trace."""

from __future__ import annotations

from hypothesis import strategies as st

from npu_plans.tiles.cost_model import Tile
from npu_plans.tiles.layer_shape import ConvShape, ElementBytes, WindowAxis


@st.composite
def windows(draw: st.DrawFn, largest: int) -> WindowAxis:
    kernel, stride, dilation = (draw(st.integers(1, n)) for n in (4, 3, 2))
    span = (kernel - 1) * dilation + 1
    before, after = draw(st.integers(0, span - 1)), draw(st.integers(0, span - 1))
    extent = draw(st.integers(max(1, span - before - after), max(largest, span)))
    return WindowAxis(extent, kernel, stride, dilation, before, after)


@st.composite
def layers(draw: st.DrawFn, largest: int = 9, channels: int = 5) -> ConvShape:
    ins, outs = draw(st.integers(1, channels)), draw(st.integers(1, channels))
    widths = draw(st.sampled_from((ElementBytes(), ElementBytes(1, 1, 4, 2))))
    return ConvShape("layer", draw(windows(largest)), draw(windows(largest)), ins, outs, widths)


@st.composite
def tiles(draw: st.DrawFn, layer: ConvShape) -> Tile:
    extents = (layer.rows.outputs, layer.columns.outputs, layer.channels_in, layer.channels_out)
    return Tile(*(draw(st.integers(1, extent)) for extent in extents))


@st.composite
def same_layers(draw: st.DrawFn) -> ConvShape:
    """The paper's layers: the output size is the input size divided by the stride."""
    stride, kernel = draw(st.integers(1, 2)), draw(st.sampled_from((1, 3, 5)))
    pad = kernel // 2
    rows, columns = (
        WindowAxis(stride * draw(st.integers(2, 6)), kernel, stride, 1, pad, pad) for _ in range(2)
    )
    return ConvShape("same", rows, columns, draw(st.integers(1, 6)), draw(st.integers(1, 6)))
