"""Random ONNX networks of operators that move elements: slices, splits, pads, resized maps.

Parts of one map are read at different times, concatenated, added to each other and returned, so
that views, buffers in place and copies meet.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
from onnx import ModelProto, NodeProto, helper

from helpers.random_onnx import (
    Array,
    RandomNetwork,
    activation,
    concat,
    conv,
    join,
    model_of,
    run,
    transpose,
    view,
)

Maker = Callable[[RandomNetwork], bool]


def slice_(net: RandomNetwork) -> bool:
    """A slice along some axes, with steps of either sign."""
    if (x := net.pick()) is None:
        return False
    shape, random = net.values[x], net.random
    axes = [axis for axis in range(len(shape)) if random.random() < 0.5]
    starts = [random.randint(-shape[axis] - 1, shape[axis]) for axis in axes]
    ends = [random.choice((shape[axis], -1, -(2**62), 2**62, 1)) for axis in axes]
    steps = [random.choice((1, 1, 1, 2, 3, -1, -2)) for _ in axes]
    lists = (starts, ends, axes, steps)
    return bool(axes) and net.add("Slice", [x, *(net.ints(each) for each in lists)])


def crop(net: RandomNetwork) -> bool:
    """A slice of neighbours along one axis."""
    if (x := net.pick()) is None or not net.values[x]:
        return False
    axis = net.random.randrange(len(net.values[x]))
    extent = net.values[x][axis]
    first = net.random.randrange(extent)
    end = net.random.randint(first + 1, extent)
    return net.add("Slice", [x, *(net.ints([each]) for each in (first, end, axis))])


def split(net: RandomNetwork) -> bool:
    """A split into two or three parts, of which later nodes may read any."""
    if (x := net.pick()) is None:
        return False
    axes = [axis for axis, extent in enumerate(net.values[x]) if extent > 1]
    if not axes:
        return False
    axis = net.random.choice(axes)
    cuts = sorted(net.random.sample(range(1, net.values[x][axis]), 1))
    sizes = [cuts[0], net.values[x][axis] - cuts[0]]
    names = [f"v{len(net.nodes)}", f"v{len(net.nodes)}_b"]
    net.nodes.append(helper.make_node("Split", [x, net.ints(sizes)], names, axis=axis))
    for name, size in zip(names, sizes, strict=True):
        shape = list(net.values[x])
        shape[axis] = size
        net.values[name] = tuple(shape)
    return True


def gather(net: RandomNetwork) -> bool:
    """A gather of one index, of some, or of a table of them."""
    if (x := net.pick()) is None or not net.values[x]:
        return False
    axis = net.random.randrange(len(net.values[x]))
    extent = net.values[x][axis]
    shape = net.random.choice(((), (1,), (3,), (2, 2), (20,)))
    indices = net.numbers.integers(-extent, extent, shape)
    return net.add("Gather", [x, net.constant(np.asarray(indices, np.int64))], axis=axis)


def pad(net: RandomNetwork) -> bool:
    """A pad of any mode; negative widths cut elements off."""
    if (x := net.pick()) is None:
        return False
    shape, random = net.values[x], net.random
    mode = random.choice(("constant", "constant", "edge", "reflect", "wrap"))
    least = -1 if mode == "constant" else 0
    pads = [random.randint(least, min(2, n - 1)) if n > 1 else 0 for n in (*shape, *shape)]
    fill = net.constant(np.array(random.choice((0.0, 0.0, 1.5, -np.inf)), np.float32))
    if not np.isfinite(net.weights[fill]):
        fill = net.constant(np.array(-3.0, np.float32))
    return net.add("Pad", [x, net.ints(pads), fill], mode=mode)


def repeat(net: RandomNetwork) -> bool:
    """Tile or Expand."""
    if (x := net.pick()) is None:
        return False
    shape = net.values[x]
    if net.random.random() < 0.5:
        return net.add("Tile", [x, net.ints([net.random.choice((1, 1, 2, 3)) for _ in shape])])
    wanted = [n if n > 1 else net.random.randint(1, 3) for n in shape]
    return net.add("Expand", [x, net.ints([*([2] * (len(shape) < 4)), *wanted])])


def blocks(net: RandomNetwork) -> bool:
    """DepthToSpace or SpaceToDepth."""
    if (x := net.pick(4)) is None:
        return False
    if net.random.random() < 0.5:
        return net.add("SpaceToDepth", [x], blocksize=2)
    return net.add("DepthToSpace", [x], blocksize=2, mode=net.random.choice(("DCR", "CRD")))


def resize(net: RandomNetwork) -> bool:
    """A larger or smaller map: nearest elements, or weighted sums."""
    if (x := net.pick(4)) is None:
        return False
    random = net.random
    mode = random.choice(("nearest", "linear", "cubic"))
    grid = random.choice(("half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"))
    sizes = [*net.values[x][:2], random.randint(1, 9), random.randint(1, 12)]
    region = [0, 0, random.uniform(-0.2, 0.2), 0.1, 1, 1, 1, random.uniform(0.7, 1.1)]
    roi = net.constant(np.array(region, np.float32))
    more = {"mode": mode, "coordinate_transformation_mode": grid, "extrapolation_value": 2.5}
    if mode == "cubic":
        more["exclude_outside"] = random.randint(0, 1)
    return net.add("Resize", [x, roi, "", net.ints(sizes)], **more)


MAKERS: tuple[tuple[Maker, int], ...] = (
    (slice_, 3),
    (crop, 4),
    (split, 4),
    (gather, 2),
    (pad, 2),
    (repeat, 1),
    (blocks, 1),
    (resize, 2),
    (concat, 4),
    (join, 4),
    (activation, 4),
    (view, 2),
    (transpose, 1),
    (conv, 2),
)


def random_moves(seed: int, most: int = 16) -> tuple[ModelProto, dict[str, Array]]:
    """A network that onnxruntime accepts, and inputs for it."""
    random, numbers = Random(seed), np.random.default_rng(seed)
    while True:
        model, feeds = draft(RandomNetwork(random, numbers), most)
        try:
            run(model, feeds)
        except RuntimeError:
            continue
        return model, feeds


def draft(net: RandomNetwork, most: int) -> tuple[ModelProto, dict[str, Array]]:
    """A network of up to `most` nodes; its outputs are values without a reader, and some others."""
    random = net.random
    for index in range(random.choice((1, 2))):
        net.inputs[f"x{index}"] = net.values[f"x{index}"] = (
            1,
            random.choice((2, 4, 8)),
            random.randint(1, 7),
            random.randint(3, 8),
        )
    makers, odds = zip(*MAKERS, strict=True)
    for _ in range(random.randint(2, most)):
        random.choices(makers, odds)[0](net)
    if not net.nodes:
        net.add("Relu", ["x0"])
    return finished(net)


def finished(net: RandomNetwork) -> tuple[ModelProto, dict[str, Array]]:
    """The model, and inputs for it."""
    nodes: list[NodeProto] = net.nodes
    read = {name for node in nodes for name in node.input}
    made = [name for node in nodes for name in node.output]
    outputs = [name for name in made if name not in read or net.random.random() < 0.15]
    net.random.shuffle(outputs)
    used = {name: array for name, array in net.weights.items() if name in read}
    inputs = {name: shape for name, shape in net.inputs.items() if name in read or name == "x0"}
    feeds = {
        name: net.numbers.standard_normal(shape).astype(np.float32)
        for name, shape in inputs.items()
    }
    return model_of(nodes, inputs, outputs, used), feeds
