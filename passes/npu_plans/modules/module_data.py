"""Modules as plain data: branches of layers over feature maps, all sizes in bytes. No IR in here.

The planner (`policies.py`), the branch order and the traffic accounts work on it;
`module_reader.py` makes it from `npu.module`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from npu_plans.modules.footprints import MapBytes

Policy = Literal["I", "II"]
"""Branch processing (I): MIFM and MOFM stay on chip; (II): the MIFM only (Algorithm 6)."""


@dataclass(frozen=True)
class FeatureMap:
    """A map; `key` tells maps apart."""

    key: int
    size: MapBytes = field(compare=False)


@dataclass(frozen=True)
class Pass:
    """Bytes of working memory and weights of a layer that computes a part of its OFM's channels."""

    working: int
    weights: int


@dataclass(frozen=True)
class Layer:
    """A layer: the maps that it reads, the one that it writes, and its partial memories.

    `parameters` counts its weights without bias. `inside` is the map between a convolution and the
    pool that is fused into it: it never exists, but layer by layer it is written and read.
    `moves` is false for a layer that only arranges maps: a concatenation. An `elementwise` one may
    be computed in the place of a map that it reads, if that dies there. `split` says what it needs
    if it runs in 2, 3, ... passes over its output channels; nothing if it is not to be split.
    `tail` says what `npu-fuse-tails` makes of it, `rows` the bytes of its IFM that one row needs.
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
        """Numbers of passes that the layer may run in, ascending, with what one of them needs."""
        return enumerate((Pass(self.working, self.weights), *self.split), 1)


@dataclass(frozen=True)
class Branch:
    """Steps in execution order, that lead to the branch's part of the merge."""

    part: int
    steps: tuple[Layer | Module, ...]
    result: FeatureMap


@dataclass(frozen=True)
class Module:
    """Branches in execution order, merged into `result`; `input` is its MIFM, `result` its MOFM.

    `slices`: whether the parts lie one behind the other in the MOFM, as concatenated channels do.
    """

    name: str
    input: FeatureMap
    result: FeatureMap
    merge: Literal["concat", "add"]
    branches: tuple[Branch, ...]
    slices: bool = True

    @property
    def reads(self) -> tuple[FeatureMap, ...]:
        """What the module reads, as a step of a branch."""
        return (self.input,)

    def is_view(self, branch: Branch) -> bool:
        """Whether a branch is the MIFM itself: it costs nothing."""
        return branch.result == self.input

    def parts(self) -> tuple[Branch, ...]:
        """The branches in the order of the merge."""
        return tuple(sorted(self.branches, key=lambda branch: branch.part))

    def slice_offset(self, branch: Branch) -> int | None:
        """Where a branch's part begins in the MOFM, in bytes; None if it is no slice of it."""
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
