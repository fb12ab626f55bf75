"""Random single layers as .mlir text in destination style, for the lowering tests."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

from npu_dialect.windows import Axis


@dataclass(frozen=True)
class LayerText:
    """A function with one layer, and the shapes of its inputs (parameters included) and output."""

    text: str
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]


def memref(shape: tuple[int, ...]) -> str:
    return f"memref<{'x'.join(str(n) for n in (*shape, 'f32'))}>"


def layer_text(
    name: str, clauses: str, inputs: list[tuple[int, ...]], output: tuple[int, ...]
) -> LayerText:
    arguments = ", ".join(f"%a{i} : {memref(shape)}" for i, shape in enumerate(inputs))
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    types = ", ".join(memref(shape) for shape in inputs)
    text = (
        f"func.func @f({arguments}, %out : {memref(output)}) {{\n"
        f"  {name} ins({names} : {types}) outs(%out : {memref(output)}) {clauses}\n"
        "  func.return\n}\n"
    )
    return LayerText(text, tuple(inputs), output)


def window(draw: st.DrawFn, size: int, largest: int, *, pool: bool) -> Axis:
    """A random window along one axis, with at least one output and no window without real input."""
    kernel = draw(st.integers(1, largest))
    dilation = draw(st.sampled_from([1, 1, 2]))
    reach = (kernel - 1) * dilation + 1
    most = min(kernel - 1, reach - 1) if pool else reach
    axis = Axis(
        size,
        kernel,
        draw(st.integers(1, 3)),
        draw(st.integers(0, most)),
        draw(st.integers(0, most)),
        dilation,
        ceil=pool and draw(st.booleans()),
    )
    assume(axis.outputs >= 1)
    if pool:
        counts = [axis.taps(p) for p in range(axis.outputs)]
        assume(all(low < high for low, high in counts))
    return axis


def pads(rows: Axis, columns: Axis) -> list[int]:
    return [rows.before, columns.before, rows.after, columns.after]


def pool_words(rows: Axis, columns: Axis, *, average: bool, include: bool) -> str:
    words = (
        f"[{rows.kernel}, {columns.kernel}] by [{rows.stride}, {columns.stride}] "
        f"padded {pads(rows, columns)} dilated [{rows.dilation}, {columns.dilation}]"
    )
    words += " ceil_mode" if rows.ceil else ""
    return words + (" count_include_pad" if average and include else "")


def same_ceil(draw: st.DrawFn, height: int, width: int, largest: int) -> tuple[Axis, Axis]:
    rows = window(draw, height, largest, pool=True)
    columns = window(draw, width, largest, pool=True)
    assume(rows.ceil == columns.ceil)
    return rows, columns


@st.composite
def convolutions(draw: st.DrawFn) -> LayerText:
    """A convolution with groups, pads, dilations, an activation, and a pooling window or a sum."""
    groups, depth, filters = (draw(st.integers(1, n)) for n in (3, 3, 4))
    height, width = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    rows, columns = (
        window(draw, height, 4, pool=False),
        window(draw, width, 4, pool=False),
    )
    images = draw(st.sampled_from([1, 1, 2]))
    clauses = (
        f"strides [{rows.stride}, {columns.stride}] pads {pads(rows, columns)} "
        f"dilations [{rows.dilation}, {columns.dilation}] groups {groups}"
    )
    clauses += draw(st.sampled_from(["", " then relu", " then clamp [-0.5, 0.5]"]))
    shape = (rows.outputs, columns.outputs)
    if draw(st.booleans()):
        pool_rows, pool_columns = same_ceil(draw, *shape, 3)
        average = draw(st.booleans())
        words = pool_words(pool_rows, pool_columns, average=average, include=draw(st.booleans()))
        clauses += f" then {'avg' if average else 'max'}_pool {words}"
        clauses += draw(st.sampled_from(["", " overlap accumulate", " overlap recompute"]))
        shape = (pool_rows.outputs, pool_columns.outputs)
    inputs: list[tuple[int, ...]] = [
        (images, groups * depth, height, width),
        (groups * filters, depth, rows.kernel, columns.kernel),
    ]
    if draw(st.booleans()):
        inputs.append((groups * filters,))
    output = (images, groups * filters, *shape)
    if "pool" not in clauses and draw(st.booleans()):
        inputs.append(output)
        clauses += draw(st.sampled_from([" then add residual first", " then add residual second"]))
        clauses += draw(st.sampled_from(["", " then relu"]))
    return layer_text("npu.conv2d", clauses, inputs, output)


@st.composite
def pools(draw: st.DrawFn) -> LayerText:
    """A max or average pool."""
    height, width = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    rows, columns = same_ceil(draw, height, width, 4)
    average = draw(st.booleans())
    clauses = (
        f"kernel [{rows.kernel}, {columns.kernel}] strides [{rows.stride}, {columns.stride}] "
        f"pads {pads(rows, columns)} dilations [{rows.dilation}, {columns.dilation}]"
    )
    clauses += " ceil_mode" if rows.ceil else ""
    clauses += " count_include_pad" if average and draw(st.booleans()) else ""
    name = "npu.avg_pool2d" if average else "npu.max_pool2d"
    channels = draw(st.integers(1, 3))
    return layer_text(
        name, clauses, [(1, channels, height, width)], (1, channels, rows.outputs, columns.outputs)
    )


@st.composite
def dense_layers(draw: st.DrawFn) -> LayerText:
    """A fully connected layer."""
    images, depth, features = (
        draw(st.integers(1, 2)),
        draw(st.integers(1, 40)),
        draw(st.integers(1, 9)),
    )
    inputs = [(images, depth), (features, depth)]
    inputs += [(features,)] if draw(st.booleans()) else []
    clauses = draw(st.sampled_from(["", "then relu", "then clamp [-1.0, 1.0]"]))
    return layer_text("npu.fully_connected", clauses, inputs, (images, features))


@st.composite
def simple_layers(draw: st.DrawFn) -> LayerText:
    """The layers without windows."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=4, max_size=4)))
    n, c, h, w = shape
    perm = draw(st.permutations(range(4)))
    axis = draw(st.integers(0, 3))
    other = (*shape[:axis], draw(st.integers(1, 3)), *shape[axis + 1 :])
    joined = (*shape[:axis], shape[axis] + other[axis], *shape[axis + 1 :])
    size, beta = draw(st.integers(1, 6)), draw(st.sampled_from(["0.75", "0.5", "1.25"]))
    kinds = {
        "relu": layer_text("npu.relu", "", [shape], shape),
        "clamp": layer_text("npu.clamp", "low -0.25 high 0.5", [shape], shape),
        "add": layer_text("npu.add", "", [shape, shape], shape),
        "add_relu": layer_text("npu.add", "then relu", [shape, shape], shape),
        "add_channel": layer_text("npu.add", "then clamp [-0.5, 0.5]", [(c, 1, 1), shape], shape),
        "add_both": layer_text("npu.add", "", [(n, 1, h, 1), (1, c, 1, w)], shape),
        "mul": layer_text("npu.mul", "", [shape, shape], shape),
        "mul_channel": layer_text("npu.mul", "", [shape, (n, c, 1, 1)], shape),
        "mul_both": layer_text("npu.mul", "", [(1, c, h, 1), (n, 1, 1, w)], shape),
        "lrn": layer_text("npu.lrn", f"size {size} alpha 1.5 beta {beta} bias 0.5", [shape], shape),
        "lrn_flat": layer_text(
            "npu.lrn", f"size {size} alpha 1.5 beta {beta} bias 0.5", [(n, c)], (n, c)
        ),
        "concat": layer_text("npu.concat", f"axis {axis}", [shape, other], joined),
        "transpose": layer_text(
            "npu.transpose", f"perm {list(perm)}", [shape], tuple(shape[p] for p in perm)
        ),
        "softmax": layer_text("npu.softmax", f"axis {axis}", [shape], shape),
        "batch_norm": layer_text(
            "npu.batch_norm", "epsilon 2.5", [shape, (c,), (c,), (c,), (c,)], shape
        ),
        "global_max": layer_text("npu.global_max_pool2d", "", [shape], (n, c, 1, 1)),
        "global_avg": layer_text("npu.global_avg_pool2d", "", [shape], (n, c, 1, 1)),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]


