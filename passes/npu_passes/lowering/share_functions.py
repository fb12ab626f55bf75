"""`npu-share-functions`: merge functions that differ only in the constants that they read.

    func.call @conv2(%x, %y) {npu.layer = "conv2"} : ...
    func.call @conv3(%y, %z) {npu.layer = "conv3"} : ...
    func.func private @conv2(%ifm, %ofm) { %w = memref.get_global @conv2_weight ... }
    func.func private @conv3(%ifm, %ofm) { %w = memref.get_global @conv3_weight ... }
becomes
    %conv2_weight = memref.get_global @conv2_weight : memref<64xi8, #npu.flash>
    func.call @conv2(%x, %y, %conv2_weight) {npu.layer = "conv2"} : ...
    %conv3_weight = memref.get_global @conv3_weight : memref<64xi8, #npu.flash>
    func.call @conv2(%y, %z, %conv3_weight) {npu.layer = "conv3"} : ...
    func.func private @conv2(%ifm, %ofm, %w) {npu.layer = "conv2, conv3"} { ... }

The decision: a layer that a network repeats needs its code only once. The functions may differ in
which globals they read, and in up to `scalars` i32 and f32 constants, such as a zero point. These
become arguments. Constants of type index, or cast to index, must be equal: they are loop bounds and
addresses, so shared code is as fast as before. The function that comes first in the IR is kept.
Calls keep the names of their layers.

A function is not shared if it is public, returns values, calls others, starts transfers, branches
between blocks, or if an op other than a call refers to it.

The pass may run twice. Between `npu-outline-layers` and `npu-lower-to-loops`, with
`before-lowering=true`, it merges functions that hold the same layer, so that these loops are built
once. It then leaves those alone to which a call passes constants that the lowering packs for each
layer: integers, and floats on a machine with vectors or loads of several floats. After the
lowering, it merges these too if their loops are alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, f32
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dma
from npu_dialect.attributes import LAYER, OVERLAYS, WHAT
from npu_dialect.keys import Key
from npu_dialect.npu.quantization import QUANTISED, SUMS
from npu_dialect.target import machine_of
from npu_dialect.walking import walk
from npu_passes.lowering.function_shapes import Constant, FunctionShape, value_of
from npu_passes.lowering.kernels.constants import Users, symbol_users
from npu_passes.support.common import loads_floats
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_passes.support.symbols import identifier

NOT_SHARED: frozenset[type[Operation]] = frozenset((func.CallOp, *dma.DMA.operations))
"""A function with one of these ops is not merged with others."""


@dataclass(frozen=True)
class Argument:
    """A constant that becomes an argument."""

    readers: tuple[Constant, ...]
    """The ops that read it in the function that is kept."""
    passed: tuple[Constant, ...]
    """The constant that a call passes, for each function of the group."""


@dataclass(frozen=True)
class Shared:
    """A group of functions to merge into the first one, and the arguments that it gets."""

    functions: tuple[func.FuncOp, ...]
    arguments: tuple[Argument, ...]


def functions_to_share(
    module: ModuleOp, users: Users, scalars: int, packed: tuple[Attribute, ...] = ()
) -> tuple[Shared, ...]:
    """The groups of functions to merge, in the order of their first functions.

    At most `scalars` numbers may differ in a group. Functions to which a call passes constants with
    elements of the types `packed` are left out.
    """
    classes: dict[func.FuncOp, Hashable] = {}
    for function in module.ops:
        if isinstance(function, func.FuncOp) and can_be_shared(function, users):
            if not is_passed(packed, function, users):
                classes[function] = tuple(map(type, walk(function)))
    counts = Counter(classes.values())
    alike: dict[Hashable, list[FunctionShape]] = {}
    for function, ops in classes.items():
        if counts[ops] > 1:  # the shapes of most others would be compared in vain
            shape = FunctionShape.of(function)
            alike.setdefault(tuple(shape.tokens), []).append(shape)
    return tuple(shared for shapes in alike.values() for shared in groups(shapes, scalars))


def packed_types(module: ModuleOp) -> tuple[Attribute, ...]:
    """The types of weights and biases that the lowering packs for each layer."""
    machine = machine_of(module)
    packs_floats = machine is not None and (
        "mve" in machine.features or loads_floats(machine.features, machine.registers)
    )
    return (*QUANTISED, *SUMS, *((f32,) if packs_floats else ()))


def can_be_shared(function: func.FuncOp, users: Users) -> bool:
    """Whether a function can be merged with others; see the module's docstring."""
    named = users.get(function.sym_name.data, ())
    if function.sym_visibility != StringAttr("private") or function.is_declaration:
        return False
    if function.function_type.outputs.data or function.arg_attrs is not None:
        return False
    if not named or not all(isinstance(op, func.CallOp) for op in named):
        return False
    return not any(
        type(op) in NOT_SHARED
        or (op.regions and any(len(region.blocks) > 1 for region in op.regions))
        for op in walk(function)
    )


def is_passed(types: tuple[Attribute, ...], function: func.FuncOp, users: Users) -> bool:
    """Whether a call passes a constant global with elements of some types to a function."""
    calls = users[function.sym_name.data] if types else ()
    return any(
        isinstance(value.owner, memref.GetGlobalOp) and memref_type(value).element_type in types
        for call in calls
        for value in call.operands
    )


