"""Layers that become convolutions whose outputs take turns: their phases (on tensors).

    %even = npu.conv2d %x, %w0 ...
    %odd = npu.conv2d %x, %w1 ...
    %a = npu.relu %even : ...
    %b = npu.relu %odd : ...
    %r = npu.interleave %a, %b steps [1, 1, 1, 2] : ...

Activations, batch normalisations and requantisations behind the layer move in front of
`npu.interleave`, so that other passes can fuse them into the phases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from npu_dialect.attributes import VALUE
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    ActivationOp,
    BatchNormOp,
    Conv2dOp,
    ConvTranspose2dOp,
    InterleaveOp,
    RequantizeOp,
    SliceOp,
)
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.windows import Axis
from npu_passes.graph.constants import Array, constant_like
from npu_passes.graph.fold_batch_norm import erase_unused

MOVED = (ActivationOp, BatchNormOp, RequantizeOp)
"""Layers that a convolution can take in, and that work on each element by itself."""


@dataclass(frozen=True)
class Phase:
    """A plain convolution that computes every few rows and columns of a layer's output.

    `weight`: its weights. `axes`: its windows over the rows and columns of the input; a negative
    pad takes elements of the input away.
    """

    weight: Array
    axes: tuple[Axis, Axis]

    def build(self, op: Conv2dOp | ConvTranspose2dOp, source: SSAValue) -> list[Operation]:
        """The ops of the phase of `op` that reads `source`; the last one is the convolution."""
        constant = constant_like(self.weight, op.weight)
        before = [max(0, -axis.before) for axis in self.axes]
        after = [max(0, -axis.after) for axis in self.axes]
        made: list[Operation] = [constant]
        if any((*before, *after)):
            batch, channels, *extents = shape_of(source)
            sizes = [n - a - b for n, a, b in zip(extents, before, after, strict=True)]
            shape = (batch, channels, *sizes)
            type_ = TensorType(map_type(source).get_element_type(), shape)
            made.append(SliceOp(source, (0, 0, *before), shape, (1,) * 4, type_))
            source = made[-1].results[0]
        rows, columns = self.axes
        outputs = (shape_of(op.output)[0], self.weight.shape[0], rows.outputs, columns.outputs)
        layer = Conv2dOp(
            source,
            constant.result,
            op.bias,
            TensorType(op.output_type.get_element_type(), outputs),
            strides=[axis.stride for axis in self.axes],
            pads=[max(0, pad) for pad in (*pads_before(self.axes), *pads_after(self.axes))],
            dilations=[axis.dilation for axis in self.axes],
            groups=op.group_count,
            zero_points=None if op.zero_points is None else int_values(op.zero_points),
        )
        return [*made, layer]


def pads_before(axes: Sequence[Axis]) -> list[int]:
    """The pads before axes."""
    return [axis.before for axis in axes]


def pads_after(axes: Sequence[Axis]) -> list[int]:
    """The pads after axes."""
    return [axis.after for axis in axes]


def follower(value: SSAValue, moved: tuple[type[LayerOp], ...]) -> LayerOp | None:
    """The layer of the kinds `moved` that is the only user of a value; else None."""
    user = value.get_user_of_unique_use()
    return user if isinstance(user, moved) and user.destination is None else None


def applied(layer: LayerOp, part: LayerOp) -> LayerOp:
    """A layer of `MOVED`, for a part of its input."""
    _, *parameters = layer.inputs
    element = layer.output_type.get_element_type()
    out = TensorType(element, shape_of(part.output))
    made = layer.rebuilt([part.output, *parameters], out)
    VALUE.drop(made)
    return made


def replace_by_phases(
    op: Conv2dOp | ConvTranspose2dOp,
    source: SSAValue,
    phases: Sequence[Phase],
    steps: tuple[int, int],
    rewriter: PatternRewriter,
) -> None:
    """Replace a layer, and what can move into it, by phases that read `source`.

    `steps`: how many rows and columns of phases take turns.
    """
    made: list[Operation] = []
    parts: list[LayerOp] = []
    for phase in phases:
        *operands, layer = phase.build(op, source)
        assert isinstance(layer, LayerOp)
        layer.attributes |= op.attributes
        made += operands
        parts.append(layer)
    made += parts
    if len(parts) == 1:
        rewriter.insert(made, InsertPoint.before(op))
        rewriter.replace(op, [], [parts[0].output])
    else:
        replace_by_parts(
            op, made, parts, lambda values, out: InterleaveOp(values, (1, 1, *steps), out), rewriter
        )
    erase_unused(op.parameter_inputs, rewriter)


def replace_by_parts(
    op: LayerOp,
    made: Sequence[Operation],
    parts: Sequence[LayerOp],
    join: Callable[[Sequence[SSAValue], Attribute], LayerOp],
    rewriter: PatternRewriter,
    moved: tuple[type[LayerOp], ...] = MOVED,
) -> None:
    """Replace a layer by the new ops `made`, of which `parts` compute its parts.

    Layers of the kinds `moved` behind the op are applied to each part. `join` makes the layer that
    puts parts together to a map of some type.
    """
    for part in parts:
        VALUE.drop(part)
    new, chain = list(made), [op]
    while (layer := follower(chain[-1].output, moved)) is not None:
        parts = [applied(layer, part) for part in parts]
        new += parts
        chain.append(layer)
    last = chain[-1]
    whole = join([part.output for part in parts], last.results[0].type)
    whole.attributes |= last.attributes
    rewriter.insert([*new, whole], InsertPoint.before(last))
    rewriter.replace(last, [], [whole.output])
    for each in reversed(chain[:-1]):
        rewriter.erase(each)
