"""Programs whose buffers are moved in the arena, and what the interpreter computes with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.attributes import ARENA, SRAM_OFFSET
from npu_dialect.interpreters import run_function
from npu_dialect.sram import AllocOp

Array = NDArray[Any]


def entry(module: ModuleOp) -> FuncOp:
    """The function that has an arena."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp) and ARENA.is_on(op))
    return function


def offsets(module: ModuleOp) -> list[int]:
    """The offsets of the arguments in the arena, then those of the allocations."""
    function = entry(module)
    found = [SRAM_OFFSET.of(each.data) for each in arguments(function)]
    found += [op.place for op in function.walk() if isinstance(op, AllocOp)]
    return [each for each in found if each is not None]


def arguments(function: FuncOp) -> Sequence[DictionaryAttr]:
    """The attributes of each argument."""
    assert function.arg_attrs is not None
    return function.arg_attrs.data


def moved(module: ModuleOp, index: int, offset: int) -> ModuleOp:
    """A copy of a program in which one of `offsets` is another one."""
    module = module.clone()
    function = entry(module)
    count = 0
    entries: list[DictionaryAttr] = []
    for each in arguments(function):
        if SRAM_OFFSET.is_in(each.data):
            if count == index:
                each = DictionaryAttr({**each.data, SRAM_OFFSET.name: IntegerAttr(offset, i64)})
            count += 1
        entries.append(each)
    function.arg_attrs = ArrayAttr(entries)
    for op in function.walk():
        if isinstance(op, AllocOp):
            if count == index:
                op.offset = IntegerAttr(offset, i64)
            count += 1
    return module


def results(module: ModuleOp, inputs: Sequence[Array]) -> tuple[Array, ...] | None:
    """The outputs of a program; None if it leaves its arena."""
    try:
        with np.errstate(all="ignore"):
            return run_function(module, None, [each.copy() for each in inputs])
    except InterpretationError:
        return None


def same(one: Sequence[Array] | None, two: Sequence[Array] | None) -> bool:
    """Whether outputs are the same, bit by bit."""
    if one is None or two is None:
        return one is two
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))
