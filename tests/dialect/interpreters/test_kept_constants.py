"""Copies of constants in an arena, as the interpreter and the check of plans see them."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError

from helpers.pipeline import context, parse
from npu_dialect.interpreters import run_function
from npu_tools.shadow import check

COPY = "{{sram.copy_at = {{{} = {} : i64}}}}"


def program(copy: int, output: int, *, late: bool = False, memory: str = "sram") -> ModuleOp:
    """A function that copies 16 bytes from byte `copy` of an arena of 64 to byte `output`.

    The word lies at byte 60. `late`: a buffer at byte 0 is written behind that.
    """
    kind, constant = "memref<4xf32, #npu.sram>", "memref<4xf32, #npu.flash>"
    scratch = f"""
      %s = sram.alloc at 0 : {kind}
      "memref.copy"(%y, %s) : ({kind}, {kind}) -> ()
    """
    return parse(
        context(),
        f"""
    func.func @f(%y: {kind} {{sram.output, sram.offset = {output} : i64}})
        attributes {{sram.arena = 64 : i64, sram.ready = {{sram = 60 : i64}}}} {{
      %w = memref.get_global @w : {constant} {COPY.format(memory, copy)}
      "memref.copy"(%w, %y) : ({constant}, {kind}) -> ()
      {scratch if late else ""}
      func.return
    }}
    "memref.global"() <{{sym_name = "w", type = {constant}, sym_visibility = "private", constant,
        initial_value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>}}> : () -> ()
    """,
    )


def test_a_run_reads_the_copies() -> None:
    module = program(16, 32)
    for _ in range(2):
        (result,) = run_function(module, "f", [])
        np.testing.assert_array_equal(result, np.array([1, 2, 3, 4], np.float32))
    assert not check(module)


def test_a_constant_without_a_place_has_no_copy() -> None:
    """The attributes change where a constant is read, and nothing of what is computed."""
    module = program(16, 32)
    for op in module.walk():
        op.attributes.pop("sram.copy_at", None)
    (result,) = run_function(module, "f", [])
    np.testing.assert_array_equal(result, np.array([1, 2, 3, 4], np.float32))


@pytest.mark.parametrize(("copy", "late"), [(24, False), (8, True)], ids=["output", "later"])
def test_a_copy_must_survive_the_run(copy: int, late: bool) -> None:
    """Also one that this run does not read any more: the next one does."""
    module = program(copy, 32, late=late)
    with pytest.raises(InterpretationError, match="the copy of the constant @w was overwritten"):
        run_function(module, "f", [])
    assert check(module)


def test_the_word_must_survive_the_run() -> None:
    with pytest.raises(InterpretationError, match=r"the word at sram\.ready was overwritten"):
        run_function(program(16, 48), "f", [])


@pytest.mark.parametrize(("copy", "memory"), [(52, "sram"), (16, "psram")])
def test_a_copy_lies_in_an_arena(copy: int, memory: str) -> None:
    with pytest.raises(InterpretationError, match=r"inside the arena|an arena in memory psram"):
        run_function(program(copy, 32, memory=memory), "f", [])
