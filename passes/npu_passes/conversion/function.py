"""Converts the ops of a module by rules, and says on each op that stays why it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import LEFT
from npu_dialect.npu.layers import ActivationOp, ClampOp, LookupOp, MapOp, ReluOp
from npu_dialect.npu.maps import is_tensor_type
from npu_dialect.npu.pointwise import FunctionAttr
from npu_passes.conversion.builder import LayerBuilder, check_tensor
from npu_passes.conversion.foreign import CONSTANTS, Foreign, NoEquivalent, name_of
from npu_passes.conversion.stored import Stored, identity
from npu_passes.conversion.tensor_layers import is_link

Rule: TypeAlias = Callable[[Foreign, LayerBuilder], Stored]
"""Builds the layers of an op; returns where its result is. Raises NoEquivalent if it has none."""

UNKNOWN = "it has no equivalent among the layers"


def convert_module(module: ModuleOp, dialects: tuple[str, ...], rules: Mapping[str, Rule]) -> None:
    """Convert the ops of some dialects in all functions; `rules` has rules by op name.

    Each op that stays gets `npu.left`, the reason.
    """
    for function in module.walk():
        if isinstance(function, func.FuncOp) and len(function.body.blocks) == 1:
            convert_block(function.body.block, dialects, rules)
    for op in module.walk():
        if op.results and is_of(op, dialects) and name_of(op) not in (*CONSTANTS, *INSIDE):
            LEFT.set_default(op, UNKNOWN)


def is_tosa_constant(value: SSAValue) -> bool:
    """Whether a value is a constant that no op of ours reads."""
    return isinstance(value.owner, Operation) and name_of(value.owner) == "tosa.const"


def is_of(op: Operation, dialects: tuple[str, ...]) -> bool:
    """Whether an op is of one of some dialects."""
    return name_of(op).startswith(tuple(f"{dialect}." for dialect in dialects))


def convert_block(block: Block, dialects: tuple[str, ...], rules: Mapping[str, Rule]) -> None:
    """Convert the ops of a block. Ops that stay, read the maps that converted ops compute."""
    builder, old = LayerBuilder(), list(block.ops)
    if not any(is_of(op, dialects) for op in old):
        return
    rules = {**rules, **OWN}
    read = {op for op in old if any(result.uses for result in op.results)}
    pending: list[Operation] = []
    for op in old:
        rule = rules.get(name_of(op))
        if is_link(op):
            pending.append(op)
        elif rule is None or not converted(op, rule, builder):
            stay(op, builder)
    erase(old, read, builder)
    for op in pending:
        if op.parent is not None:
            stay(op, builder)
    erase(old, read, builder)
    builder.drop_unread()


def stay(op: Operation, builder: LayerBuilder) -> None:
    """Let an op that stays read the maps of converted ops."""
    builder.begin(op)
    feed(op, builder)
    builder.name_rest()


def erase(old: Sequence[Operation], read: set[Operation], builder: LayerBuilder) -> None:
    """Erase the ops that nothing reads any more; `read` are those that something has read."""
    for op in reversed(old):
        if op.parent is None or any(result.uses for result in op.results):
            continue
        is_converted = any(result in builder.values for result in op.results)
        if is_converted or name_of(op) in CONSTANTS or (op in read and is_spent(op)):
            op.detach()
            op.erase()


def transposed(op: Foreign, builder: LayerBuilder) -> Stored:
    """A transposition that another pass has put in front of an op: no layer until one reads it."""
    return builder.stored(op.operand(0)).transposed(op.integers("perm"))


def activated(op: Foreign, builder: LayerBuilder) -> Stored:
    """An activation that another pass has made: on the map that stores its input."""
    layer, source = op.op, builder.unpadded(op.operand(0))
    moved = source.perm != identity(len(source.perm))
    if not isinstance(layer, ActivationOp) or layer.destination is not None or not moved:
        raise NoEquivalent("it can stay")
    function = layer.as_activation()
    if isinstance(function, FunctionAttr) and function.has_channels:
        raise NoEquivalent("its channels are those of the tensor")
    new = layer.rebuilt([source.value], source.value.type)
    return Stored(builder.add(new, layer.results[0].name_hint), source.perm)


OWN: Mapping[str, Rule] = {
    "npu.transpose": transposed,
    **{kind.name: activated for kind in (ReluOp, ClampOp, MapOp, LookupOp)},
}
"""Rules for layers that another pass has made between ops of other dialects."""


def is_spent(op: Operation) -> bool:
    """Whether an op that nothing reads any more only computes its results."""
    return name_of(op) in SOURCES or is_side_effect_free(op)


SOURCES = (
    *("tensor.empty", "tensor.pad", "tensor.insert_slice", "tensor.dim"),
    *("linalg.fill", "linalg.broadcast", "linalg.generic"),
)
"""Ops that only start values for others: once nothing reads them, they go."""
INSIDE = ("linalg.index", "linalg.yield", "tensor.yield", "tensor.empty", "tosa.yield")
"""Ops that belong to others, which say why they are left."""


def converted(op: Operation, rule: Rule, builder: LayerBuilder) -> bool:
    """Convert an op; False if it has no equivalent, which is then noted on it."""
    builder.begin(op)
    foreign = Foreign(op)
    try:
        check_tensor(foreign.result_type)
        found = rule(foreign, builder)
        check_result(found, foreign.result_type)
    except (NoEquivalent, VerifyException) as error:
        builder.undo()
        if name_of(op) not in OWN:
            LEFT.set(op, " ".join(str(error).split()))
        return False
    builder.name_layers(foreign, found)
    builder.values[op.results[0]] = found
    return True


def check_result(found: Stored, declared: TensorType[Attribute]) -> None:
    """Check that a result has the declared shape and elements.

    Raises: NoEquivalent if not.
    """
    assert is_tensor_type(found.value.type)
    type_ = TensorType(found.value.type.get_element_type(), found.padded_shape)
    if type_ != TensorType(declared.get_element_type(), declared.get_shape()):
        raise NoEquivalent(f"its operands give {type_}, it is declared with {declared}")


def feed(op: Operation, builder: LayerBuilder) -> None:
    """Let an op that stays, and the ops inside of it, read the maps of converted ops."""
    for reader in op.walk():
        for index, value in enumerate(reader.operands):
            is_foreign = is_tosa_constant(value) and not is_of(reader, ("tosa",))
            if value in builder.values or is_foreign:
                reader.operands[index] = builder.as_is(builder.stored(value))
