"""The shares of zeros that layers read, measured in one run."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npu_passes.analysis.measured_zeros import measured_zeros
from npu_passes.lowering.outline_layers import OutlineLayersPass
from npu_tools.shared.installed import context

MAP = "memref<1x1x8x8xf32, #npu.sram>"


def outlined(body: str, arguments: str = f"%x: {MAP} {{sram.input}}") -> ModuleOp:
    """A function with these layers, each of which is a function, too."""
    text = f"func.func @net({arguments}, %y: {MAP} {{sram.output}}) {{\n{body}\n  func.return\n}}"
    module = Parser(context(), text).parse_module()
    OutlineLayersPass().apply(context(), module)
    return module


def shares(module: ModuleOp) -> list[tuple[float, ...]]:
    """The shares of all calls that have some, in their order."""
    return list(measured_zeros(module).values())


def layer(name: str, reads: str, writes: str, clauses: str = "") -> str:
    """A layer of one map."""
    return f'npu.{name} ins({reads} : {MAP}) outs({writes} : {MAP}) {clauses} {{npu.layer = "l"}}'


def test_half_the_random_numbers_are_rectified() -> None:
    body = f"%m = sram.alloc at 0 : {MAP}\n{layer('relu', '%x', '%m')}\n{layer('relu', '%m', '%y')}"
    (first, unread), (second, _) = shares(outlined(body))
    assert first == unread == 0
    assert 0.3 < second < 0.7


def test_what_an_output_held_before_is_not_read() -> None:
    """The second layer writes over zeros."""
    clamp = "low 5.0 high 6.0"
    body = f"{layer('relu', '%x', '%y')}\n{layer('clamp', '%x', '%y', clamp)}"
    assert shares(outlined(body)) == [(0.0, 0.0)] * 2


def test_a_map_that_is_overwritten_is_read() -> None:
    body = f"{layer('relu', '%x', '%y')}\n{layer('relu', '%y', '%y')}"
    _, (second,) = shares(outlined(body))
    assert 0.3 < second < 0.7


def test_all_runs_of_a_layer_count() -> None:
    """Of three runs, the first one reads random numbers, and the others their larger halves."""
    body = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    {layer("clamp", "%x", "%y", "low -9.0 high 9.0")}
    scf.for %i = %c0 to %c3 step %c1 {{
      {layer("relu", "%y", "%y")}
    }}"""
    _, (share,) = shares(outlined(body))
    assert 0.2 < share < 0.45


def test_what_cannot_be_run_has_no_shares() -> None:
    missing = f'"func.call"(%x) <{{callee = @missing}}> : ({MAP}) -> ()'
    assert not shares(outlined(f"{layer('relu', '%x', '%y')}\n{missing}"))


def test_programs_that_only_quantise_floats_have_no_shares() -> None:
    bytes_ = "memref<1x1x8x8xi8, #npu.sram>"
    body = f"""
    %q = sram.alloc at 0 : {bytes_}
    npu.quantize ins(%x : {MAP}) outs(%q : {bytes_})
      scales [1.0] zero_point 0 {{npu.layer = "q"}}"""
    assert not shares(outlined(body))
