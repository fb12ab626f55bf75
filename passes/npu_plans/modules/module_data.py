"""Modules as plain data: branches of layers over feature maps, all sizes in bytes. No IR in here.

The planner (`policies.py`), the branch order and the traffic counts use these classes;
`module_reader.py` builds them from `npu.module`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from npu_plans.modules.footprints import MapBytes

Policy = Literal["I", "II"]
"""Branch processing (Algorithm 6): under I, MIFM and MOFM stay on chip; under II, only the MIFM."""


@dataclass(frozen=True)
class FeatureMap:
    """A feature map; two maps are the same if their `key` is."""

    key: int
    size: MapBytes = field(compare=False)


@dataclass(frozen=True)
class Pass:
    """Bytes of working memory and weights of a layer that computes some channels of its OFM."""

    working: int
    weights: int


@dataclass(frozen=True)
class Layer:
    """A layer: the maps that it reads, the map that it writes, and what else it needs, in bytes.

    `working`: WM.Partial. `weights`: W.Partial. `parameters`: all its weights, without bias.
    `inside`: the map between a convolution and the pool that is fused into it; it exists only in
    layer-by-layer execution. `moves`: false for a layer that only arranges maps, a concatenation.
    `elementwise`: whether it may overwrite a map that it reads and that dies there. `split`: what
    one pass needs if the layer runs in 2, 3, ... passes over its output channels; empty if it must
    not be split. `tail`: the kind of layer that `npu-fuse-tails` can run row by row. `rows`: the
    bytes of its IFM that one output row needs.
    """

    name: str
    reads: tuple[FeatureMap, ...]
    result: FeatureMap
    working: int = 0
    weights: int = 0
    parameters: int = 0
    inside: int = 0
    moves: bool = True
    elementwise: bool = False
    split: tuple[Pass, ...] = ()
    tail: Literal["average", "pointwise"] | None = None
    rows: int = 0

    def passes(self) -> Iterator[tuple[int, Pass]]:
        """Each number of passes in which the layer may run, ascending, and what one pass needs."""
        return enumerate((Pass(self.working, self.weights), *self.split), 1)


@dataclass(frozen=True)
class Branch:
    """Layers and nested modules in execution order; `result` is the operand `part` of the merge."""

    part: int
    steps: tuple[Layer | Module, ...]
    result: FeatureMap


@dataclass(frozen=True)
class Module:
    """Branches in execution order and their merge; `input` is the MIFM, `result` the MOFM.

    `slices`: whether each part is contiguous in the MOFM, as concatenated channels are.
    """

    name: str
    input: FeatureMap
    result: FeatureMap
    merge: Literal["concat", "add"]
    branches: tuple[Branch, ...]
    slices: bool = True

    @property
    def reads(self) -> tuple[FeatureMap, ...]:
        """The maps that the module reads as a step of a branch: its MIFM."""
        return (self.input,)

    def is_view(self, branch: Branch) -> bool:
        """Whether a branch is the MIFM itself, so that it needs no layers."""
        return branch.result == self.input

    def parts(self) -> tuple[Branch, ...]:
        """The branches in the order of the merge's operands."""
        return tuple(sorted(self.branches, key=lambda branch: branch.part))

    def slice_offset(self, branch: Branch) -> int | None:
        """The offset of a branch's part in the MOFM, in bytes; None if parts are no slices."""
        if not self.slices:
            return None
        return sum(each.result.size.full for each in self.parts() if each.part < branch.part)

    def layers(self) -> Iterator[Layer]:
        """All layers, those of nested modules included, in execution order."""
        for branch in self.branches:
            for step in branch.steps:
                if isinstance(step, Module):
                    yield from step.layers()
                else:
                    yield step
