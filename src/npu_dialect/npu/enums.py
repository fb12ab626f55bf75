"""The words that properties of npu ops are made of, as enum attributes."""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum


class Mode(StrEnum):
    """The arithmetic that gives integers another scale."""

    FLOAT = "float"
    """A product with a float32 number."""
    FIXED = "fixed"
    """A product with an integer multiplier, and a shift."""
    QLINEAR = "qlinear"
    """That of onnxruntime's QLinear operators, where it differs from `FLOAT`."""
    HALF_UP = "half_up"
    """A product with an exact multiplier, rounded half up: the single rounding of TOSA."""
    DOUBLE_ROUND = "double_round"
    """The same, rounded to a finer step before: the double rounding of TOSA."""


class PoolKind(StrEnum):
    """What a pooling window computes."""

    MAX = "max"
    AVG = "avg"


class Overlap(StrEnum):
    """What happens to a convolution's value that several pooling windows hold."""

    ACCUMULATE = "accumulate"
    """It is computed once, and folded into every window."""
    RECOMPUTE = "recompute"
    """It is computed anew for each window."""


class Side(StrEnum):
    """Which summand a residual is."""

    FIRST = "first"
    SECOND = "second"


class Merge(StrEnum):
    """How a module merges its branches (paper 001, section 2, condition 3)."""

    CONCAT = "concat"
    ADD = "add"


class Policy(StrEnum):
    """Which maps of a module stay on chip (paper 001, Algorithm 6)."""

    BOTH = "I"
    """The module's IFM and its OFM."""
    INPUT = "II"
    """The module's IFM only."""


class Function(StrEnum):
    """A function of one number; `npu_dialect.npu.functions` has the formulas."""

    ABS = "abs"
    ACOS = "acos"
    ACOSH = "acosh"
    AFFINE = "affine"
    ASIN = "asin"
    ASINH = "asinh"
    ATAN = "atan"
    ATANH = "atanh"
    CEIL = "ceil"
    CELU = "celu"
    COS = "cos"
    COSH = "cosh"
    ELU = "elu"
    ERF = "erf"
    EXP = "exp"
    FLOOR = "floor"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    HARD_SIGMOID = "hard_sigmoid"
    HARD_SWISH = "hard_swish"
    LEAKY_RELU = "leaky_relu"
    LOG = "log"
    MISH = "mish"
    NEG = "neg"
    PRELU = "prelu"
    RECIPROCAL = "reciprocal"
    ROUND = "round"
    SCALED_TANH = "scaled_tanh"
    SELU = "selu"
    SHRINK = "shrink"
    SIGMOID = "sigmoid"
    SIGN = "sign"
    SILU = "silu"
    SIN = "sin"
    SINH = "sinh"
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"
    SQRT = "sqrt"
    SWISH = "swish"
    TAN = "tan"
    TANH = "tanh"
    THRESHOLDED_RELU = "thresholded_relu"


@irdl_attr_definition
class FunctionNameAttr(EnumAttribute[Function], SpacedOpaqueSyntaxAttribute):
    """`#npu<function_name silu>`."""

    name = "npu.function_name"


class BinaryKind(StrEnum):
    """What a layer computes of two elements, a of lhs and b of rhs."""

    SUB = "sub"
    """a - b."""
    MUL = "mul"
    """a * b."""
    DIV = "div"
    """a / b; of integers it is rounded towards zero, and a quotient by zero is 0."""
    MAX = "max"
    """The greater one; NaN if one of them is."""
    MIN = "min"
    """The smaller one; NaN if one of them is."""
    POW = "pow"
    """a to the power b."""
    MOD = "mod"
    """The rest of a / b, with the sign of b; of integers it is 0 if b is 0."""
    REM = "rem"
    """The rest of a / b, with the sign of a; of integers it is 0 if b is 0."""
    EQUAL = "equal"
    NOT_EQUAL = "not_equal"
    LESS = "less"
    LESS_OR_EQUAL = "less_or_equal"
    GREATER = "greater"
    GREATER_OR_EQUAL = "greater_or_equal"
    AND = "and"
    OR = "or"
    XOR = "xor"


COMPARISONS = (
    BinaryKind.EQUAL,
    BinaryKind.NOT_EQUAL,
    BinaryKind.LESS,
    BinaryKind.LESS_OR_EQUAL,
    BinaryKind.GREATER,
    BinaryKind.GREATER_OR_EQUAL,
)
"""The kinds whose result is 1 where the comparison holds, and 0 elsewhere."""

LOGICAL = (BinaryKind.AND, BinaryKind.OR, BinaryKind.XOR)
"""The kinds that work on the bits of two integers."""


class ReduceKind(StrEnum):
    """What a layer computes of all elements x along the reduced axes."""

    MEAN = "mean"
    """The mean; of integers it is rounded towards zero."""
    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    L1 = "l1"
    """The sum of |x|."""
    L2 = "l2"
    """The square root of the sum of x * x."""
    LOG_SUM = "log_sum"
    """The logarithm of the sum."""
    LOG_SUM_EXP = "log_sum_exp"
    """The logarithm of the sum of e^x, without overflow."""
    SUM_SQUARE = "sum_square"
    """The sum of x * x."""
    ARGMAX = "argmax"
    """The index of the greatest element along one axis."""
    ARGMIN = "argmin"
    """The index of the smallest element along one axis."""


class Cell(StrEnum):
    """How a recurrent layer computes a state from the one before it."""

    RNN = "rnn"
    """A sum and a function."""
    GRU = "gru"
    """A gated recurrent unit: an update gate, a reset gate, a hidden gate."""
    LSTM = "lstm"
    """Long short-term memory: an input gate, an output gate, a forget gate, a cell gate."""


@irdl_attr_definition
class CellAttr(EnumAttribute[Cell], SpacedOpaqueSyntaxAttribute):
    """`#npu<cell lstm>`."""

    name = "npu.cell"


@irdl_attr_definition
class BinaryKindAttr(EnumAttribute[BinaryKind], SpacedOpaqueSyntaxAttribute):
    """`#npu<binary_kind sub>`."""

    name = "npu.binary_kind"


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """`#npu<reduce_kind mean>`."""

    name = "npu.reduce_kind"


@irdl_attr_definition
class ModeAttr(EnumAttribute[Mode], SpacedOpaqueSyntaxAttribute):
    """`#npu<mode float>`."""

    name = "npu.mode"


@irdl_attr_definition
class PoolKindAttr(EnumAttribute[PoolKind], SpacedOpaqueSyntaxAttribute):
    """`#npu<pool_kind max>`."""

    name = "npu.pool_kind"


@irdl_attr_definition
class SideAttr(EnumAttribute[Side], SpacedOpaqueSyntaxAttribute):
    """`#npu<side first>`."""

    name = "npu.side"


@irdl_attr_definition
class MergeAttr(EnumAttribute[Merge], SpacedOpaqueSyntaxAttribute):
    """`#npu<merge concat>`."""

    name = "npu.merge"


@irdl_attr_definition
class PolicyAttr(EnumAttribute[Policy], SpacedOpaqueSyntaxAttribute):
    """`#npu<policy I>`."""

    name = "npu.policy"
