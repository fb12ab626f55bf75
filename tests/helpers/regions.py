"""Random regions of layers with skip connections, which run row by row."""

from __future__ import annotations

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from helpers.chains import Case, LayerMaker, Network, convolutions, pool_windows
from npu_dialect.attributes import RING, ROW_TIME, TOP_ROWS
from npu_dialect.npu import AddOp, AvgPool2dOp, Conv2dOp, MaxPool2dOp, ReluOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_regions import overwrites_row, overwritten, pad_value, row_read
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import YieldOp
from npu_dialect.row_times import RowRead, RowTime, least_delay, period_of, ring_rows


@st.composite
def pools_by_row(draw: st.DrawFn) -> LayerMaker:
    """A pooling layer with any window."""
    window = draw(pool_windows())
    kind = MaxPool2dOp if window.is_max else AvgPool2dOp
    return lambda x, out: kind(x, window, out)


@st.composite
def skips(draw: st.DrawFn, network: Network, known: list[SSAValue]) -> LayerMaker:
    """The sum of the last map and an earlier one or itself, perhaps behind a 1x1 convolution."""
    shape = shape_of(network.value)
    same = [each for each in known if shape_of(each)[2:] == shape[2:]]
    if not same:
        return lambda x, out: ReluOp(x, out)
    other = draw(st.sampled_from(same))
    if shape_of(other) != shape:
        weight = network.constant(shape[1], shape_of(other)[1], 1, 1)
        fit = Conv2dOp(other, weight, None, TensorType(f32, shape))
        network.block.add_op(fit)
        other = fit.output
    return lambda x, out: AddOp(x, other, out)


def same_size(network: Network, kernel: int) -> LayerMaker:
    """A convolution whose output has the shape of its input."""
    channels = shape_of(network.value)[1]
    weight = network.constant(channels, channels, kernel, kernel)
    pads = (kernel // 2,) * 4
    return lambda x, out: Conv2dOp(x, weight, None, out, pads=pads)


@st.composite
def regions(draw: st.DrawFn) -> Case:
    """A function whose layers can be one region."""
    shape = (1, draw(st.integers(1, 3)), draw(st.integers(1, 11)), draw(st.integers(1, 7)))
    network = Network.start(shape, draw(st.integers(0, 1000)))
    known = [network.value]
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["conv", "same", "same", "pool", "skip", "skip", "relu"]))
        make: LayerMaker = ReluOp
        if kind == "same":
            make = same_size(network, draw(st.sampled_from([1, 3, 5])))
        elif kind == "conv":
            make = draw(convolutions(network))
        elif kind == "pool":
            make = draw(pools_by_row())
        elif kind == "skip":
            make = draw(skips(network, known))
        before = network.value
        if not network.add(make):
            continue
        layer = network.value.owner
        assert isinstance(layer, LayerOp)
        if all(row_read(layer, each) is not None for each in layer.maps) and pads_agree(layer):
            known.append(network.value)
        else:
            network.value = before
            Rewriter.erase_op(layer)
    return Case(network.module())


def pads_agree(layer: LayerOp) -> bool:
    """Whether a layer's padding has the value that other readers of its map pad with."""
    values = {
        pad_value(use.operation)
        for each in layer.maps
        for use in each.uses
        if isinstance(use.operation, LayerOp)
    }
    return len(values | {pad_value(layer)}) == 1


def wrap_all(module: ModuleOp, *, top_rows: bool = False) -> bool:
    """Move all layers that lead to the result into one region.

    Returns False if there are none, or if one reads maps of two rates. Each layer runs as early as
    it can. `top_rows`: rings have no rows of padding at the start.
    """
    (end,) = [op for op in module.walk() if isinstance(op, ReturnOp)]
    (result,) = end.operands
    block = end.parent_block()
    assert block is not None
    source = block.args[0]
    layers = [op for op in block.ops if isinstance(op, LayerOp)]
    for layer in reversed(layers):
        if layer.output is not result and not layer.output.uses:
            layers.remove(layer)
            Rewriter.erase_op(layer)
    if not layers:
        return False
    for layer in layers:
        layer.detach()
    if not schedule(layers):
        return False
    region = RowsOp(source, Region(Block([*layers, YieldOp(result)])), result.type)
    if top_rows:
        TOP_ROWS.set(region, True)
    block.insert_op_before(region, end)
    end.operands[0] = region.result
    return True


def schedule(layers: list[LayerOp]) -> bool:
    """Give the layers of a region times as early as possible, and rings.

    Returns False if a layer reads maps of two rates, so that no step fits a row to both.
    """
    times: dict[SSAValue, RowTime] = {}
    for layer in layers:
        inner = [(times[each], reads(layer, each)) for each in layer.maps if each in times]
        delay = max((least_delay(read, time) for time, read in inner), default=0)
        rates = {period_of(read, time) for time, read in inner}
        if len(rates) > 1:
            return False
        period = rates.pop() if rates else 1
        times[layer.output] = RowTime(period, delay)
        ROW_TIME.set(layer, (period, delay))
    for layer in layers[:-1]:
        readers: list[Operation] = list(
            dict.fromkeys(
                use.operation for use in layer.output.uses if isinstance(use.operation, LayerOp)
            )
        )
        time, rows = times[layer.output], 1
        for reader in readers:
            assert isinstance(reader, LayerOp)
            read = reads(reader, layer.output)
            rows = max(rows, ring_rows(read, time, times[reader.output]))
        (first, *others) = readers
        assert isinstance(first, LayerOp)
        over = not others and rows == 1 and overwrites_row(first, layer.output)
        over = over and not overwritten(first)  # it has one row for all that it overwrites
        RING.set(layer, 0 if over and times[first.output] == time else rows)
    return True


def reads(layer: LayerOp, value: SSAValue) -> RowRead:
    """How a layer reads a map by row."""
    found = row_read(layer, value)
    assert found is not None
    return found
