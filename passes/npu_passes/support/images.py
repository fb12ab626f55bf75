"""Images that the caller gives with channels last, as `tosa` and TensorFlow have them.

    %x = npu.transpose %image perm [0, 3, 1, 2] : tensor<1x32x32x3xf32> -> tensor<1x3x32x32xf32>
    %y = npu.conv2d %x, %w ...

Layers with windows read such an image where it lies. Its rows follow each other in memory, as those
of a map that is stored row by row do.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layers import TransposeOp
from npu_dialect.npu.maps import map_type

CHANNELS_SECOND = (0, 3, 1, 2)
"""The permutation that brings channels from the last axis to the second."""


def takes_image(op: TransposeOp) -> bool:
    """Whether a transposition, on tensors or buffers, brings the channels of an image to the front.

    The image is a float input of the function.
    """
    given = isinstance(op.input, BlockArgument) and isinstance(op.parent_op(), FuncOp)
    floats = map_type(op.input).get_element_type() == f32
    return given and floats and int_values(op.perm) == CHANNELS_SECOND
