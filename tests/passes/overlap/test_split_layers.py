"""Layers in groups compute the same, from the same bytes, and fewer of these are bare.

The interpreter poisons the target of a transfer until the wait, so a group that computes too early,
or takes another part, gives wrong results.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from npu_dialect.dma import StartOp, WaitOp
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.target import TargetAttr
from npu_passes.analysis.timed_program import read_program
from npu_passes.overlap.split_layers import SplitLayersPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.support.loop_builder import memref_type
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import Cycles, simulate, total_of
from npu_tools.shared.installed import context

MACHINE = Machine.load("exynos-npu")

LAYERS = {
    "conv": "npu.conv2d ins({x}, {w}, {b}) outs({y})",
    "depthwise": "npu.conv2d ins({x}, {w}, {b}) outs({y}) groups {groups}",
    "add": "npu.add ins({x}, {w}) outs({y})",
    "place": "npu.add ins({x}, {w}) outs({x})",
    "pool": "npu.max_pool2d ins({x}) outs({y}) kernel [1, 1] strides [1, 1]",
    "softmax": "npu.softmax ins({x}) outs({y}) axis 1",
}


@dataclass(frozen=True)
class Case:
    """A layer on a map of `channels` channels, with `kernels` kernels of `size` x `size`."""

    kind: str
    channels: int
    kernels: int
    size: int
    extent: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the input, the weights or the second input, the bias and the output."""
        x = (1, self.channels, self.extent, self.extent)
        if self.kind not in ("conv", "depthwise"):
            return {"x": x, "w": x, "b": (self.channels,), "y": x}
        depth, kernels = self.channels, self.kernels
        if self.kind == "depthwise":
            depth, kernels = 1, self.channels
        inside = self.extent - self.size + 1
        w = (kernels, depth, self.size, self.size)
        return {"x": x, "w": w, "b": (kernels,), "y": (1, kernels, inside, inside)}

    def text(self) -> str:
        """A function that loads x, w and b, runs the layer and stores y."""
        types = {
            f"{name}{place}": f"memref<{'x'.join(map(str, shape))}xf32, #npu.{space}>"
            for name, shape in self.shapes.items()
            for place, space in (("", "dram"), ("_tile", "sram"))
        }
        moves = [self.moved(name, types) for name in ("w", "x", "b")]
        operands = LAYERS[self.kind].format(
            **{name: f"%{name}_tile" for name in self.shapes}, groups=self.channels
        )
        for group in ("ins", "outs"):
            first = operands.index(f"{group}(") + len(group) + 1
            end = operands.index(")", first)
            names = operands[first:end].split(", ")
            listed = ", ".join(types[name.removeprefix("%")] for name in names)
            operands = f"{operands[:end]} : {listed}{operands[end:]}"
        out = "x" if self.kind == "place" else "y"
        args = ", ".join(
            f"%{name} : {types[name]} {{dram.{'output' if name == 'y' else 'input'}}}"
            for name in self.shapes
        )
        store = (
            f"%s = dma.start %{out}_tile to %y channel 3 : {types[out + '_tile']} to {types['y']}"
        )
        tiles = [f"%{name}_tile = sram.alloc : {types[name + '_tile']}" for name in self.shapes]
        waits = [f"dma.wait %{name}_token" for name in ("w", "x", "b")]
        lines = [*tiles, *moves, *waits, operands, store, "dma.wait %s", "func.return"]
        return f"func.func @f({args}) {{\n" + "\n".join(lines) + "\n}"

    def again(self) -> str:
        """A function that runs the layer twice, with weights w and v, and stores its output each
        time: to y and to z, from one tile.
        """
        once = self.text().splitlines()
        types = {line.split(" = ")[0]: line.split(" : ")[1] for line in once if "alloc" in line}
        dram = {name: types[f"%{name}_tile"].replace("sram", "dram") for name in self.shapes}
        arguments = once[0].removesuffix(") {")
        head = f"{arguments}, %v : {dram['w']} {{dram.input}}, %z : {dram['y']} {{dram.output}}) {{"
        *body, store, wait, end, close = once[1:]
        second = [body[-1].replace("%w_tile", "%v_tile"), store.replace("%s =", "%s2 =")]
        return "\n".join(
            [
                *(head, f"%v_tile = sram.alloc : {types['%w_tile']}", *body, store),
                f"%v2 = dma.start %v to %v_tile channel 1 : {dram['w']} to {types['%w_tile']}",
                *(wait, "dma.wait %v2", second[0], second[1].replace("to %y ", "to %z ")),
                *("dma.wait %s2", end, close),
            ]
        )

    def behind_a_store(self) -> str:
        """A function that copies v to z by way of the tile into which the layer computes y."""
        once = self.text().splitlines()
        types = {line.split(" = ")[0]: line.split(" : ")[1] for line in once if "alloc" in line}
        dram, tile = types["%y_tile"].replace("sram", "dram"), types["%y_tile"]
        arguments = once[0].removesuffix(") {")
        first = next(number for number, line in enumerate(once) if "dma.start" in line)
        wait = next(number for number, line in enumerate(once) if "dma.wait" in line)
        return "\n".join(
            [
                f"{arguments}, %v : {dram} {{dram.input}}, %z : {dram} {{dram.output}}) {{",
                *once[1:first],
                f"%v2 = dma.start %v to %y_tile channel 1 : {dram} to {tile}",
                "dma.wait %v2",
                f"%s2 = dma.start %y_tile to %z channel 2 : {tile} to {dram}",
                *(*once[first:wait], "dma.wait %s2", *once[wait:]),
            ]
        )

    def moved(self, name: str, types: dict[str, str]) -> str:
        """The start of a load."""
        tile = f"{name}_tile"
        move = f"dma.start %{name} to %{tile} channel {'wxb'.index(name)}"
        return f"%{name}_token = {move} : {types[name]} to {types[tile]}"


