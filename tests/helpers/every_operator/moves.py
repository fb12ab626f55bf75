"""Makers of nodes that move elements of maps, or read their shapes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from helpers.every_operator.floats import Maker
from helpers.every_operator.network import Network


def any_map(net: Network) -> str | None:
    """A map of floats, or now and then of integers."""
    kinds = ("float32",) if net.random.random() < 0.7 else ("int8", "uint8", "int32", "bool")
    return net.pick_of(*kinds)


def center_crop_pad(net: Network) -> bool:
    """Some axes cut or padded at both ends."""
    if (x := net.pick()) is None or not net.shape(x):
        return False
    shape = net.shape(x)
    axes = [axis for axis in range(len(shape)) if net.random.random() < 0.5] or [0]
    wanted = net.ints([max(1, shape[axis] + net.random.randint(-2, 2)) for axis in axes])
    return net.add("CenterCropPad", [x, wanted], axes=axes)


def compress(net: Network) -> bool:
    """Those elements along an axis, or of all, that flags name."""
    if (x := any_map(net)) is None or not net.shape(x):
        return False
    shape = net.shape(x)
    axis = net.random.choice((None, *range(len(shape))))
    extent = prod(shape) if axis is None else shape[axis]
    flags = net.constant(net.numbers.random(net.random.randint(1, extent)) < 0.6)
    return net.add("Compress", [x, flags], **({} if axis is None else {"axis": axis}))


def gather_elements(net: Network) -> bool:
    """One element along an axis for each place."""
    if (x := any_map(net)) is None or not net.shape(x):
        return False
    shape = list(net.shape(x))
    axis = net.random.randrange(len(shape))
    extent = shape[axis]
    shape[axis] = net.random.randint(1, 4)
    numbers = net.numbers.integers(-extent, extent, shape)
    return net.add("GatherElements", [x, net.constant(numbers)], axis=axis)


def gather_nd(net: Network) -> bool:
    """Elements or blocks by their coordinates."""
    if (x := any_map(net)) is None or not net.shape(x):
        return False
    shape = net.shape(x)
    depth = net.random.randint(1, len(shape))
    places = (net.random.randint(1, 4),) * net.random.randint(1, 2)
    lists = [net.numbers.integers(-n, n, places) for n in shape[:depth]]
    return net.add("GatherND", [x, net.constant(np.stack(lists, -1))])


def reverse_sequence(net: Network) -> bool:
    """The front of each sequence backwards."""
    if (x := net.pick()) is None or len(net.shape(x)) < 2:
        return False
    batch = net.random.randint(0, 1)
    count, length = net.shape(x)[batch], net.shape(x)[1 - batch]
    lengths = net.constant(net.numbers.integers(1, length + 1, count))
    return net.add("ReverseSequence", [x, lengths], batch_axis=batch, time_axis=1 - batch)


def trilu(net: Network) -> bool:
    """The upper or the lower triangle."""
    if (x := net.pick()) is None or len(net.shape(x)) < 2:
        return False
    inputs = [x, net.constant(np.array(net.random.randint(-2, 3)))]
    return net.add("Trilu", inputs[: net.random.randint(1, 2)], upper=net.random.randint(0, 1))


def like_shape(net: Network) -> bool:
    """A map with the shape of another one, by Shape."""
    if (x := any_map(net)) is None:
        return False
    same = [name for name in net.data if prod(net.shape(name)) == prod(net.shape(x))]
    other = net.random.choice(same)
    return net.add("Shape", [other]) and net.add("Reshape", [x, net.last])


def by_size(net: Network) -> bool:
    """A map divided by the number of elements of another one."""
    if (x := net.pick()) is None:
        return False
    other = net.random.choice(list(net.data))
    if not (net.add("Size", [other]) and net.add("Cast", [net.last], to=1)):
        return False
    return net.add("Div", [x, net.last])


def upsample(net: Network) -> bool:
    """A larger map, as before opset 10."""
    if (x := net.pick(4)) is None:
        return False
    factors = [1.0, 1.0, *(net.random.choice((1.0, 2.0, 3.0, 1.5)) for _ in range(2))]
    scales = net.constant(np.array(factors, np.float32))
    return net.add("Upsample", [x, scales], mode=net.random.choice(("nearest", "linear")))


def integers_moved(net: Network) -> bool:
    """A map of integers in another shape or order, or a part of one, or two of them in one."""
    if (x := net.pick_of("int8", "uint8", "int32", "bool")) is None or not net.shape(x):
        return False
    shape, random = list(net.shape(x)), net.random
    kind = random.choice("Concat Flatten Gather Identity Reshape Slice Tile Transpose".split())
    axis = random.randrange(len(shape))
    match kind:
        case "Concat":
            return net.add(kind, [x, x], axis=axis)
        case "Gather":
            return net.add(kind, [x, net.ints([0, -1])], axis=axis)
        case "Reshape":
            random.shuffle(shape)
            return net.add(kind, [x, net.ints(shape)])
        case "Slice":
            step = random.choice((1, 2, -1))
            ends = (2**40, 0) if step > 0 else (-(2**40), -1)
            lists = ([ends[1]], [ends[0]], [axis], [step])
            return net.add(kind, [x, *map(net.ints, lists)])
        case "Tile":
            return net.add(kind, [x, net.ints([random.randint(1, 2) for _ in shape])])
        case "Transpose":
            return net.add(kind, [x], perm=random.sample(range(len(shape)), len(shape)))
        case _:
            return net.add(kind, [x])


MOVES: Mapping[str, Maker] = {
    "CenterCropPad": center_crop_pad,
    "Compress": compress,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ReverseSequence": reverse_sequence,
    "Shape": like_shape,
    "Size": by_size,
    "Trilu": trilu,
    "Upsample": upsample,
    "integers that are moved": integers_moved,
}
"""Makers by the operator that they add, or by what it is."""
