"""Verifies modules again and again in a fraction of the time that xDSL takes.

Loops hold thousands of ops such as `arith.addf` and `memref.load`. Whether one of them is right
depends on its own types and attributes only. So it is verified once, and equal ones need not be
verified again, neither in the same module nor after a later pass. The same holds for the layers of
this project. A call also depends on the type of the function that it calls, for which xDSL searches
the whole module.

Most passes leave most functions as they are. A function that holds the same ops, with the same
operands, types and attributes, as when it was found right is still right, so its ops are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import TypeAlias, cast

from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.math import Math
from xdsl.dialects.memref import (
    CopyOp,
    GetGlobalOp,
    GlobalOp,
    LoadOp,
    ReinterpretCastOp,
    StoreOp,
    SubviewOp,
)
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Attribute, Block, ErasedSSAValue, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from npu_dialect.dsp import DSP
from npu_dialect.npu import NPU
from npu_dialect.npu.layer import LayerOp
from npu_dialect.sram import AllocOp, SpanOp

LAYERS = [op for op in NPU.operations if issubclass(op, LayerOp)]

Key: TypeAlias = tuple[object, ...]

TYPE: Callable[[SSAValue], Attribute] = attrgetter("type")

MEMORY = (
    *(AllocOp, CopyOp, GetGlobalOp, GlobalOp, LoadOp, ReinterpretCastOp),
    *(SpanOp, StoreOp, SubviewOp),
)

TERMINATORS = (ReturnOp, YieldOp)
NAMES: Mapping[type[Operation], str] = MappingProxyType({CallOp: "callee", FuncOp: "sym_name"})
"""Properties with the names of functions. Instead of them, a key has the type of the callee; that
no two functions have the same name is checked with the module."""

LOCAL: frozenset[type[Operation]] = frozenset(
    (
        *Arith.operations,
        *DSP.operations,
        *Math.operations,
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

PLAIN = LOCAL - {*NAMES, *TERMINATORS, ForOp, IfOp}
"""Ops of `LOCAL` that hold no others, end no block and name no function."""

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
        self._found_right: dict[Operation, Contents] = {}
        """The functions that were found right, as they were then."""
        self._contents: dict[Operation, Contents] = {}
        """The functions of the module that is verified."""

    def verify(self, module: ModuleOp) -> set[Operation]:
        """Do what `module.verify()` does; returns the functions that have not changed.

        These were verified before, by this object.

        Raises: VerifyException for IR that is wrong.
        """
        functions = [op for op in module.ops if isinstance(op, FuncOp)]
        types = {op.sym_name.data: op.function_type for op in functions}
        self._contents = {op: Contents.of(op, types) for op in functions}
        known = {op: each for op, each in self._contents.items() if each.is_known}
        unchanged = {op for op, each in known.items() if self._found_right.get(op) == each}
        self._verify(module, types, unchanged)
        self._found_right |= known
        return unchanged

    def _verify(
        self,
        op: Operation,
        functions: Mapping[str, FunctionType],
        right: Collection[Operation] = (),
    ) -> None:
        """Verify an op and the ops inside of it, but none of `right`."""
        for region in op.regions:
            for block in region.blocks:
                if (inner := block.first_op) is None:
                    block.verify()
                while inner is not None:  # quicker than the iterator of `block.ops`
                    if not inner.regions:
                        self._verify_alone(inner, functions)
                    elif inner not in right:
                        is_module = type(inner) is ModuleOp
                        self._verify(inner, NO_FUNCTIONS if is_module else functions)
                    inner = inner.next_op
        self._verify_alone(op, functions)

    def _verify_alone(self, op: Operation, functions: Mapping[str, FunctionType]) -> None:
        """Verify an op, but not the ops inside of it."""
        key = self._key(op, functions) if type(op) in LOCAL else None
        if key is None or key not in self._right:
            if key is None or not isinstance(op, FuncOp) or not is_right_outside(op):
                op.verify(verify_nested_ops=False)
            if key is not None:
                self._right.add(key)

    def _key(self, op: Operation, functions: Mapping[str, FunctionType]) -> Key | None:
        """All that decides whether an op in `LOCAL` is right; None if a key cannot hold it."""
        kind, operands, properties = type(op), [*op.operands], op.properties
        if ErasedSSAValue in map(type, operands):
            return None
        if kind in PLAIN:
            if op.next_op is None:
                return None
            more: Key | None = ()
        else:
            more = self._around(op, functions)
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
        contents = self._contents.get(op)
        if contents is None or len(op.regions) != 1 or not contents.is_isolated:
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


@dataclass
class Contents:
    """A function at the top of a module, with all ops inside of it, as they were at one time.

    Functions with equal contents are the same function, which has not changed in between.
    """

    objects: list[object]
    """Ops and the blocks that hold them, with operands, types, properties, attributes, callees."""
    used: list[SSAValue] = field(default_factory=list[SSAValue], compare=False)
    defined: list[SSAValue] = field(default_factory=list[SSAValue], compare=False)
    is_known: bool = True
    """Whether `objects` decide if the function is right: all ops are in `LOCAL`, no region has
    several blocks, and it is known what is called."""

    @staticmethod
    def of(function: FuncOp, functions: Mapping[str, FunctionType]) -> Contents:
        """The present contents of a function; `functions` are those of its module."""
        found = Contents([function.next_op is None])
        found.add(function, functions)
        return found

    def add(self, op: Operation, functions: Mapping[str, FunctionType]) -> None:
        """Add an op and the ops inside of it."""
        objects, kind = self.objects, type(op)
        operands, results, properties = [*op.operands], op.results, op.properties
        self.used += operands
        self.defined += results
        objects += (op, *operands, *map(TYPE, results), *properties, *properties.values())
        if attributes := op.attributes:
            objects += (None, *attributes, *attributes.values())  # None: these are no properties
        if kind not in LOCAL:
            self.is_known = False
        elif kind is CallOp:
            callee = functions.get(cast(CallOp, op).callee.string_value())
            self.is_known &= callee is not None
            objects.append(callee)
        for region in op.regions:
            self.is_known &= len(region.blocks) < 2
            for block in region.blocks:
                self.defined += block.args
                objects += (block, *map(TYPE, block.args))
                inner = block.first_op
                while inner is not None:  # quicker than the iterator of `block.ops`
                    self.add(inner, functions)
                    inner = inner.next_op
            objects.append(region)

    @property
    def is_isolated(self) -> bool:
        """Whether the ops use no values from outside of the function."""
        return {*map(id, self.used)} <= {*map(id, self.defined)}


def is_right_outside(function: FuncOp) -> bool:
    """Whether a function is right that uses nothing from outside, if the ops inside of it are.

    For each operand of each op inside, xDSL goes up to the function, to see where it comes from. So
    it gets a function without these ops.
    """
    blocks = [Block(arg_types=block.arg_types) for block in function.body.blocks]
    empty = FuncOp.create(
        properties=function.properties, attributes=function.attributes, regions=[Region(blocks)]
    )
    try:
        empty.verify(verify_nested_ops=False)
    except VerifyException:
        return False
    return True
