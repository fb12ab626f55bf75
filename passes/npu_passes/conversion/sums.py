"""Makes one layer of the ops in which `tosa` says the sum of two quantised maps.

    %a = npu.requantize %x scales [524288.0] zero_points [-3, 0] mode half_up : ... -> tensor<8xi32>
    %b = npu.requantize %y scales [262144.0] zero_points [5, 0] mode half_up : ... -> tensor<8xi32>
    %s = npu.add %a, %b : ... -> tensor<8xi32>
    %q = npu.requantize %s scales [0.0009765625] zero_points [0, 7] mode half_up : ...
becomes
    %q = npu.quantized_add %x, %y scales [524288.0, 262144.0, 0.0009765625] zero_points [-3, 5, 7]
        mode half_up : (tensor<8xi8>, tensor<8xi8>) -> tensor<8xi8>

The maps of four bytes an element never exist then.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.layers import AddOp, QuantizedAddOp, RequantizeOp
from npu_dialect.npu.quantization import EXACT, QUANTISED
from npu_passes.conversion.builder import element_of
from npu_passes.support.names import take_value_name


def fuse_sums(module: ModuleOp) -> None:
    """Fuse all sums of a module."""
    for op in [op for op in module.walk() if isinstance(op, RequantizeOp)]:
        layer = sum_of(op)
        if layer is not None:
            total, result = op.input.owner, op.results[0]
            assert isinstance(total, AddOp)
            Rewriter.insert_op(layer, InsertPoint.before(op))
            layer.attributes |= op.attributes
            take_value_name(layer, op)
            result.replace_all_uses_with(layer.results[0])
            unread = (op, total, *dict.fromkeys((total.lhs.owner, total.rhs.owner)))
            for each in unread:
                if isinstance(each, RequantizeOp | AddOp) and not each.results[0].uses:
                    Rewriter.erase_op(each)


def sum_of(op: RequantizeOp) -> QuantizedAddOp | None:
    """The layer that does the same as a requantised sum of two requantised maps; None if none."""
    total = op.input.owner
    if not isinstance(total, AddOp) or total.activation is not None:
        return None
    if op.destination is not None or not total.output.has_one_use():
        return None
    terms = [summand(value, op) for value in (total.lhs, total.rhs)]
    found = [term for term in terms if term is not None]
    after = int_values(op.zero_points)[1]
    if len(found) < len(terms) or not is_single(op) or element_of(op.output) not in QUANTISED:
        return None
    layer = QuantizedAddOp(
        found[0].input,
        found[1].input,
        [float_values(each.scales)[0] for each in (*found, op)],
        [*(int_values(each.zero_points)[0] for each in found), after],
        op.output_type,
        mode=op.mode.data,
    )
    try:
        layer.verify_()
    except VerifyException:  # the sum may not fit
        layer.erase()
        return None
    return layer


def summand(value: SSAValue, op: RequantizeOp) -> RequantizeOp | None:
    """The layer that brings a quantised map to the i32 of a sum; None if it is another one."""
    owner = value.owner
    if not isinstance(owner, RequantizeOp) or owner.mode != op.mode or not is_single(owner):
        return None
    is_sum = element_of(value) == i32 and element_of(owner.input) in QUANTISED
    return owner if is_sum else None


def is_single(op: RequantizeOp) -> bool:
    """Whether a requantisation has one exact multiplier for all channels."""
    return op.mode.data in EXACT and len(op.scales) == 1
