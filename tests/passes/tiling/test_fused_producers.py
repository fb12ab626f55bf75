"""Ops on the tiles of the layers that read their output mean the same, and move less."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import PassFailedException

from helpers.parsing import parse
from helpers.quantized.build import Array
from helpers.tiles.chain import function_of, through
from helpers.tiles.counted import PLACED, counted, moved_bytes, run
from helpers.tiles.machines import MACHINE, TIMED
from helpers.tiles.producers import Layers, layers, map_of, module_of
from npu_dialect.attributes import LAYER, TARGET
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_dialect.target import TargetAttr
from npu_passes.tiling.conv_tiles import TileOptions
from npu_passes.tiling.picked_elements import view_picked_elements
from npu_passes.tiling.tile_loops import StagedOp, stage_function


@dataclass(frozen=True)
class Tiled:
    """What came of the layers: the outputs, what moved, and the names of layers with loops."""

    outputs: list[Array]
    moved: int
    transfers: int
    staged: tuple[StagedOp, ...]


def tiled(wanted: Layers, machine: Machine, options: str) -> Tiled:
    """Run layers in tiles; their transfers beside other steps, with offsets.

    Raises: PassFailedException if they do not fit.
    """
    module = module_of(wanted)
    TARGET.set(module, TargetAttr.of(machine))
    found = TileOptions(producers="producers=false" not in options)
    found = replace(found, fastest="minimize=time" in options)
    function = function_of(module.clone())
    view_picked_elements(function, machine, fastest=found.fastest)
    staged = stage_function(function, machine, found).ops
    through(module, f"npu-tile-loops{options}")
    outputs, counters = counted(module, wanted.shapes)
    return Tiled(outputs, moved_bytes(counters), counters.transfers, tuple(staged))


def predicted(staged: tuple[StagedOp, ...]) -> int:
    """The bytes that the tiles of some ops move, with the parameters of what runs on them."""
    total = 0
    for each in staged:
        total += 0 if each.staging is None else each.staging.bytes
        for op in (op for chain in each.chains.values() for op in chain):
            total += sum(bytes_of(map_type(value)) for value in op.operands[1:-1])
    return total


@settings(max_examples=60, deadline=None)
@given(
    wanted=layers(),
    share=st.sampled_from([1.0, 0.7, 0.4, 0.25, 0.15]),
    minimize=st.sampled_from(["bytes", "time"]),
    timed=st.booleans(),
)
def test_tiles_of_readers_mean_the_same(
    wanted: Layers, share: float, minimize: str, timed: bool
) -> None:
    machine = replace(MACHINE, sram_bytes=max(64, int(share * wanted.bytes)))
    machine = replace(machine, **TIMED) if timed else machine
    expected = run(module_of(wanted), wanted.shapes)
    try:
        apart = tiled(wanted, machine, f"{{minimize={minimize} producers=false}}")
    except PassFailedException:
        return  # not even the smallest tiles fit
    found = tiled(wanted, machine, f"{{minimize={minimize}}}")
    for each in (apart, found):
        for one, other in zip(each.outputs, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        copied = 8 * prod(wanted.source) if wanted.in_place else 0
        assert each.moved == predicted(each.staged) + copied
    assert found.moved <= apart.moved
    assert all(sum(each.buffers) <= each.free for each in found.staged)


@pytest.mark.parametrize("kernel", [0, 3])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("timed", [False, True])
def test_maps_between_do_not_leave_the_chip(kernel: int, in_place: bool, timed: bool) -> None:
    """A relu, a depthwise convolution and a 1x1 convolution move what the last one does alone."""
    wanted = Layers(channels=16, rows=6, columns=6, out=8, relu=True, kernel=kernel)
    wanted = replace(wanted, in_place=in_place)
    machine = replace(MACHINE, **TIMED, sram_bytes=3000)
    machine = machine if timed else replace(MACHINE, sram_bytes=8000)
    found = tiled(wanted, machine, "")
    last = found.staged[-1]
    names = [LAYER.get(op) for op in last.chains[0]]
    assert names == (["relu", "depthwise"] if kernel else ["relu"])
    apart = tiled(wanted, machine, "{producers=false}")
    assert found.moved < apart.moved
    for one, other in zip(found.outputs, apart.outputs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("sram_bytes", [3400, 3600, 3800])
def test_channels_at_once_leave_room_for_what_is_computed(sram_bytes: int) -> None:
    """Alone, the 1x1 convolution would have tiles of rows, which no depthwise one can compute."""
    wanted = Layers(channels=16, rows=8, columns=8, out=8, kernel=1)
    machine = replace(MACHINE, **TIMED, sram_bytes=sram_bytes)
    apart = tiled(wanted, machine, "{producers=false}").staged[-1]
    last = tiled(wanted, machine, "").staged[-1]
    assert apart.staging is not None
    assert last.staging is not None
    assert apart.staging.cut.order[0] == "rows"
    assert last.staging.cut.order == ("in",)
    assert list(last.chains) == [0]
    assert sum(last.buffers) <= last.free


@pytest.mark.parametrize(("rate", "fused"), [(Fraction(1, 2), False), (Fraction(64), True)])
def test_an_op_that_would_compute_too_often_keeps_its_loops(rate: Fraction, fused: bool) -> None:
    """The map is loaded several times; with slow memory the relu takes as long each time."""
    wanted = Layers(channels=16, rows=8, columns=8, out=64, kernel=0)
    machine = replace(MACHINE, **TIMED, sram_bytes=1500)
    found = tiled(wanted, replace(machine, sram_bytes_per_cycle=rate), "")
    last = found.staged[-1].staging
    assert last is not None
    assert last.cut.loads(0).elements > 2 * prod(wanted.source)
    assert [len(each.chains) for each in found.staged] == ([1] if fused else [0, 0])


def test_a_machine_without_time_computes_nothing_twice() -> None:
    wanted = Layers(channels=16, rows=8, columns=8, out=64, kernel=0)
    found = tiled(wanted, replace(MACHINE, sram_bytes=1500), "")
    assert not any(each.chains for each in found.staged)
    found = tiled(wanted, replace(MACHINE, sram_bytes=20000), "")
    assert [list(each.chains) for each in found.staged] == [[0]]


@pytest.mark.parametrize("sram_bytes", [400, 1500, 6000])
def test_two_activations_in_front_of_two_readers(sram_bytes: int) -> None:
    """Both run on the tiles of both readers, the second one behind the first one."""
    kind, pixels, out = map_of((1, 4, 6, 6)), map_of((2, 4, 1, 1)), map_of((1, 2, 6, 6))
    module = parse(f"""
