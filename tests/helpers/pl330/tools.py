"""Microcode from text to bytes and back, in this process."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from npu_dialect.pl330 import PL330, ProgramOp
from npu_passes.emit.pl330.assemble import code_of, programs_of


def parse(text: str) -> ModuleOp:
    """Parse a text to a verified module."""
    context = Context()
    for dialect in (Builtin, PL330):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def only(module: ModuleOp) -> ProgramOp:
    """The only program of a module."""
    (program,) = programs_of(module)
    return program


def assembled(text: str) -> bytes:
    """The bytes of the only program of a text."""
    return code_of(only(parse(text)))
