"""Named ops of `linalg` that xDSL lacks: pools, depthwise convolutions, products of matrices.

    %y = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, ...}
        ins(%x, %window : ...) outs(%start : ...) -> tensor<1x4x4x8xf32>

Each op is a line of `OPS`. Its loops have letters, the reductions last, and each operand the
letters of the loops by which it is indexed. `H` stands for `h * stride + k * dilation`, `W` for the
same of `w` and `l`. The ops have the bodies and indexing maps of MLIR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DenseIntElementsAttr, IntegerType
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.linalg.abstract_ops import NamedOperation
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, BlockArgument, Dialect, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, opt_prop_def
from xdsl.utils.hints import isa

Body = Callable[[Sequence[SSAValue], Attribute], SSAValue]
"""Builds the body of an op from its arguments and the type of the last one."""


def widened(value: SSAValue, type_: Attribute) -> SSAValue:
    """A number in a wider type of its kind."""
    if value.type == type_:
        return value
    if isa(type_, IntegerType):
        return arith.ExtSIOp(value, type_).result
    assert isinstance(type_, AnyFloat)
    return arith.ExtFOp(value, type_).result


def combined(kinds: tuple[Any, Any], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """An op of two numbers: the first kind for floats, the second for integers."""
    return kinds[isinstance(lhs.type, IntegerType)](lhs, rhs).result


ADD, MUL = (arith.AddfOp, arith.AddiOp), (arith.MulfOp, arith.MuliOp)
MAX = (arith.MaximumfOp, arith.MaxSIOp)


def product(args: Sequence[SSAValue], type_: Attribute) -> SSAValue:
    """out + a * b; behind the factors there may be their zero points."""
    factors = [widened(value, type_) for value in args[:2]]
    if len(args) == 5:
        factors = [arith.SubiOp(*pair).result for pair in zip(factors, args[2:4], strict=True)]
    return combined(ADD, args[-1], combined(MUL, factors[0], factors[1]))


def largest(args: Sequence[SSAValue], type_: Attribute) -> SSAValue:
    """max(out, a)."""
    return combined(MAX, args[-1], widened(args[0], type_))


def total(args: Sequence[SSAValue], type_: Attribute) -> SSAValue:
    """out + a."""
    return combined(ADD, args[-1], widened(args[0], type_))


class Loops(NamedTuple):
    """The loops of an op, how many of them are reductions, and the rest of its meaning."""

    letters: str
    reductions: int
    indices: tuple[str, ...]
    """The indices of each operand."""
    body: Body


class LoopsOp(NamedOperation):
    """A named op whose loops and operands have letters; see the module."""

    PRINT_ATTRS_IN_FRONT: ClassVar[bool] = True

    strides = opt_prop_def(DenseIntElementsAttr)
    dilations = opt_prop_def(DenseIntElementsAttr)

    @classmethod
    def get_hidden_region(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
        """The body of the op."""
        types = cls.body_arg_types((*inputs, *outputs))

        @Builder.implicit_region(types)
        def region(args: tuple[BlockArgument, ...]) -> None:
            YieldOp(loops_of(cls).body(args, types[-1]))

        return region

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        """A map for each operand."""
        loops = loops_of(type(self))
        dims = {name: AffineDimExpr(place) for place, name in enumerate(loops.letters)}
        known: dict[str, AffineExpr] = {**dims}
        steps = zip(two(self.strides), two(self.dilations), "HW", "hw", "kl", strict=True)
        for stride, dilation, name, outer, inner in steps:
            if outer in dims and inner in dims:
                known[name] = dims[outer] * stride + dims[inner] * dilation
        return tuple(
            AffineMap(len(dims), 0, tuple(known[name] for name in names)) for names in loops.indices
        )

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        """Parallel loops, then reductions."""
        loops = loops_of(type(self))
        outer = len(loops.letters) - loops.reductions
        return ArrayAttr(
            [IteratorTypeAttr.parallel()] * outer
            + [IteratorTypeAttr.reduction()] * loops.reductions
        )


def two(attribute: DenseIntElementsAttr | None) -> tuple[int, int]:
    """Two strides or dilations; 1 where there are none."""
    if attribute is None:
        return 1, 1
    first, second = attribute.get_values()
    return first, second


Q = ("", "")
"""The indices of two zero points, which are scalars."""

OPS: Mapping[str, Loops] = {
    "batch_matmul": Loops("bmnk", 1, ("bmk", "bkn", "bmn"), product),
    "batch_matmul_transpose_b": Loops("bmnk", 1, ("bmk", "bnk", "bmn"), product),
    "matmul_transpose_b": Loops("mnk", 1, ("mk", "nk", "mn"), product),
    "conv_2d_nchw_fchw_q": Loops("nfhwckl", 3, ("ncHW", "fckl", *Q, "nfhw"), product),
    "conv_2d_nhwc_fhwc_q": Loops("nhwfklc", 3, ("nHWc", "fklc", *Q, "nhwf"), product),
    "conv_2d_nhwc_hwcf_q": Loops("nhwfklc", 3, ("nHWc", "klcf", *Q, "nhwf"), product),
    "depthwise_conv_2d_nchw_chw": Loops("nhwckl", 2, ("ncHW", "ckl", "nchw"), product),
    "depthwise_conv_2d_nhwc_hwc": Loops("nhwckl", 2, ("nHWc", "klc", "nhwc"), product),
    "depthwise_conv_2d_nhwc_hwc_q": Loops("nhwckl", 2, ("nHWc", "klc", *Q, "nhwc"), product),
    "depthwise_conv_2d_nhwc_hwcm": Loops("nhwcmkl", 2, ("nHWc", "klcm", "nhwcm"), product),
    "depthwise_conv_2d_nhwc_hwcm_q": Loops("nhwcmkl", 2, ("nHWc", "klcm", *Q, "nhwcm"), product),
    "pooling_nchw_sum": Loops("nchwkl", 2, ("ncHW", "kl", "nchw"), total),
    "pooling_nhwc_max": Loops("nhwckl", 2, ("nHWc", "kl", "nhwc"), largest),
    "pooling_nhwc_sum": Loops("nhwckl", 2, ("nHWc", "kl", "nhwc"), total),
}
"""The loops of each op."""


def loops_of(op: type[LoopsOp]) -> Loops:
    """The loops of an op."""
    return OPS[op.name.removeprefix("linalg.")]


def definition(name: str) -> type[Operation]:
    """The op of a line of `OPS`."""
    title = "".join(word.capitalize() for word in name.split("_"))
    made: Any = type(f"{title}Op", (LoopsOp,), {"name": f"linalg.{name}"})
    made.__doc__ = f"`linalg.{name}`, as in MLIR."
    return irdl_op_definition(made)


LINALG = Dialect("linalg", [*Linalg.operations, *map(definition, OPS)], [*Linalg.attributes])
"""xDSL's dialect, with the ops of this file."""
