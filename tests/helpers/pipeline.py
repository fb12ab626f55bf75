"""Helpers: parse a module with all our dialects, and run memory passes on it."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline

from npu_dialect.attributes import ARENA
from npu_tools.universe import NPU_UNIVERSE


def context() -> Context:
    """A context that knows xDSL's dialects and ours."""
    ctx = Context()
    for name, dialect in {**get_all_dialects(), **NPU_UNIVERSE.all_dialects}.items():
        ctx.register_dialect(name, dialect)
    return ctx


def parse(ctx: Context, text: str) -> ModuleOp:
    """Parse a text to a verified module."""
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def run_passes(ctx: Context, module: ModuleOp, pipeline: str) -> ModuleOp:
    """Run passes on a copy of a module, and verify the result."""
    module = module.clone()
    PassPipeline.parse_spec(dict(NPU_UNIVERSE.all_passes), pipeline).apply(ctx, module)
    module.verify()
    return module


def arena_bytes(module: ModuleOp) -> int:
    """Bytes of the arena of the only function."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    arena = ARENA.get(function)
    assert arena is not None
    return arena
