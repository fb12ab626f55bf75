"""`npu-choose-flash`: choose layer by layer where flash buys instructions (on buffers).

    builtin.module attributes {npu.flash_bytes = 20000 : i64} {
      ...
      npu.conv2d ins(%x, %w, %b : ..., memref<64x64x3x3xi8, #npu.flash>, ...) outs(%y : ...) ...
becomes
      npu.conv2d ins(%x, %w, %b : ...) outs(%y : ...) ... {npu.flash = "small"}

Level of IR: layers on buffers, behind `npu-choose-kernels`, before `npu-overlay-maps` and
`npu-lower-to-loops`, which read the attribute of the layer before that of the module.

The decision: which layers are fast, so that all constants take at most `npu.flash_bytes` of the
module, or the flash of the machine, and one inference takes the fewest instructions. Each layer is
lowered in both forms, on a copy: that tells the bytes of its constants, and an estimate of its
instructions. Layers with a working memory stay fast, as their kernel has no small form;
`npu-choose-kernels` gives them one only where their constants fit. If all layers can be fast, those
of integers are, and no small form of them is built. If no constant has integers, or if the module
says which form all layers have, nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerType, ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from npu_dialect.attributes import BY_CHANNEL, FLASH, FLASH_BYTES, PLANNED_AS, RUNS
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import Map, bytes_of, map_type, shape_of
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis.loop_work import Counter, UnknownWork
from npu_passes.graph.use_flash import Flash
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.overlap.overlay_maps import alone, globals_of
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_plans.kernels.column_plan import ColumnPlan
from npu_plans.kernels.flash_plan import Offer, taken

MOST = 4
"""The constants of a fast layer take at most so many times the bytes of its parameters: a weight of
8 bits takes 16, and there is a second table of biases."""
MOST_SMALL = 2
"""The same of a small layer: bytes, with biases and scales of each channel."""
TABLE = 1024
"""The most bytes of tables that the fast form of a layer has and the small one has not, beside
those that grow with its parameters."""
SAME = Offer(0, 0)
"""What the fast form offers that is the small one."""


@dataclass(frozen=True)
class ChooseFlashPass(RefusingPass):
    """Choose layer by layer where flash buys instructions; see the module."""

    name = "npu-choose-flash"

    bytes: int | None = None
    """The most bytes of constants. Default: `npu.flash_bytes` of the module, else the machine's
    flash."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set `npu.flash` on the layers that are small.

        Raises: PassFailedException if `bytes` is negative.
        """
        if self.bytes is not None and self.bytes < 0:
            raise Refusal(f"expected bytes of at least 0, got {self.bytes}")
        budget = budget_of(op) if self.bytes is None else self.bytes
        if PLANNED_AS.is_on(op) or budget is None:
            return
        layers = layers_in(op)
        if most_bytes(op, layers) <= budget:
            return
        free = [each for each in layers if not has_scratch(each)]
        fast, rest = forms(ctx, op, layers, "fast"), others(op, layers)
        if rest + sum(each.bytes for each in fast.values()) <= budget:
            free = [each for each in free if computes_floats(each)]
        small = forms(ctx, op, free, "small") if free else {}
        least = rest + sum(small.get(each, fast[each]).bytes for each in layers)
        offers = [offer(each, fast[each], small[each]) for each in free]
        chosen = taken(offers, budget - least)
        for index, layer in enumerate(free):
            if index not in chosen and offers[index] != SAME:
                FLASH.set(layer, "small")


@dataclass(frozen=True)
class Form:
    """What the loops of a layer take: `bytes` of constants, and instructions."""

    bytes: int
    counter: Counter
    function: FuncOp

    @cached_property
    def work(self) -> float:
        """An estimate of the instructions; 0 if the loops do not tell.

        It is counted when it is asked for: a budget for all fast layers needs none.
        """
        try:
            return self.counter.of_function(self.function.sym_name.data)
        except UnknownWork:
            return 0.0


def budget_of(module: ModuleOp) -> int | None:
    """The most bytes of constants; None if nobody says so, or if all layers have one form."""
    given = FLASH_BYTES.get(module)
    if given is not None:
        return given
    machine = machine_of(module)
    return None if machine is None or FLASH.is_on(module) else machine.flash_bytes


def layers_in(module: ModuleOp) -> list[LayerOp]:
    """The layers on buffers, in the order of the text."""
    return [each for each in walk_kind(module, LayerOp) if each.destination is not None]


def offer(layer: LayerOp, fast: Form, small: Form) -> Offer:
    """What the fast form of a layer takes and saves in one inference."""
    return Offer(fast.bytes - small.bytes, (small.work - fast.work) * (RUNS.get(layer) or 1))


def computes_floats(layer: LayerOp) -> bool:
    """Whether a layer computes floats: then its small form may take fewer instructions, too."""
    assert layer.destination is not None
    return map_type(layer.destination).get_element_type() == f32


def has_scratch(layer: LayerOp) -> bool:
    """Whether a layer has a working memory."""
    return isinstance(layer, Conv2dOp) and layer.scratch is not None


def most_bytes(
    module: ModuleOp, layers: Sequence[LayerOp], fast: Sequence[LayerOp] | None = None
) -> int:
    """Bytes that the constants of a program do not exceed, whatever form its layers have.

    A byte becomes 16 bits, or a part of a table of as many bytes again. A layer that gathers
    columns has weights for each phase besides. 0 for a program without constants of integers: its
    layers have one form. With `fast`, all other layers are small.
    """
    found = list(walk_kind(module, memref.GlobalOp))
    if not any(isinstance(element_of_global(op), IntegerType) for op in found):
        return 0
    small = 0 if fast is None else others(module, fast)
    large = sum(map(bytes_of_global, found)) - small
    phases = sum(map(bytes_of_columns, layers if fast is None else fast))
    return MOST * large + MOST_SMALL * small + TABLE * len(layers) + phases


def bytes_of_columns(layer: LayerOp) -> int:
    """Bytes of the weights of a layer that may gather columns; 0 for another one."""
    if not isinstance(layer, Conv2dOp) or not BY_CHANNEL.is_on(layer):
        return 0
    if not ColumnPlan.fits(*layer.axes()):
        return 0
    return shape_of(layer.weight)[0] * ColumnPlan(*layer.axes()).filter_bytes


def element_of_global(op: memref.GlobalOp) -> Attribute:
    """The type of the elements of a constant."""
    return cast(Map, op.type).get_element_type()


def forms(
    ctx: Context, module: ModuleOp, layers: Sequence[LayerOp], flash: Flash
) -> dict[LayerOp, Form]:
    """What each layer takes if all have one form. The module stays as it is.

    Of loops whose number of trips does not follow from constants, the work is not known, and counts
    as 0 in both forms.
    """
    copies = [alone(layer, f"layer{index}") for index, layer in enumerate(layers)]
    scratch = ModuleOp([*globals_of(module, layers), *copies])
    scratch.attributes.update(module.attributes)
    LowerToLoopsPass(flash=flash).apply(ctx, scratch)
    sizes = {op.sym_name.data: bytes_of_global(op) for op in walk_kind(scratch, memref.GlobalOp)}
    counter = Counter({copy.sym_name.data: copy for copy in copies})
    return {
        layer: Form(constants_of(copy, sizes), counter, copy)
        for layer, copy in zip(layers, copies, strict=True)
    }


def constants_of(function: FuncOp, sizes: Mapping[str, int]) -> int:
    """Bytes of the constants that a function reads."""
    names = {op.name_.string_value() for op in walk_kind(function, memref.GetGlobalOp)}
    return sum(sizes[name] for name in names)


def bytes_of_global(op: memref.GlobalOp) -> int:
    """Bytes of a constant."""
    return bytes_of(cast(Map, op.type))


def others(module: ModuleOp, layers: Sequence[LayerOp]) -> int:
    """Bytes of the constants that no layer reads."""
    read = {
        value.owner.name_.string_value()
        for layer in layers
        for value in layer.operands
        if isinstance(value.owner, memref.GetGlobalOp)
    }
    return sum(
        bytes_of_global(op)
        for op in walk_kind(module, memref.GlobalOp)
        if op.sym_name.data not in read
    )
