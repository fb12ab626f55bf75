"""Checks discardable attributes against the keys of `attributes.py` and `module_attributes.py`.

    npu.relu %x {npu.runs = "three"}    expected npu.runs to be an integer, got "three"
    npu.relu %x {npu.rums = 3 : i64}    unknown attribute npu.rums: did you mean npu.runs?

Attributes of other namespaces are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import CallableOpInterface, IsolatedFromAbove, IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

# The tables fill KEYS when they are imported.
from npu_dialect import attributes as _attributes
from npu_dialect import kept_attributes as _kept_attributes
from npu_dialect import module_attributes as _module_attributes
from npu_dialect import stream_attributes as _stream_attributes
from npu_dialect import time_attributes as _time_attributes
from npu_dialect.computing import computation_of
from npu_dialect.dma import StartOp
from npu_dialect.keys import KEYS, NAMESPACES, Place
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import BranchedModuleOp, BranchOp
from npu_dialect.walking import walk

PROGRAM_OP = _attributes.PROGRAM.name
"""The name of the op that holds microcode, which is that of the attribute that refers to it. Few
programs have one, so its dialect is not loaded to recognise it."""
PORTS = ("arg_attrs", "res_attrs")
"""The properties with the attributes of the arguments and results of a function."""

TABLES = (
    *(_attributes, _kept_attributes, _module_attributes),
    *(_stream_attributes, _time_attributes),
)
"""The Python modules that define the keys."""


def is_function(op: Operation) -> bool:
    """Whether an op is a function, of any dialect."""
    if op.has_trait(CallableOpInterface, value_if_unregistered=False):
        return True
    return (
        op.has_trait(SymbolOpInterface, value_if_unregistered=False)
        and op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
        and not isinstance(op, ModuleOp)
        and op.name != PROGRAM_OP
    )


def is_layer(op: Operation) -> bool:
    """Whether an op is a layer of any dialect, or a view or copy that replaced one."""
    kinds = LayerOp | memref.ReinterpretCastOp | memref.CopyOp | memref.SubviewOp
    return isinstance(op, kinds) or computation_of(op) is not None


def is_allocation(op: Operation) -> bool:
    """Whether an op has a buffer (a memref) as a result."""
    return any(isinstance(result.type, MemRefType) for result in op.results)


def works_for_a_layer(op: Operation) -> bool:
    """Whether an op may carry the name of a layer: every op but modules and terminators."""
    return not isinstance(op, ModuleOp) and not op.has_trait(
        IsTerminator, value_if_unregistered=False
    )


STANDS_ON: Mapping[Place, Callable[[Operation], bool]] = {
    Place.PROGRAM_MODULE: lambda op: isinstance(op, ModuleOp),
    Place.FUNCTION: is_function,
    Place.LAYER: is_layer,
    Place.PROVENANCE: works_for_a_layer,
    Place.MODULE: lambda op: isinstance(op, BranchedModuleOp),
    Place.BRANCH: lambda op: isinstance(op, BranchOp),
    Place.ROWS: lambda op: isinstance(op, RowsOp),
    Place.LOOP: lambda op: isinstance(op, scf.ForOp),
    Place.CHOICE: lambda op: isinstance(op, scf.IfOp),
    Place.TRANSFER: lambda op: isinstance(op, StartOp),
    Place.MICROCODE: lambda op: op.name == PROGRAM_OP,
    Place.ALLOCATION: is_allocation,
    Place.CONSTANT: lambda op: isinstance(op, memref.GetGlobalOp),
    Place.ANY: lambda _: True,
}


def problems(
    module: Operation, right: Collection[Operation] = ()
) -> Iterator[tuple[Operation, str]]:
    """Each wrong attribute of a module, as (op, error message), in the order of the IR text.

    Nothing is said of the ops in `right`, which stand at the top of the module.
    """
    for op in ops_of(module, right):
        if op.attributes:
            for name, attribute in op.attributes.items():
                if (text := problem(name, attribute, op)) is not None:
                    yield op, text
        if not op.properties.keys().isdisjoint(PORTS):
            for name, attribute in port_attributes(op):
                if (text := problem(name, attribute, None)) is not None:
                    yield op, text


def ops_of(module: Operation, without: Collection[Operation]) -> Iterator[Operation]:
    """A module and the ops inside of it, without those at its top that are given."""
    if not without:
        return walk(module)
    tops = (op for region in module.regions for block in region.blocks for op in block.ops)
    return chain((module,), *(walk(op) for op in tops if op not in without))


def port_attributes(op: Operation) -> Iterator[tuple[str, Attribute]]:
    """The attributes of the arguments and results of a function."""
    for which in PORTS:
        every = op.properties.get(which)
        if every is not None and isa(every, ArrayAttr[DictionaryAttr]):
            for each in every:
                yield from each.data.items()


def problem(name: str, attribute: Attribute, op: Operation | None) -> str | None:
    """The error message for one attribute; None if the attribute is right.

    `op` is the op on which it stands; None if it stands on an argument or result of a function.
    """
    if name.partition(".")[0] not in NAMESPACES or "." not in name:
        return None
    key = KEYS.get(name)
    if key is None:
        from difflib import get_close_matches  # rarely needed, and slow to load

        close = get_close_matches(name, KEYS, 1)
        return f"unknown attribute {name}" + (f": did you mean {close[0]}?" if close else "")
    fits = (
        Place.ARGUMENT in key.places
        if op is None
        else any(STANDS_ON[place](op) for place in key.places if place is not Place.ARGUMENT)
    )
    if not fits:
        where = "an argument or a result" if op is None else op.name
        return f"expected {name} on {' or '.join(key.places)}, got it on {where}"
    return key.wrong(attribute) if key.kind.decode(attribute) is None else None


def check_attributes(module: Operation, right: Collection[Operation] = ()) -> None:
    """Check all attributes of a module against the keys.

    Ops at the top of the module that are known to be `right` are left out.

    Raises: VerifyException for the first wrong attribute; the message is attached to its op.
    """
    for op, text in problems(module, right):
        op.emit_error(text, VerifyException(text))
