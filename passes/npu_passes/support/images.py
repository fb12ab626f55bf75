"""Images that the caller gives with channels last, as `tosa` and TensorFlow have them.

    %x = npu.transpose %image perm [0, 3, 1, 2] : tensor<1x32x32x3xi8> -> tensor<1x3x32x32xi8>
    %y = npu.conv2d %x, %w ...

Layers with windows read such an image where it lies. Its rows follow each other in memory, as those
of a map that is stored row by row do.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layers import Conv2dOp, PoolOp, TransposeOp

CHANNELS_SECOND = (0, 3, 1, 2)
"""The permutation that brings channels from the last axis to the second."""


READERS = (Conv2dOp, PoolOp)
"""The layers that read an image where it lies."""


def takes_image(op: TransposeOp) -> bool:
    """Whether a transposition, on tensors or buffers, brings the channels of an image to the front.

    The image is an input of the function.
    """
    given = isinstance(op.input, BlockArgument) and isinstance(op.parent_op(), FuncOp)
    return given and int_values(op.perm) == CHANNELS_SECOND


def is_image_view(op: Operation | Block) -> bool:
    """Whether an op on tensors transposes an image, and all that read it read it in place."""
    if not isinstance(op, TransposeOp) or not takes_image(op):
        return False
    return all(isinstance(use.operation, READERS) for use in op.results[0].uses)