@st.composite
def indices(draw: st.DrawFn, extent: int) -> tuple[str, int]:
    """Runs of indices of an axis as text, and how many indices they have."""
    if draw(st.booleans()):  # what can be cut into tiles
        each = draw(st.integers(1, 3))
        return f"0 to {extent - 1} each {each}" if extent > 1 else f"0 each {each}", extent * each
    texts: list[str] = []
    total = 0
    for _ in range(draw(st.integers(1, 4))):
        start, end = (draw(st.integers(0, extent - 1)) for _ in range(2))
        each = draw(st.integers(1, 3))
        kind = draw(st.sampled_from(["none", "one", "run"]))
        count = abs(end - start) + 1 if kind == "run" else 1
        text = {"none": "none", "one": f"{start}", "run": f"{start} to {end}"}[kind]
        texts.append(text + (f" each {each}" if each > 1 else ""))
        total += count * each
    return ", ".join(texts), total


@st.composite
def moving_layers(draw: st.DrawFn) -> LayerText:
    """Picks and resamplings along one or two axes."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=4, max_size=4)))
    axes = sorted(draw(st.sets(st.integers(0, 3), min_size=1, max_size=2)))
    out = list(shape)
    parts: list[str] = []
    resampled = draw(st.booleans())
    for axis in axes:
        if resampled:
            out[axis] = draw(st.integers(1, 6))
            scale = draw(st.sampled_from(["0.5", "0.75", "1.0", "1.5", "0.25"]))
            offset = draw(st.sampled_from(["-0.25", "0.0", "0.5", "-1.5"]))
            width = draw(st.sampled_from(["", f" width {min(1.5, 2 * shape[axis])}"]))
            parts.append(f"axis {axis} size {out[axis]} scale {scale} offset {offset}{width}")
        else:
            text, out[axis] = draw(indices(shape[axis]))
            parts.append(f"axis {axis} [{text}]")
    clauses = " ".join(parts)
    if resampled:
        clauses += draw(st.sampled_from(["", " cubic -0.5", " cubic -0.75 exclude_outside"]))
        clauses += draw(st.sampled_from(["", " fill 2.5"]))
    elif "none" in clauses:
        clauses += " fill -1.5"
    name = "npu.resample" if resampled else "npu.pick"
    return layer_text(name, clauses, [shape], tuple(out))
