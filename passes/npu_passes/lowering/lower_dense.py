"""Lower fully connected layers to loops: up to 6 outputs share each load of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue

from npu_dialect.npu import FullyConnectedOp
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.epilogue import Epilogue, Operands
from npu_passes.lowering.float_weights import FloatWeights, load_row
from npu_passes.lowering.kernels.constants import largest_sums_of
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import store
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import divisor
from npu_plans.kernels.float_plan import features_at_once, inputs_at_once

STRAIGHT = {True: 64, False: 32}
"""The most multiply-accumulates in one iteration of the inner loop, with an FPU for them or not."""
MOST_OUTPUTS = {True: 6, False: 4}
"""The most outputs at once: each needs a pointer to its weights, and integers a register more."""


@dataclass(frozen=True)
class Products:
    """Adds the products of some inputs to the sums of a block of outputs."""

    b: LoopBuilder
    op: FullyConnectedOp
    block: int
    weights: FloatWeights | None
    """The weights in the order of their loads; None to load each by itself."""

    def __call__(
        self, n: Index, o: Index, i: Index, size: int, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The sums of the outputs from `o` on, with `size` inputs from `i` on."""
        if self.weights is not None:
            return self.at_once(self.weights, n, o, i, size, sums)
        b, op, operands = self.b, self.op, Operands(self.b, self.op)
        patch = b.window(op.input, (n, i), (1, size), (1,), "x")
        rows = [
            b.window(op.weight, (b.add(o, f), i), (1, size), (1,), "taps")
            for f in range(self.block)
        ]
        current = list(sums)
        for k in range(size):
            value = operands.input(b.load(patch, (k,), "v"))
            for f, row in enumerate(rows):
                current[f] = b.mac(current[f], value, operands.weight(b.load(row, (k,), "w")))
        return current

    def at_once(
        self,
        weights: FloatWeights,
        n: Index,
        o: Index,
        i: Index,
        size: int,
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """The same with loads of several floats: all inputs, then weights of some of them."""
        b, block, step = self.b, self.block, features_at_once(self.block)
        row = b.window(self.op.input, (n, i), (1, size), (1,), "x")
        values, part = load_row(b, row, size, step * block), weights.part(o, i, size)
        current = list(sums)
        for first in range(0, size, step):
            some = values[first : first + step]
            taps = weights.load(part, first, len(some))
            for place, (value, f) in enumerate(product(some, range(block))):
                current[f] = b.mac(current[f], value, taps[place])
        return current


def lower_fully_connected(
    b: LoopBuilder, op: FullyConnectedOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops of a fully connected layer."""
    images, depth = shape_of(op.input)
    features = shape_of(op.weight)[0]
    floats = op.zero_points is None and options.registers > 0
    block = divisor(features, max(1, min(MOST_OUTPUTS[floats], options.registers // 5)))
    epilogue = Epilogue(b, op, out, None if b.has_floats else largest_sums_of(op, options))
    width = max(1, min(STRAIGHT[floats] // block, options.unroll // block, depth))
    weights = FloatWeights.of(b, op, block, options)
    if weights is not None:
        width = inputs_at_once(block, width, options.registers, depth)
    products = Products(b, op, block, weights)

    def start(n: Index, o: Index) -> SSAValue:
        if op.accumulate is not None:
            return b.load(out, (n, o), "sum")
        return epilogue.zero() if op.bias is None else b.load(op.bias, (o,), "bias")

    def outputs(n: Index, o: Index, _: Sequence[SSAValue]) -> tuple[()]:
        sums: Sequence[SSAValue] = [start(n, b.add(o, f)) for f in range(block)]
        even = depth // width * width
        sums = b.loop(
            0,
            even,
            lambda i, s: products(n, o, i, width, s),
            sums,
            step=width,
            hint="i",
            carry="acc",
        )
        if even < depth:
            sums = products(n, o, even, depth - even, sums)
        for f, value in enumerate(sums):
            channel = b.add(o, f)
            store(b, epilogue(value, channel), out, (n, channel))
        return ()

    def image(n: Index, _: Sequence[SSAValue]) -> tuple[()]:
        b.loop(0, features, lambda o, s: outputs(n, o, s), step=block, hint="o")
        return ()

    b.loop(0, images, image, hint="n")
