"""Where on the road a module stands, and which passes of a pipeline it still needs.

MLIR text may come from any stop: `--dump-ir` writes it after every pass. The IR itself shows how
far it is: a pass at a turn of the road leaves something that was not there before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_dialect.arenas import has_arenas
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import is_buffer_type


def has_buffers(module: ModuleOp) -> bool:
    """Whether the maps of a function are buffers."""
    return any(
        is_buffer_type(type_)
        for op in module.ops
        if isinstance(op, func.FuncOp)
        for type_ in op.function_type.inputs
    )


def has_offsets(module: ModuleOp) -> bool:
    """Whether a function has its arena."""
    return any(isinstance(op, func.FuncOp) and has_arenas(op) for op in module.ops)


def is_outlined(module: ModuleOp) -> bool:
    """Whether layers are functions, or no layers any more."""
    return has_offsets(module) and (
        any(isinstance(op, func.CallOp) for op in module.walk()) or is_lowered(module)
    )


def is_lowered(module: ModuleOp) -> bool:
    """Whether the layers of a program with an arena have become loops."""
    return has_offsets(module) and not any(isinstance(op, LayerOp) for op in module.walk())


TURNS: Mapping[str, Callable[[ModuleOp], bool]] = {
    "npu-bufferize": has_buffers,
    "npu-assign-sram-offsets": has_offsets,
    "npu-outline-layers": is_outlined,
    "npu-lower-to-loops": is_lowered,
}
"""Passes, and how to see that they have run."""


def remaining(passes: Sequence[ModulePass], module: ModuleOp) -> tuple[ModulePass, ...]:
    """The passes of a pipeline behind the last turn that a module has taken; all if none."""
    names = [each.name for each in passes]
    taken = [names.index(name) for name, seen in TURNS.items() if name in names and seen(module)]
    return tuple(passes[max(taken, default=-1) + 1 :])
