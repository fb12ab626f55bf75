"""Verifies modules again and again in a fraction of the time that xDSL takes.

Loops hold thousands of ops such as `arith.addf` and `memref.load`. Whether one of them is right
depends on its own types and attributes only. So it is verified once, and equal ones need not be
verified again, neither in the same module nor after a later pass. The same holds for the layers of
this project. A call also depends on the type of the function that it calls, for which xDSL searches
the whole module.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.memref import (
    GetGlobalOp,
    GlobalOp,
    LoadOp,
    ReinterpretCastOp,
    StoreOp,
    SubviewOp,
)
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Attribute, ErasedSSAValue, Operation, SSAValue

from npu_dialect.dsp import DSP
from npu_dialect.npu import NPU
from npu_dialect.npu.layer import LayerOp
from npu_dialect.sram import AllocOp

LAYERS = [op for op in NPU.operations if issubclass(op, LayerOp)]

Key: TypeAlias = tuple[object, ...]

MEMORY = (AllocOp, GetGlobalOp, GlobalOp, LoadOp, ReinterpretCastOp, StoreOp, SubviewOp)

LOCAL: frozenset[type[Operation]] = frozenset(
    (*Arith.operations, *DSP.operations, *MEMORY, CallOp, ForOp, IfOp, YieldOp, *LAYERS)
)
"""Ops whose verifiers read nothing but their types and attributes; the arguments and terminators
of their blocks; the class of the op around them; and the function that they call. None of them
reads attributes of this project, which `contract.check_attributes` checks."""

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
                if block.first_op is None:
                    block.verify()
                for inner in block.ops:
                    kind = type(inner)
                    self._verify(inner, NO_FUNCTIONS if kind is ModuleOp else functions)
        key = self._key(op, functions) if type(op) in LOCAL else None
        if key is None or key not in self._right:
            op.verify(verify_nested_ops=False)
            if key is not None:
                self._right.add(key)

    def _key(self, op: Operation, functions: Mapping[str, FunctionType]) -> Key | None:
        """All that decides whether an op in `LOCAL` is right; None if a key cannot hold it."""
        kind, operands, number = type(op), op.operands, self.number
        properties = op.properties
        if any(map(is_erased, operands)) or (op.next_op is None) != (kind is YieldOp):
            return None
        more: Key | None = ()
        if op.regions:
            more = self._inside(op)
        elif kind is YieldOp:
            more = (type(op.parent_op()),)
        elif isinstance(op, CallOp):
            callee = functions.get(op.callee.string_value())
            properties = {name: value for name, value in properties.items() if name != "callee"}
            more = None if callee is None else (number(callee),)
        if more is None:
            return None
        return (
            kind,
            len(operands),
            *[number(value.type) for value in operands],
            *[number(value.type) for value in op.results],
            *[(name, number(value)) for name, value in properties.items()],
            *[
                (name, number(value))
                for name, value in op.attributes.items()
                if not name.startswith("npu.")
            ],
            *more,
        )

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


def is_erased(value: SSAValue) -> bool:
    """Whether the op that gave a value has been erased."""
    return isinstance(value, ErasedSSAValue)
