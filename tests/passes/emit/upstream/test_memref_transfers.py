"""`memref.dma_start` and `memref.dma_wait` of npu-to-upstream move what `dma.start` moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from helpers.parsing import parse
from npu_dialect.interpreters.runner import register_implementations
from npu_passes.emit.upstream.to_upstream import ToUpstreamPass

Array = NDArray[Any]


@dataclass(frozen=True)
class Part:
    """A part of a map, and the order of the axes of its tile in memory, the outermost first."""

    map: tuple[int, ...]
    at: tuple[int, ...]
    sizes: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def tile_strides(self) -> list[int]:
        """The strides of the tile, which has no gaps."""
        steps, step = dict[int, int](), 1
        for axis in reversed(self.order):
            steps[axis] = step
            step *= self.sizes[axis]
        return [steps[axis] for axis in range(len(self.sizes))]

    def text(self) -> str:
        """A function that moves the part onto the chip, and from there to another map."""
        rank, extents = len(self.map), "x".join(map(str, self.sizes))
        steps = [prod(self.map[axis + 1 :]) for axis in range(rank)]
        offset = sum(at * step for at, step in zip(self.at, steps, strict=True))
        whole = f"memref<{'x'.join(map(str, self.map))}xi16, #npu.dram>"
        part = f"memref<{extents}xi16, strided<{steps}, offset: {offset}>, #npu.dram>"
        tile = f"memref<{extents}xi16, strided<{self.tile_strides}>, #npu.sram>"
        view = f"{list(self.at)} {list(self.sizes)} {[1] * rank} : {whole} to {part}"
        return f"""
        func.func @net(%x: {whole} {{dram.input}}, %y: {whole} {{dram.output}})
            attributes {{sram.arena = {2 * prod(self.sizes)} : i64}} {{
          %tile = sram.alloc at 0 : {tile}
          %from = memref.subview %x{view}
          %to = memref.subview %y{view}
          %t = dma.start %from to %tile channel 0 : {part} to {tile}
          dma.wait %t
          %u = dma.start %tile to %to channel 1 : {tile} to {part}
          dma.wait %u
          func.return
        }}"""


@st.composite
def parts(draw: st.DrawFn) -> Part:
    """Parts of maps of up to four axes."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    before = [draw(st.integers(0, 2)) for _ in sizes]
    behind = [draw(st.integers(0, 2)) for _ in sizes]
    whole = tuple(sum(each) for each in zip(before, sizes, behind, strict=True))
    return Part(whole, tuple(before), sizes, tuple(draw(st.permutations(range(len(sizes))))))


@register_impls
@dataclass
class Engine(InterpreterFunctions):
    """An engine that copies when a run is waited for; it counts the runs."""

    running: dict[tuple[int, ...], tuple[Array, Array]] = field(
        default_factory=dict[tuple[int, ...], tuple[Array, Array]]
    )
    started: int = 0

    @impl(memref.DmaStartOp)
    def start(self, _: Interpreter, op: memref.DmaStartOp, args: PythonValues) -> PythonValues:
        """Remember a run until its wait."""
        rank = len(op.src_indices)
        source, target = args[: rank + 1], args[rank + 1 : 2 * rank + 2]
        count, tag, *number = args[2 * rank + 2 :]
        key = (tag.ctypes.data, *number)
        assert key not in self.running
        self.running[key] = run_of(source, count), run_of(target, count)
        self.started += 1
        return ()

    @impl(memref.DmaWaitOp)
    def wait(self, _: Interpreter, op: memref.DmaWaitOp, args: PythonValues) -> PythonValues:
        """Copy a run."""
        tag, *number, count = args
        source, target = self.running.pop((tag.ctypes.data, *number))
        assert source.size == count
        target[:] = source
        return ()


def run_of(place: Sequence[Any], count: int) -> Array:
    """The `count` elements of memory from an element of a buffer on."""
    buffer, *indices = place
    first = buffer[tuple(slice(index, index + 1) for index in indices)]
    return as_strided(first, (count,), (buffer.itemsize,))


def moved(module: ModuleOp, part: Part) -> tuple[Array, Engine]:
    """The map that the function writes, and the engine."""
    engine = Engine()
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    interpreter.register_implementations(engine)
    x = np.arange(prod(part.map), dtype=np.int16).reshape(part.map)
    y = np.full(part.map, -1, np.int16)
    interpreter.call_op("net", (x, y, np.zeros(2 * prod(part.sizes), np.int8)))
    assert not engine.running
    return y, engine


@settings(deadline=None, max_examples=60)
@given(parts())
def test_the_part_moves_and_nothing_else(part: Part) -> None:
    module = parse(part.text())
    ToUpstreamPass(transfers="memref", sram_space=1).apply(Context(), module)
    module.verify()
    y, engine = moved(module, part)
    box = tuple(slice(at, at + size) for at, size in zip(part.at, part.sizes, strict=True))
    wanted = np.full(part.map, -1, np.int16)
    wanted[box] = np.arange(prod(part.map), dtype=np.int16).reshape(part.map)[box]
    np.testing.assert_array_equal(y, wanted)
    assert engine.started <= 2 * prod(part.sizes)


def test_a_part_without_gaps_is_one_run() -> None:
    part = Part((3, 4, 6), (1, 0, 0), (2, 4, 6), (0, 1, 2))
    module = parse(part.text())
    ToUpstreamPass(transfers="memref", sram_space=1).apply(Context(), module)
    assert moved(module, part)[1].started == 2
