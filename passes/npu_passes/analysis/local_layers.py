"""Layers whose outputs depend on few elements of their input, in the same place of the map.

Level of IR: layers on tensors or on buffers; nothing is changed.
"""

from __future__ import annotations

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, PruneZeroBlocksOp
from npu_dialect.npu.maps import shape_of
from npu_passes.support.channel_scales import has_channel_scales


def computes_elements(op: LayerOp) -> bool:
    """Whether each element of a layer's output depends on the same one of its only input.

    A tile may have any channels, so all have the same numbers. Whether `npu.prune_zero_blocks`
    makes an element zero depends on those around it.
    """
    plain = op.ELEMENTWISE and len(op.inputs) == 1 and not isinstance(op, PruneZeroBlocksOp)
    return plain and not has_channel_scales(op)


def computes_channels(op: Conv2dOp) -> bool:
    """Whether each channel of a convolution's output depends on that channel of its input only.

    Its maps have one shape, and all channels the same numbers but their kernels.
    """
    return op.could_gather_in_place and op.residual is None and not has_channel_scales(op)


def computes_pixels(op: Conv2dOp) -> bool:
    """Whether each pixel of a convolution's output depends on all channels of that input pixel."""
    plain = (
        op.group_count == 1 and not any(int_values(op.pads)) and set(int_values(op.strides)) == {1}
    )
    return plain and tuple(shape_of(op.weight)[2:]) == (1, 1) and op.pool is None
