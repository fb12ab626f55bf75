"""The layers at the memory peak that could write their outputs over their inputs.

    npu.conv2d ins(%x, %w, %b : ...) outs(%y : ...)     // %x dies here, %y begins to live here

If %x and %y side by side need more than the rest of a plan, they have to share memory to make it
smaller. Whether they can depends on their layouts and on the loops.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.analysis.lifetimes import Lifetimes, lifetimes_of
from npu_passes.analysis.on_chip import functions, on_chip_values
from npu_passes.analysis.views import base_of
from npu_plans.arena.problem import Overlay, Problem, live_bound


def layers_at_peaks(
    module: ModuleOp, *, closest: bool = False
) -> dict[LayerOp, list[tuple[int, int]]]:
    """The layers of a module whose buffers are too many for the peak; see `worth_it`.

    `closest`: what loops claim is not known yet, so all that begins to live in one may lie over all
    that dies there.
    """
    found: dict[LayerOp, list[tuple[int, int]]] = {}
    for function in functions(module):
        if any(on_chip_values(function, SramSpace())):
            found.update(worth_it(lifetimes_of(function, SramSpace()), closest=closest))
    return found


def inputs_at_peaks(module: ModuleOp) -> list[BlockArgument]:
    """The inputs of functions that die at the peak, in a layer or a loop that begins to write.

    What is written there would have to lie over the input to make the plan smaller.
    """
    found: list[BlockArgument] = []
    for function in functions(module):
        if any(on_chip_values(function, SramSpace())):
            found.extend(dying_inputs(lifetimes_of(function, SramSpace())))
    return found


def dying_inputs(lifetimes: Lifetimes) -> Iterator[BlockArgument]:
    """The inputs of a function that die at the peak; see `inputs_at_peaks`."""
    buffers = tuple(each.plain() for each in lifetimes.buffers)
    spans: dict[int, int] = {}
    overlays = list(lifetimes.overlays)
    for start, dying, begun in handovers(lifetimes, LayerOp, scf.ForOp):
        if begun:
            overlays += [Overlay(below, above, 0) for above in dying for below in begun]
            spans |= dict.fromkeys(dying, start)
    problem = Problem(buffers, tuple(overlays))
    least = live_bound(problem).bytes
    for index, point in spans.items():
        value = lifetimes.buffers[index].value
        live = sum(buffers[each].size for each in problem.live_at(point))
        if isinstance(value, BlockArgument) and live > least:
            yield value


def handovers(
    lifetimes: Lifetimes, *kinds: type[Operation]
) -> Iterator[tuple[int, list[int], list[int]]]:
    """Ops of some kinds at the top of a function: each one's point, and numbers of buffers.

    These are the ones that die in it, and the ones that begin to live there.
    """
    buffers = tuple(each.plain() for each in lifetimes.buffers)
    for start, op in enumerate(lifetimes.ops):
        if op.parent_op() is not lifetimes.function or not isinstance(op, kinds):
            continue
        end = start + sum(1 for _ in op.walk()) - 1
        dying = [i for i, each in enumerate(buffers) if each.first < start <= each.last <= end]
        yield start, dying, [i for i, each in enumerate(buffers) if start <= each.first <= end]


def worth_it(
    lifetimes: Lifetimes, *, closest: bool = False
) -> dict[LayerOp, list[tuple[int, int]]]:
    """The layers whose buffers are too many for the peak of a plan with every overlay.

    With each the pairs of its operands that may overlap: one that dies, and the destination.
    """
    pairs = dict(candidates(lifetimes))
    least, problem = least_bytes(lifetimes, closest=closest)
    points = {op: i for i, op in enumerate(lifetimes.ops)}
    return {
        layer: each
        for layer, each in pairs.items()
        if sum(problem.buffers[index].size for index in problem.live_at(points[layer])) > least
    }


def least_bytes(lifetimes: Lifetimes, *, closest: bool = True) -> tuple[int, Problem]:
    """The bytes of a plan with every overlay, each as close as can be; and its problem."""
    pairs = dict(candidates(lifetimes))
    buffers = tuple(each.plain() for each in lifetimes.buffers)
    place = {each.value: index for index, each in enumerate(lifetimes.buffers)}
    overlays = [
        Overlay(place[base_of(layer.operands[target])], place[base_of(layer.operands[source])], 0)
        for layer, each in pairs.items()
        for source, target in each
    ]
    if closest:
        for _, dying, begun in handovers(lifetimes, scf.ForOp):
            overlays += [Overlay(below, above, 0) for above in dying for below in begun]
    problem = Problem(buffers, (*lifetimes.overlays, *overlays))
    return live_bound(problem).bytes, problem


def candidates(lifetimes: Lifetimes) -> Iterator[tuple[LayerOp, list[tuple[int, int]]]]:
    """Layers at the top of the function with operands that die where their output begins."""
    lives = {each.value: each for each in lifetimes.buffers}
    entry = lifetimes.function.regions[0].blocks[0]
    for point, op in enumerate(lifetimes.ops):
        if not isinstance(op, LayerOp) or op.destination is None or op.regions:
            continue
        out, operands = lives.get(base_of(op.destination)), list(op.operands)
        if op.parent is not entry or out is None or out.first != point:
            continue
        roots = [base_of(value) for value in operands]
        target = operands.index(op.destination)
        if roots.count(out.value) > 1 or op.properties.get("accumulate") is not None:
            continue
        pairs = [
            (index, target)
            for index, root in enumerate(roots)
            if root in lives and lives[root].last == point and roots.count(root) == 1
            if index != target and may_alias(operands[index], op.destination)
        ]
        if pairs:
            yield op, pairs


def may_alias(one: SSAValue, other: SSAValue) -> bool:
    """Whether C lets a function reach the same bytes through both element types."""
    types = [map_type(each).get_element_type() for each in (one, other)]
    return types[0] == types[1] or any(each in BYTE_TYPES for each in types)
