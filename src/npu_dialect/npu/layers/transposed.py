"""Transposed convolution, and its phases: the plain convolutions that it consists of."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, inf, prod
from typing import ClassVar, Unpack

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layers.convolving import ConvolutionOp, Sliding
from npu_dialect.npu.layers.weighted import check_elements
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.syntax import ints_clause


@dataclass(frozen=True)
class Phase:
    """The outputs `start`, `start + stride`, ... of a transposed axis, as a plain convolution.

    It reads taps `first`, `first + step`, ..., `taps` of them, in reverse order, with the given
    `dilation`, stride 1, and `before` and `after` elements of padding. A negative number takes
    elements away. Without taps on the input, all outputs are the bias, and `taps` is 0.
    """

    start: int
    outputs: int
    first: int
    step: int
    taps: int
    dilation: int
    before: int
    after: int


@dataclass(frozen=True)
class TransposedAxis:
    """One spatial axis of a transposed convolution, with sizes in elements.

    Tap k of input i is added to output `i * stride + k * dilation - before`. The outputs end
    `after` elements before the last one that a tap reaches; negative pads add outputs instead.
    """

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    dilation: int

    @property
    def outputs(self) -> int:
        """The number of outputs; below 1 if the pads take all of them."""
        reach = (self.kernel - 1) * self.dilation + 1
        return (self.size - 1) * self.stride + reach - self.before - self.after

    def phases(self) -> tuple[Phase, ...]:
        """The phases of the axis: output `start + q * stride` is number q of phase `start`."""
        return tuple(self.phase(start) for start in range(min(self.stride, self.outputs)))

    def phase(self, start: int) -> Phase:
        """The phase that has output `start`, which is below the stride.

        Taps k with (k * dilation) % stride == (start + before) % stride meet its outputs. They are
        `stride / gcd(stride, dilation)` apart.
        """
        shift, rest = divmod(start + self.before, self.stride)
        common = gcd(self.stride, self.dilation)
        step, dilation = self.stride // common, self.dilation // common
        outputs = -(-(self.outputs - start) // self.stride)
        hits = [k for k in range(min(step, self.kernel)) if k * self.dilation % self.stride == rest]
        if hits:
            first = hits[0]
            taps = -(-(self.kernel - first) // step)
            reach = (taps - 1) * dilation
            before = reach - shift + (first * self.dilation - rest) // self.stride
            after = outputs - 1 + reach - before - (self.size - 1)
            if self.size + min(0, before) + min(0, after) > 0:
                return Phase(start, outputs, first, step, taps, dilation, before, after)
        return Phase(start, outputs, 0, step, 0, dilation, 0, 0)


@irdl_op_definition
class ConvTranspose2dOp(ConvolutionOp):
    """Transposed convolution (ONNX ConvTranspose): each input adds its kernel to the output.

    Tap [ky, kx] of input [y, x] is added to output [y * SH + ky * DH - top, x * SW + kx * DW -
    left], for strides [SH, SW] and dilations [DH, DW]. Input [N, C, H, W], weight [O, C / groups,
    KH, KW], bias [O]. The pads (top, left, bottom, right) take rows and columns away from the
    output; negative pads add some. `zero_points [input, weight]` is as in `npu.conv2d`.

    `npu-split-conv-transpose` turns it into convolutions, so there is no form in destination style.

    ```mlir
    %y = npu.conv_transpose2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1]
        : (tensor<1x8x5x5xf32>, tensor<4x8x4x4xf32>, tensor<4xf32>) -> tensor<1x4x10x10xf32>
    ```
    """

    name = "npu.conv_transpose2d"

    CLAUSES: ClassVar = (*ConvolutionOp.CLAUSES, ints_clause("zero_points", optional=True))

    def __init__(
        self,
        input: SSAValue,
        weight: SSAValue,
        bias: SSAValue | None,
        out: SSAValue | Attribute,
        **sliding: Unpack[Sliding],
    ) -> None:
        super().__init__([input, weight, bias], out, {}, **sliding)

    def axes(self) -> tuple[TransposedAxis, TransposedAxis]:
        """The rows and the columns."""
        return self.slid_axes(TransposedAxis)

    def infer_shape(self) -> tuple[int, ...]:
        """[N, O, OH, OW]."""
        if self.destination is not None:
            raise VerifyException("expected a tensor: run npu-split-conv-transpose")
        batch, filters = self.images_and_filters(least_pad=-inf)
        outputs = tuple(axis.outputs for axis in self.axes())
        if min(outputs) < 1:
            raise VerifyException(
                f"expected pads that leave at least 1 output, got {list(int_values(self.pads))} "
                f"and {list(outputs)} outputs"
            )
        return (batch, filters, *outputs)

    def macs(self) -> int:
        """Multiply-accumulates: each tap meets each input once, pads included."""
        filters, _, *kernel = shape_of(self.weight)
        return prod(shape_of(self.input)) * filters // self.group_count * prod(kernel)

    def verify_elements(self, element: Attribute) -> None:
        """Check the element types, and that nothing is behind the sums."""
        if self.epilogue is not None or self.accumulate is not None:
            raise VerifyException("expected plain sums: what follows is fused into the phases")
        check_elements(self, element)