func.func @f(%x: {kind}, %w: {pixels}, %y: {out}, %z: {out}) {{
  %r = dram.alloc : {kind}
  npu.relu ins(%x : {kind}) outs(%r : {kind})
  %s = dram.alloc : {kind}
  npu.map ins(%r : {kind}) outs(%s : {kind}) with cos
  npu.conv2d ins(%s, %w : {kind}, {pixels}) outs(%y : {out})
  npu.conv2d ins(%s, %w : {kind}, {pixels}) outs(%z : {out})
  func.return
}}""")
    TARGET.set(module, TargetAttr.of(replace(MACHINE, **TIMED, sram_bytes=sram_bytes)))
    random = np.random.default_rng(5)
    shapes = [shape_of(arg) for arg in function_of(module).args]
    inputs = [random.integers(-3, 4, shape).astype(np.float32) for shape in shapes]
    expected = run_function(module.clone(), None, inputs)
    through(module, "npu-tile-loops")
    assert not any("npu.tile" in op.attributes for op in module.walk() if op.name == "npu.relu")
    for one, other in zip(run_function(module, None, inputs), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def kernels_and_bias(computed: str) -> str:
    """A depthwise convolution and a 1x1 convolution; a relu computes one of their parameters."""
    names = ("x", "k", "w", "b", "z")
    shapes = ((1, 16, 6, 6), (16, 1, 3, 3), (2, 16, 1, 1), (2,), (1, 2, 6, 6))
    types = {name: map_of(shape) for name, shape in zip(names, shapes, strict=True)}
    kind = types[computed]
    types["r"] = kind
    given = {name: "r" if name == computed else name for name in names}
    signature = ", ".join(f"%{name}: {types[name]}" for name in names)
    k, w, b = given["k"], given["w"], given["b"]
    return f"""
func.func @f({signature}) {{
  %r = dram.alloc : {kind}
  npu.relu ins(%{computed} : {kind}) outs(%r : {kind})
  %y = dram.alloc : {types["x"]}
  npu.conv2d ins(%x, %{k} : {types["x"]}, {types["k"]}) outs(%y : {types["x"]})
      pads [1, 1, 1, 1] groups 16
  npu.conv2d ins(%y, %{w}, %{b} : {types["x"]}, {types["w"]}, {types["b"]})
      outs(%z : {types["z"]})
  func.return
}}"""


def test_kernels_do_not_depend_on_producers() -> None:
    """What computes the kernels of a depthwise convolution does not run on the tiles behind it."""
    machine = replace(MACHINE, **TIMED, sram_bytes=2000)
    module = parse(kernels_and_bias("k"))
    (relu, last) = stage_function(function_of(module), machine, TileOptions()).ops
    assert relu.op.name == "npu.relu"
    assert [op.name for op in last.chains[0]] == ["npu.conv2d"]


@pytest.mark.parametrize("computed", ["w", "b"])
@pytest.mark.parametrize("sram_bytes", [1000, 2000, 6000])
def test_parameters_that_are_computed(computed: str, sram_bytes: int) -> None:
    module = parse(kernels_and_bias(computed))
    TARGET.set(module, TargetAttr.of(replace(MACHINE, **TIMED, sram_bytes=sram_bytes)))
    random = np.random.default_rng(4)
    values = [random.integers(-3, 4, shape_of(arg)) for arg in function_of(module).args]
    inputs = [each.astype(np.float32) for each in values]
    expected = run_function(module.clone(), None, inputs)[-1]
    through(module, "npu-tile-loops")
    assert sum(op.name == "npu.relu" for op in module.walk()) > 0
    assert not any(op.name == "npu.relu" and "npu.tile" in op.attributes for op in module.walk())
    np.testing.assert_array_equal(run_function(module.clone(), None, inputs)[-1], expected)
    through(module, PLACED)
    np.testing.assert_array_equal(run_function(module, None, inputs)[-1], expected)
