"""Verifies modules again and again in a fraction of the time that xDSL takes.

Loops hold thousands of ops such as `arith.addf` and `memref.load`. Whether one of them is right
depends on its own types and attributes only. So it is verified once, and equal ones need not be
verified again, neither in the same module nor after a later pass. The same holds for the layers of
this project. A call also depends on the type of the function that it calls, for which xDSL searches
the whole module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import TypeAlias

from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.memref import (
    GetGlobalOp,
    GlobalOp,
    LoadOp,
    ReinterpretCastOp,
    StoreOp,
    SubviewOp,
)
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, ErasedSSAValue, Operation, OpResult, SSAValue

from npu_dialect.dsp import DSP
from npu_dialect.npu import NPU
from npu_dialect.npu.layer import LayerOp
from npu_dialect.sram import AllocOp
from npu_dialect.walking import walk

LAYERS = [op for op in NPU.operations if issubclass(op, LayerOp)]

Key: TypeAlias = tuple[object, ...]

TYPE: Callable[[SSAValue], Attribute] = attrgetter("type")

MEMORY = (AllocOp, GetGlobalOp, GlobalOp, LoadOp, ReinterpretCastOp, StoreOp, SubviewOp)

TERMINATORS = (ReturnOp, YieldOp)
NAMES: Mapping[type[Operation], str] = MappingProxyType({CallOp: "callee", FuncOp: "sym_name"})
"""Properties with the names of functions. Instead of them, a key has the type of the callee; that
no two functions have the same name is checked with the module."""

LOCAL: frozenset[type[Operation]] = frozenset(
    (
        *Arith.operations,
        *DSP.operations,
        *MEMORY,
        CallOp,
        ForOp,
        FuncOp,
        IfOp,
        *TERMINATORS,
        *LAYERS,
    )
)
"""Ops whose verifiers read nothing but their types and attributes; the arguments and terminators
of their blocks; the class of the op around them; the function that they call or return from; and,
for a function, where the values in it are computed. None of them reads attributes of this project,
which `contract.check_attributes` checks."""

NO_FUNCTIONS: Mapping[str, FunctionType] = MappingProxyType({})
"""The functions that a module inside of another one is taken to have: calls in it are verified."""


class Verifier:
    """Verifies any number of modules, and remembers which ops it has found right."""

    def __init__(self) -> None:
        self._right: set[Key] = set()
        self._numbers: dict[Attribute, int] = {}
        self._by_id: dict[int, int] = {}
        """The number of each attribute that was seen, by its `id`. Looking that up is faster than
        its hash."""
        self._kept: list[Attribute] = []
        """The attributes in `_by_id`, which must stay alive: their ids must not be used again."""

    def verify(self, module: ModuleOp) -> None:
        """Do what `module.verify()` does.

        Raises: VerifyException for IR that is wrong.
        """
        functions = {
            op.sym_name.data: op.function_type for op in module.ops if isinstance(op, FuncOp)
        }
        self._verify(module, functions)

    def _verify(self, op: Operation, functions: Mapping[str, FunctionType]) -> None:
        for region in op.regions:
            for block in region.blocks:
                if (inner := block.first_op) is None:
                    block.verify()
                while inner is not None:  # quicker than the iterator of `block.ops`
                    if not inner.regions:
                        self._verify_alone(inner, functions)
                    else:
                        is_module = type(inner) is ModuleOp
                        self._verify(inner, NO_FUNCTIONS if is_module else functions)
                    inner = inner.next_op
        self._verify_alone(op, functions)

    def _verify_alone(self, op: Operation, functions: Mapping[str, FunctionType]) -> None:
        """Verify an op, but not the ops inside of it."""
        key = self._key(op, functions) if type(op) in LOCAL else None
        if key is None or key not in self._right:
            op.verify(verify_nested_ops=False)
            if key is not None:
                self._right.add(key)

    def _key(self, op: Operation, functions: Mapping[str, FunctionType]) -> Key | None:
        """All that decides whether an op in `LOCAL` is right; None if a key cannot hold it."""
        kind, operands = type(op), op.operands
        if ErasedSSAValue in map(type, operands):
            return None
        more, properties = self._around(op, functions), op.properties
        if more is None:
            return None
        if (name := NAMES.get(kind)) is not None:
            properties = {each: value for each, value in properties.items() if each != name}
        if op.attributes:
            more += tuple(
                (name, self.number(value))
                for name, value in op.attributes.items()
                if not name.startswith("npu.")
            )
        attributes = [*map(TYPE, operands)]
        count = len(attributes)
        attributes += map(TYPE, op.results)
        attributes += properties.values()
        numbers = [*map(self._by_id.get, map(id, attributes))]
        if None in numbers:
            numbers = map(self.number, attributes)
        return (kind, count, *numbers, *properties, *more)

    def _around(self, op: Operation, functions: Mapping[str, FunctionType]) -> Key | None:
        """The part of a key for what is inside of an op or around it, and what it refers to."""
        kind = type(op)
        if kind is FuncOp:
            return self._function(op)
        if (op.next_op is None) != (kind in TERMINATORS):
            return None
        if op.regions:
            return self._inside(op)
        if kind is YieldOp:
            return (type(op.parent_op()),)
        if kind is ReturnOp:
            parent = op.parent_op()
            return (self.number(parent.function_type),) if isinstance(parent, FuncOp) else None
        if isinstance(op, CallOp):
            callee = functions.get(op.callee.string_value())
            return None if callee is None else (self.number(callee),)
        return ()

    def _function(self, op: Operation) -> Key | None:
        """The entry of a function and what is around it; None if it uses a value from outside."""
        if type(op.parent_op()) is not ModuleOp or len(op.regions) != 1 or not is_isolated(op):
            return None
        entry = op.regions[0].blocks.first
        types = [] if entry is None else [self.number(argument.type) for argument in entry.args]
        name = type(op.properties.get("sym_name"))
        return op.next_op is None, entry is None, name, *types

    def _inside(self, op: Operation) -> Key | None:
        """The arguments and terminators of an op's blocks; None if a region has several blocks."""
        found: list[object] = []
        for region in op.regions:
            if len(region.blocks) > 1:
                return None
            for block in region.blocks:
                found.append(tuple([self.number(argument.type) for argument in block.args]))
                if (last := block.last_op) is not None:
                    types = [self.number(each.type) for each in last.operands]
                    found.append((type(last), *types))
        return tuple(found)

    def number(self, attribute: Attribute) -> int:
        """A number that equal attributes have, and no others."""
        found = self._by_id.get(id(attribute))
        if found is None:
            found = self._numbers.setdefault(attribute, len(self._numbers))
            self._by_id[id(attribute)] = found
            self._kept.append(attribute)
        return found


def is_isolated(op: Operation) -> bool:
    """Whether the ops inside an op use no values from outside of it, nor results of the op itself.

    xDSL goes up from each value to the op; it is quicker to know all blocks inside.
    """
    inside: set[int] = set()
    used: set[int] = set()
    for inner in walk(op):
        if inner is not op:
            used.update([id(block_of(value)) for value in inner.operands])
        for region in inner.regions:
            inside.update(map(id, region.blocks))
    return used <= inside


def block_of(value: SSAValue) -> Block | None:
    """The block in which a value is defined; None if its op is in none."""
    if type(value) is OpResult:
        return value.op.parent
    return value.block if type(value) is BlockArgument else None