CONV = Case("conv", 32, 64, 3, 10)
CASES = st.builds(
    Case,
    st.sampled_from(sorted(LAYERS)),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(1, 3),
    st.integers(3, 24),
)


def module_of(case: Case, text: str | None = None) -> ModuleOp:
    module = Parser(context(), text or case.text()).parse_module()
    module.attributes["npu.target"] = TargetAttr.of(replace(MACHINE, dma_setup_cycles=8))
    AssignSramOffsetsPass().apply(context(), module)
    module.verify()
    return module


def result(module: ModuleOp, case: Case) -> np.ndarray:
    random = np.random.default_rng(3)
    shapes = [shape for name, shape in case.shapes.items() if name != "y"]
    inputs = [random.integers(-9, 10, shape).astype(np.float32) for shape in shapes]
    (found,) = run_function(module.clone(), "f", inputs)
    return found


def timed(module: ModuleOp) -> Cycles:
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    rates = replace(Rates.of(MACHINE), setup=8)
    return total_of(simulate(read_program(function, rates).body, rates))


def layers(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, LayerOp)]


@settings(max_examples=60, deadline=None)
@given(case=CASES)
@example(case=CONV)
@example(case=Case("place", 40, 1, 1, 24))
@example(case=Case("depthwise", 40, 1, 3, 24))
def test_the_same_from_the_same_bytes(case: Case) -> None:
    module = module_of(case)
    before, expected = timed(module), result(module, case)
    SplitLayersPass().apply(context(), module)
    module.verify()
    np.testing.assert_array_equal(result(module, case), expected)
    after = timed(module)
    assert (after.bytes, after.macs) == (before.bytes, before.macs)
    assert after.total <= before.total
    assert after.bare_bytes <= before.bare_bytes
    if case.kind == "softmax" and case.channels > 1:  # it needs all channels of its input
        assert len(layers(module)) == 1
    elif prod(case.shapes["y"]) >= 8192:
        assert len(layers(module)) > 1
        assert after.total < before.total


AGAIN = CASES.filter(lambda case: case.kind not in ("place", "softmax", "pool"))


def twice(module: ModuleOp, case: Case) -> tuple[np.ndarray, ...]:
    """What a function with the arguments x, w, b and v has stored to y and z."""
    random = np.random.default_rng(4)
    inputs = next(op for op in module.walk() if isinstance(op, FuncOp)).args
    shapes = [memref_type(inputs[place]).get_shape() for place in (0, 1, 2, 4)]
    inputs = [random.integers(-9, 10, shape).astype(np.float32) for shape in shapes]
    return tuple(run_function(module.clone(), "f", inputs))


@settings(max_examples=60, deadline=None)
@given(case=AGAIN, again=st.booleans())
@example(case=CONV, again=True)
@example(case=CONV, again=False)
@example(case=Case("depthwise", 40, 1, 3, 24), again=True)
@example(case=Case("depthwise", 40, 1, 3, 24), again=False)
@example(case=Case("add", 40, 1, 1, 24), again=False)
def test_groups_wait_for_what_they_overwrite(case: Case, again: bool) -> None:
    """A part that is waited for too late is an error; no byte more moves, and nothing is slower."""
    module = module_of(case, case.again() if again else case.behind_a_store())
    before, expected = timed(module), twice(module, case)
    SplitLayersPass().apply(context(), module)
    module.verify()
    for found, wanted in zip(twice(module, case), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    after = timed(module)
    assert (after.bytes, after.macs) == (before.bytes, before.macs)
    assert after.total <= before.total


def test_each_group_waits_for_its_part_of_an_earlier_store() -> None:
    """Parts start where the store has started; the second is waited for behind the first group."""
    module = module_of(CONV, CONV.behind_a_store())
    module.attributes["npu.target"] = TargetAttr.of(replace(MACHINE, dma_setup_cycles=20))
    SplitLayersPass().apply(context(), module)
    first, between, last = kinds(module).split("L")
    assert first == "sw" + "ss" + "sss" + "s" + "wwww"
    assert (between, last) == ("sww", "sww")


def kinds(module: ModuleOp) -> str:
    """The starts (s), waits (w) and layers (L) of a module, in their order."""
    found = ((StartOp, "s"), (WaitOp, "w"), (LayerOp, "L"))
    return "".join(name for op in module.walk() for kind, name in found if isinstance(op, kind))


def test_parts_start_and_are_waited_for_where_they_should() -> None:
    """The first kernels, the input and the bias start first; each group waits for its kernels.

    The bias takes 16 cycles, less than a start: it stays whole.
    """
    module = module_of(CONV)
    module.attributes["npu.target"] = TargetAttr.of(replace(MACHINE, dma_setup_cycles=20))
    SplitLayersPass().apply(context(), module)
    assert len(layers(module)) == 4
    assert kinds(module) == "sss" + 3 * "s" + "www" + "Ls" + 3 * "wLs" + "wwww"


@pytest.mark.parametrize("setup", [8, 10_000])
def test_a_start_may_cost_too_much(setup: int) -> None:
    module = module_of(CONV)
    module.attributes["npu.target"] = TargetAttr.of(replace(MACHINE, dma_setup_cycles=setup))
    SplitLayersPass().apply(context(), module)
    assert (len(layers(module)) > 1) == (setup == 8)