def groups(shapes: list[FunctionShape], scalars: int) -> Iterator[Shared]:
    """Split functions of one shape into groups whose numbers differ in at most `scalars` places."""
    while shapes:
        group, rest = shapes[:1], list[FunctionShape]()
        for shape in shapes[1:]:
            larger = [*group, shape]
            fits = len(differing([each.scalars for each in larger])) <= scalars
            group, rest = (larger, rest) if fits else (group, [*rest, shape])
        if len(group) > 1:
            names = differing([each.globals for each in group])
            numbers = differing([each.scalars for each in group])
            yield Shared(tuple(each.function for each in group), (*names, *numbers))
        shapes = rest


def differing(constants: Sequence[Sequence[Constant]]) -> list[Argument]:
    """The arguments for the constants that are not the same in all functions.

    `constants` has a list for each function. Places with the same values in each function share one
    argument.
    """
    found: dict[Hashable, Argument] = {}
    for place in zip(*constants, strict=True):
        values = tuple(value_of(op) for op in place)
        if len(set(values)) > 1:
            known = found.get(values, Argument((), place))
            found[values] = Argument((*known.readers, place[0]), known.passed)
    return list(found.values())


def share(shared: Shared, users: Users) -> None:
    """Merge a group of functions into the first one; calls pass the constants that differ."""
    first, *others = shared.functions
    for function in others:
        add_claims(first, function)
    for index, function in enumerate(shared.functions):
        passed = [argument.passed[index] for argument in shared.arguments]
        for call in users[function.sym_name.data]:
            assert isinstance(call, func.CallOp), "checked before"
            redirect(call, first.sym_name.data, passed)
    for argument in shared.arguments:
        add_argument(first, argument)
    types = [argument.type for argument in first.body.block.args]
    first.function_type = FunctionType.from_lists(types, [])
    describe(first, shared.functions)
    for function in shared.functions[1:]:
        function.detach()
        function.erase()


def add_claims(function: func.FuncOp, other: func.FuncOp) -> None:
    """Add to the ops of a function which operands the same ops of another one may overwrite."""
    for op, like in zip(walk(function), walk(other), strict=True):
        if like is other or (more := OVERLAYS.get(like)) is None:
            continue
        known = OVERLAYS.get(op) or ()
        claims = [
            numbers[at : at + 4] for numbers in (known, more) for at in range(0, len(numbers), 4)
        ]
        OVERLAYS.set(op, tuple(n for claim in dict.fromkeys(claims) for n in claim))


def redirect(call: func.CallOp, name: str, passed: Sequence[Constant]) -> None:
    """Replace a call by one of function `name` that also passes these constants."""
    copies = [op.clone() for op in passed]
    for op in copies:
        if isinstance(op, memref.GetGlobalOp):
            op.memref.name_hint = identifier(op.name_.string_value())
    Rewriter.insert_op(copies, InsertPoint.before(call))
    new = func.CallOp(name, [*call.arguments, *(op.results[0] for op in copies)], [])
    new.attributes.update(call.attributes)
    Rewriter.replace_op(call, new)


def add_argument(function: func.FuncOp, argument: Argument) -> None:
    """Replace the readers of a constant in a function by a new argument."""
    block = function.body.block
    result = argument.readers[0].results[0]
    value = block.insert_arg(result.type, len(block.args))
    value.name_hint = result.name_hint
    for op in argument.readers:
        Rewriter.replace_op(op, (), [value])


def describe(function: func.FuncOp, functions: Sequence[func.FuncOp]) -> None:
    """Set `npu.layer` to the names of all layers, and `npu.what` to the clauses they share."""
    layers = texts_of(functions, LAYER)
    if layers:
        LAYER.set(function, ", ".join(layers))
    if whats := texts_of(functions, WHAT):
        WHAT.set(function, common_text(whats))


def texts_of(functions: Sequence[func.FuncOp], key: Key[str]) -> list[str]:
    """The values of an attribute, for the functions that have it."""
    found = map(key.get, functions)
    return [each for each in found if each is not None]


def common_text(texts: Sequence[str]) -> str:
    """The texts as one, with `...` for each clause that differs: `npu.conv2d groups 8 scales ...`.

    It is the name of the op alone if the texts differ in length.
    """
    clauses = [re.findall(r"\[[^]]*\]|[^\s[]+", text) for text in texts]
    if len({len(each) for each in clauses}) > 1:
        return clauses[0][0]
    return " ".join(each[0] if len(set(each)) == 1 else "..." for each in zip(*clauses))


@dataclass(frozen=True)
class ShareFunctionsPass(RefusingPass):
    """Share the code of functions that differ in constants only; see the module."""

    name = "npu-share-functions"

    scalars: int = 8
    """The most i32 and f32 constants that may differ and become arguments."""
    before_lowering: bool = False
    """Leave functions alone to which a call passes constants that the lowering packs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Find the groups of functions, then merge them.

        Raises: PassFailedException if `scalars` is negative.
        """
        if self.scalars < 0:
            raise Refusal(f"expected scalars of at least 0, got {self.scalars}")
        users = symbol_users(walk(op))
        packed = packed_types(op) if self.before_lowering else ()
        for shared in functions_to_share(op, users, self.scalars, packed):
            share(shared, users)
