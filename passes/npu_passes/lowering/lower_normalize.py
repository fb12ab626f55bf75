"""Lower normalisations to loops: three runs over the elements that share a mean.

Two runs find mean and variance, as the variance of differences to the mean is exact also if the
mean is large. The first run sums up differences to one element for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layers.normalize import NormalizeOp
from npu_dialect.npu.maps import shape_of
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.loop_builder import Index, LoopBuilder

LANES = 4
"""Partial sums of one run: an addition need not wait for the one before it."""

At = tuple[Index, ...]


def lower_normalize(b: LoopBuilder, op: NormalizeOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of a normalisation."""
    shape, axes = shape_of(op.input), int_values(op.axes)
    others = [axis for axis in range(len(shape)) if axis not in axes]
    for_each(b, [shape[axis] for axis in others], lambda at: Group(b, op, out, others, at).build())


@dataclass(frozen=True)
class Group:
    """The elements that share a mean: index `at` along the axes `others`."""

    b: LoopBuilder
    op: NormalizeOp
    out: SSAValue
    others: Sequence[int]
    at: At

    def build(self) -> None:
        """Build the statistics, then the results."""
        b, op = self.b, self.op
        mean = None
        if op.rms is None:
            origin = b.load(op.input, self.place((0,) * len(int_values(op.axes))), "origin")
            total = self.total(lambda total, x: b.addf(total, b.subf(x, origin), "total"))
            mean = b.addf(origin, b.divf(total, b.real(float(op.count))), "mean")

        def square(total: SSAValue, x: SSAValue) -> SSAValue:
            distance = x if mean is None else b.subf(x, mean)
            return b.mac(total, distance, distance, "total")

        variance = b.divf(self.total(square), b.real(float(op.count)), "variance")
        deviation = b.sqrt(b.addf(variance, b.real(op.epsilon.value.data)))
        factor = b.divf(b.real(1.0), deviation, "factor")
        for_each(b, self.extents, lambda inner: self.put(inner, mean, factor), ("x", "y", "z"))

    def put(self, inner: At, mean: SSAValue | None, factor: SSAValue) -> None:
        """Normalise one element."""
        b, at = self.b, self.place(inner)
        value = b.load(self.op.input, at)
        value = b.mulf(value if mean is None else b.subf(value, mean), factor)
        scale, bias = (self.broadcast(each, at) for each in (self.op.scale, self.op.bias))
        if scale is not None and bias is not None:
            value = b.mac(bias, value, scale, "y")
        elif scale is not None:
            value = b.mulf(value, scale)
        b.store(value, self.out, at)

    def broadcast(self, map: SSAValue | None, at: At) -> SSAValue | None:
        """The element of scale or bias for the element `at` of the map; None if left out."""
        if map is None:
            return None
        extents = shape_of(map)
        own = at[len(at) - len(extents) :]
        return self.b.load(map, [0 if n == 1 else i for i, n in zip(own, extents, strict=True)])

    @property
    def extents(self) -> list[int]:
        """The extents of the group along the axes of the layer."""
        shape = shape_of(self.op.input)
        return [shape[axis] for axis in int_values(self.op.axes)]

    def place(self, inner: At) -> At:
        """The index of an element in the map, from its index along the axes of the layer."""
        known = dict(
            zip((*int_values(self.op.axes), *self.others), (*inner, *self.at), strict=True)
        )
        return tuple(known[axis] for axis in sorted(known))

    def total(self, add: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """The sum over the group; `add` adds what an element counts to a sum."""
        b = self.b
        *outer, last = self.extents
        even = last // LANES * LANES

        def line(at: At, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def lanes(i: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
                return [
                    add(total, b.load(self.op.input, self.place((*at, b.add(i, lane)))))
                    for lane, total in enumerate(sums)
                ]

            sums = b.loop(0, even, lanes, sums, step=LANES, hint="x", carry="lane")
            for i in range(even, last):
                element = b.load(self.op.input, self.place((*at, i)))
                sums = [add(sums[0], element), *sums[1:]]
            return sums

        def nest(at: At, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if len(at) == len(outer):
                return line(at, sums)
            return b.loop(0, outer[len(at)], lambda i, s: nest((*at, i), s), sums, carry="lane")

        sums = nest((), [b.real(0.0)] * LANES)
        return b.addf(b.addf(sums[0], sums[1]), b.addf(sums[2], sums[3]), "total")
