"""Remove what lowering leaves unused: constants that were repacked, and arguments for them.

Unused arguments of private functions are removed, also at their calls, whose claims and shares of
zeros then are those of the arguments that are left; then constants that no op reads.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.rewriter import Rewriter

from npu_dialect.attributes import OVERLAYS, ZEROS
from npu_dialect.walking import walk, walk_kind
from npu_passes.analysis.overlaid import claims_of
from npu_passes.lowering.kernels.constants import Users, only_call, symbol_users


def drop_unused(module: ModuleOp) -> None:
    """Remove unused arguments of private functions, then unused globals."""
    users = symbol_users(walk(module))
    ops = list(walk_kind(module, func.FuncOp, memref.GetGlobalOp, memref.GlobalOp))
    for op in ops:
        if isinstance(op, func.FuncOp):
            drop_arguments(op, users)
    for op in ops:
        if isinstance(op, memref.GetGlobalOp) and not op.memref.uses:
            users[op.name_.string_value()].remove(op)
            op.detach()
            op.erase()
    for op in ops:
        if isinstance(op, memref.GlobalOp) and is_private(op) and not users.get(op.sym_name.data):
            op.detach()
            op.erase()


def is_private(op: memref.GlobalOp) -> bool:
    """Whether a global can only be used in its module."""
    return op.sym_visibility.data == "private"


def drop_arguments(function: func.FuncOp, users: Users) -> None:
    """Remove the unused arguments of a private function that has exactly one call."""
    blocks = function.body.blocks
    call = only_call(function, users)
    if not blocks or function.arg_attrs is not None or call is None:
        return
    block = function.body.block
    kept = [index for index, argument in enumerate(block.args) if argument.uses]
    if len(kept) == len(block.args):
        return
    for argument in [each for each in block.args if not each.uses]:
        block.erase_arg(argument)
    types = [argument.type for argument in block.args]
    function.function_type = FunctionType.from_lists(types, list(function.function_type.outputs))
    operands = [call.operands[index] for index in kept]
    new = func.CallOp(call.callee, operands, [result.type for result in call.results])
    new.attributes.update(call.attributes)
    places = {old: index for index, old in enumerate(kept)}
    claims = [
        replace(claim, source=places[claim.source], target=places[claim.target])
        for claim in claims_of(call)
        if claim.source in places and claim.target in places
    ]
    if OVERLAYS.is_on(call):
        OVERLAYS.set(new, tuple(n for claim in claims for n in claim.numbers()))
    if (shares := ZEROS.get(call)) is not None:
        # Constants that became arguments have no share; they stand behind those that have one.
        ZEROS.set(new, tuple(shares[index] for index in kept if index < len(shares)))
    Rewriter.replace_op(call, new)
