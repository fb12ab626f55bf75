"""The loops over tiles of layers that move or resample elements, and the ops of their tiles.

Level of IR: layers in destination style; nothing is changed. An axis with a list of indices is
needed as a whole by every tile, unless it has each element in order, the same number of times.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layers import PickOp, ResampleOp, TransposeOp
from npu_dialect.npu.layers.picking import picks_array
from npu_dialect.npu.maps import shape_of
from npu_dialect.runs import Run
from npu_dialect.windows import Axis
from npu_plans.tiles.operand_regions import Along, Loop, Space


def moving_space(op: PickOp | ResampleOp | TransposeOp, names: Sequence[str]) -> Space:
    """The loops of a layer; `names` are those of the loops over the axes of its output."""
    if isinstance(op, TransposeOp):
        return transpose_space(op, names)
    whole = set(op.by_axis) if isinstance(op, ResampleOp) else set(op.runs)
    repeats = repeated(op) if isinstance(op, PickOp) else {}
    loops: list[Loop] = []
    source: list[Along] = []
    target: list[Along] = []
    extents = zip(names, shape_of(op.input), shape_of(op.output), strict=True)
    for axis, (name, extent, size) in enumerate(extents):
        each = 1 if axis not in whole else repeats.get(axis)
        if each is None:
            source.append(Along(extent))
            target.append(Along(size))
            continue
        loops.append(Loop(name, extent))
        source.append(Along(extent, name))
        windows = (Axis(size, each, each),) if each > 1 else ()
        target.append(Along(size, name, windows))
    return Space(tuple(loops), (tuple(source), tuple(target)))


def transpose_space(op: TransposeOp, names: Sequence[str]) -> Space:
    """The loops of a transpose: output axis i follows input axis perm[i]."""
    shape, perm = shape_of(op.output), int_values(op.perm)
    loops = tuple(Loop(name, extent) for name, extent in zip(names, shape, strict=True))
    output = tuple(Along(extent, name) for name, extent in zip(names, shape, strict=True))
    source = tuple(output[perm.index(axis)] for axis in range(len(shape)))
    return Space(loops, (source, output))


def repeated(op: PickOp) -> dict[int, int]:
    """How often each element of an axis is repeated, for axes with all their elements in order."""
    extents = shape_of(op.input)
    return {
        axis: runs[0].each
        for axis, runs in op.runs.items()
        if runs == (Run(0, extents[axis], each=runs[0].each),)
    }


def tile_pick(op: PickOp, inputs: Sequence[SSAValue], out: SSAValue) -> PickOp:
    """The op that computes one tile from `inputs` into `out`: it repeats what the tile has."""
    new = op.rebuilt(inputs, out)
    own = {
        axis: (Run(0, shape_of(inputs[0])[axis], each=each),) for axis, each in repeated(op).items()
    }
    new.properties["picks"] = picks_array({**op.runs, **own})
    return new
