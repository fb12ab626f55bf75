"""Reads a function of layers on tensors as steps over buffers (`npu_plans/modules/layer_graph.py`).

It foresees what later passes do with memory:

* `npu-bufferize`: views, layers in place, outputs that a layer writes straight, memory spaces.
* `npu-fuse-additions`: an addition and the convolution that can take it in are one step. On a
  machine with DMA, so are an addition and the activations behind it (`npu-fuse-activations`).
* `npu-concat-in-place`: a part of a concatenation lies in the concatenation's buffer, and so does a
  map that the part overwrites.
* `npu-choose-layouts` and `npu-transpose-in-place`, on a machine without DMA: a slice of channels
  of a map with its channels last spans almost the whole map; some transposed maps are views.

A step has the ops of one layer: views of its map follow it. Constants are no steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from npu_dialect.arguments import argument_attributes, is_state, is_streamed
from npu_dialect.computing import is_empty
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    AddOp,
    FullyConnectedOp,
    QuantizedAddOp,
    ReshapeOp,
    TransposeOp,
    ViewOp,
)
from npu_dialect.npu.layers.joining import JoinOp
from npu_dialect.npu.maps import is_tensor_type, shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_dialect.npu.structure import is_constant
from npu_passes.analysis.lifetimes import span_of
from npu_passes.analysis.on_chip import size_of
from npu_passes.buffers.buffer_plan import Sharing, is_tensor
from npu_passes.buffers.choose_layouts import channels_last, gains, is_channels_last, reads_integers
from npu_passes.buffers.spaces import Spaces
from npu_passes.graph.fuse_additions import activated, addition_fusion
from npu_passes.support.images import is_image_view
from npu_plans.modules.layer_graph import LayerGraph, LayerStep, Span

Sum = AddOp | QuantizedAddOp


@dataclass(frozen=True)
class LayerProgram:
    """The steps of a function, and for each the ops that run in it, in their order.

    `homes` has the number of the buffer of each map that is no view, and `layouts` the type of it
    once its layout is chosen.
    """

    graph: LayerGraph
    units: tuple[tuple[Operation, ...], ...]
    homes: Mapping[SSAValue, int]
    layouts: Mapping[SSAValue, MemRefType[Attribute]]


def read_layers(function: func.FuncOp, spaces: Spaces) -> LayerProgram | None:
    """The steps of a function; None if its order must not change.

    That is a function without a body or with several blocks, with states, or with an op that is
    neither a layer on tensors of static shape, nor a constant, nor the return.
    """
    if len(function.body.blocks) != 1:
        return None
    block = function.body.block
    states = any(is_state(argument_attributes(arg)) for arg in block.args)
    if states or not all(is_static(arg) for arg in block.args):
        return None
    if not isinstance(block.last_op, func.ReturnOp):
        return None
    if not all(is_layer(op) or is_free(op) for op in block.ops if op is not block.last_op):
        return None
    return Reader(block, spaces).program()


def is_static(value: SSAValue) -> bool:
    """Whether a value is a tensor of static shape."""
    return is_tensor_type(value.type) and value.type.has_static_shape()


def is_layer(op: Operation) -> bool:
    """Whether an op is a layer on tensors of static shape."""
    return (
        isinstance(op, LayerOp)
        and op.destination is None
        and all(map(is_static, (*op.operands, *op.results)))
    )


def is_free(op: Operation) -> bool:
    """Whether an op is a constant or an empty tensor, which may stand anywhere before its users."""
    constant = len(op.results) == 1 and not op.operands and is_constant(op.results[0])
    return constant or is_empty(op)


@dataclass
class Reader:
    """Reads the block of a function.

    `homes` gives for each value the number of its buffer, and the bytes of it that the value takes;
    None: all. `sizes` are the buffers' sizes in bytes.
    """

    block: Block
    spaces: Spaces
    sharing: Sharing = field(init=False)
    homes: dict[SSAValue, tuple[int, Span | None]] = field(init=False)
    sizes: list[int] = field(init=False)
    taken: dict[LayerOp, tuple[LayerOp, ...]] = field(init=False)
    """For the last layer of a unit, the others."""

    def __post_init__(self) -> None:
        """Find views and types as `npu-bufferize` does."""
        self.sharing = Sharing(self.block, self.spaces, {})
        for op in self.block.ops:
            self.sharing.add(op)
        self.homes = {}
        self.sizes = []
        self.taken = {}

    def program(self) -> LayerProgram:
        """The steps."""
        layers = [op for op in self.block.ops if isinstance(op, LayerOp) and self.is_step(op)]
        self.taken = {unit[-1]: unit[:-1] for op in layers if len(unit := self.unit_of(op)) > 1}
        absorbed = {op for others in self.taken.values() for op in others}
        layers = [op for op in layers if op not in absorbed]
        self.join(layers)
        self.chain(layers)
        self.transpose(layers)
        makers: dict[SSAValue, int] = {}
        steps: list[LayerStep] = []
        units: list[tuple[Operation, ...]] = []
        for number, op in enumerate(layers):
            others = self.taken.get(op, ())
            ops = (*others, op)
            sources = dict.fromkeys(value for each in ops for value in self.maps(each))
            for other in others:
                sources.pop(other.results[0])
            before = 0
            for value in sources:
                before |= 1 << makers[value] if value in makers else 0
            steps.append(self.step(op, sources, before))
            makers[op.results[0]] = number
            units.append((*ops, *self.views(op.results[0])))
        # An input that is returned without a layer that reads it has no buffer here.
        kept = {self.homes[value][0] for value in self.returned() if value in self.homes}
        graph = LayerGraph(tuple(self.sizes), tuple(steps), frozenset(kept))
        homes = {value: number for value, (number, _) in self.homes.items()}
        return LayerProgram(graph, tuple(units), homes, {each: self.layout(each) for each in homes})

    def unit_of(self, op: LayerOp) -> tuple[LayerOp, ...]:
        """The layers that later passes make one, if a sum is among them: see the module.

        Where maps leave the chip, the activations behind a sum belong to it, as they would be
        moved.
        """
        if not isinstance(op, Sum):
            return (op,)
        fusion, off_chip = addition_fusion(op), self.spaces.ends_off_chip
        if fusion is not None:
            return (fusion.conv, *(fusion.absorbed if off_chip else (op,)))
        activation, absorbed = activated(op)
        has_channels = isinstance(activation, FunctionAttr) and activation.has_channels
        return absorbed if off_chip and isinstance(op, AddOp) and not has_channels else (op,)

    def is_step(self, op: LayerOp) -> bool:
        """Whether a layer has a buffer of its own, or overwrites one: it is no view."""
        return not self.is_view(op.results[0])

    def is_view(self, value: SSAValue) -> bool:
        """Whether a value is a view, or a constant that is reshaped."""
        op = value.owner
        if not isinstance(op, ViewOp):
            return False
        return self.sharing.root[value] is self.sharing.root[op.input] or is_constant(op.input)

    def source(self, value: SSAValue) -> SSAValue:
        """The map that a value is a view of; the value itself if it is none."""
        while isinstance(value.owner, ViewOp) and self.is_view(value):
            value = value.owner.input
        return value

    def maps(self, op: Operation) -> Iterator[SSAValue]:
        """The maps that an op reads, as sources of views, without constants."""
        for value in map(self.source, op.operands):
            if not is_constant(value):
                yield value

    def views(self, value: SSAValue) -> Iterator[Operation]:
        """The views of a value, and the views of these."""
        for use in value.uses:
            op = use.operation
            if isinstance(op, ViewOp) and self.is_view(op.results[0]):
                yield op
                yield from self.views(op.results[0])

    def returned(self) -> list[SSAValue]:
        """The sources of the returned maps."""
        last = self.block.last_op
        assert last is not None
        return [value for value in self.maps(last) if is_tensor(value.type)]

    def home(self, value: SSAValue) -> tuple[int, Span | None]:
        """The buffer of a map; a new one if it has none yet."""
        if value not in self.homes:
            self.homes[value] = self.new(self.size(value)), None
        return self.homes[value]

    def new(self, size: int) -> int:
        """Add a buffer."""
        self.sizes.append(size)
        return len(self.sizes) - 1

    def size(self, value: SSAValue) -> int:
        """On-chip bytes of a map."""
        type_ = self.sharing.types[value]
        owner = value.owner
        op = owner if isinstance(owner, Operation) else owner.parent_op()
        assert op is not None
        return size_of(op, type_) if type_.memory_space == self.spaces.maps else 0

    def step(self, op: LayerOp, sources: Iterable[SSAValue], before: int) -> LayerStep:
        """The step of a layer that reads some maps."""
        buffer, span = self.home(op.results[0])
        reads = tuple(dict.fromkeys(self.home(value)[0] for value in sources))
        return LayerStep(
            before,
            tuple(each for each in reads if each != buffer),
            buffer,
            (0, self.sizes[buffer]) if span is None else span,
            tuple(
                self.home(value)[0]
                for value in self.overwritable(op)
                if self.home(value) != (buffer, span) and self.home(value)[1] is None
            ),
        )

    def overwritable(self, op: LayerOp) -> Iterator[SSAValue]:
        """The maps that a layer may overwrite if they die there; see `Sharing.overwritten`."""
        adding = (each for each in (*self.taken.get(op, ()), op) if isinstance(each, Sum))
        first = next(adding, op)
        fusion = addition_fusion(first) if isinstance(first, Sum) else None
        if fusion is not None:
            candidates = [fusion.residual]
        else:
            candidates = [first.inputs[index] for index in first.in_place_inputs()]
        for value in candidates:
            home = self.source(value)
            same_type = value.type == op.results[0].type
            if is_constant(home) or value in self.sharing.parts or not same_type:
                continue
            if isinstance(home, BlockArgument) and self.spares(op, home):
                continue
            if op.results[0] in self.returned() and self.may_lie_in_argument(home):
                continue
            same = [other for other in first.operands if self.source(other) is home]
            if all(each in candidates and shape_of(each) == shape_of(value) for each in same):
                yield home

    def may_lie_in_argument(self, map_: SSAValue) -> bool:
        """Whether a map may lie in an argument of the function, as layers overwrite inputs."""
        seen, pending = {map_}, [map_]
        while pending:
            value = pending.pop()
            if isinstance(value, BlockArgument):
                return True
            if isinstance(value.owner, LayerOp):
                found = [each for each in self.overwritable(value.owner) if each not in seen]
                pending += found
                seen.update(found)
        return False

    def spares(self, op: LayerOp, argument: SSAValue) -> bool:
        """Whether a layer may not overwrite an argument of the function."""
        given = self.spaces.ends_off_chip or is_streamed(argument_attributes(argument))
        return given or op.results[0] in self.returned()

    def join(self, layers: Sequence[LayerOp]) -> None:
        """Give parts of concatenations places in the buffers of these, the last one first."""
        returned = set(self.returned())
        types: dict[SSAValue, MemRefType[Attribute]] = {}
        wholes: dict[int, MemRefType[Attribute]] = {}
        for concat in reversed(layers):
            if not isinstance(concat, JoinOp):
                continue
            out = concat.results[0]
            buffer, within = self.home(out)
            type_ = types.get(out) or self.layout(out)
            whole = wholes.setdefault(buffer, type_)
            if type_.memory_space != self.spaces.maps:
                continue
            for part, box in zip(concat.parts, concat.boxes(), strict=True):
                if part in self.homes or part in returned or not self.moves(part, concat):
                    continue
                place = memref.SubviewOp.infer_result_type(
                    type_, box.offsets, shape_of(part), box.steps
                )
                types[part] = place
                span = self.span(place, type_, whole) or within or (0, self.sizes[buffer])
                self.homes[part] = buffer, span

    def span(
        self, place: Attribute, source: MemRefType[Attribute], whole: MemRefType[Attribute]
    ) -> Span | None:
        """The bytes of a part of a map in a buffer, `whole`.

        None if they are all of the map's, but for some of its first and last pixel.
        """
        return None if is_channels_last(whole) else span_of(place, source)

    def layout(self, value: SSAValue) -> MemRefType[Attribute]:
        """The type of a map's buffer once its layout is chosen."""
        type_ = self.sharing.types[value]
        readers = [use.operation for use in value.uses]
        layers = [op for op in readers if isinstance(op, LayerOp)]
        kept = any(isinstance(op, ReshapeOp) and not is_flattening(op) for op in layers)
        plain = len(layers) == len(readers) and not kept
        if self.spaces.channels or not gains(type_) or not plain:
            return type_
        return channels_last(type_) if any(map(reads_integers, layers)) else type_

    def moves(self, part: SSAValue, concat: JoinOp) -> bool:
        """Whether a part of a concatenation is written in place; see `npu-concat-in-place`."""
        users = [use.operation for use in part.uses]
        return (
            isinstance(part.owner, LayerOp)
            and not isinstance(part.owner, ViewOp)
            and sum(other is part for other in concat.parts) == 1
            and all(isinstance(op, LayerOp) and not isinstance(op, ReshapeOp) for op in users)
        )

    def chain(self, layers: Sequence[LayerOp]) -> None:
        """Put a map that only its overwriting layer reads where that layer's map lies."""
        for op in reversed(layers):
            result = op.results[0]
            if result not in self.homes or self.homes[result][1] is None:
                continue
            first = next(self.overwritable(op), None)
            if first is None or first in self.homes or not isinstance(first.owner, LayerOp):
                continue
            if isinstance(first.owner, ViewOp) or not first.has_one_use():
                continue
            self.homes[first] = self.homes[result]

    def transpose(self, layers: Sequence[LayerOp]) -> None:
        """Put transposed maps and their sources into one buffer; see `npu-transpose-in-place`."""
        if self.spaces.channels:
            return
        for op in layers:
            if not isinstance(op, TransposeOp):
                continue
            source, result, perm = op.input, op.results[0], int_values(op.perm)
            users = [use.operation for use in result.uses]
            if is_image_view(op):
                self.homes.setdefault(result, self.home(source))
                continue
            if perm[-1] != len(perm) - 1 or source.owner is self.block or is_constant(source):
                continue
            if all(map(is_strided, users)):
                self.homes.setdefault(result, self.home(self.source(source)))
            elif source.has_one_use() and is_strided(source.owner):
                self.homes.setdefault(source, self.home(result))


def is_flattening(op: ReshapeOp) -> bool:
    """Whether an op flattens a map, image by image, for fully connected layers alone.

    Their weights are constants that nothing else reads; `npu-choose-layouts` permutes them.
    """
    images, *rest = shape_of(op.input)
    users = [use.operation for use in op.results[0].uses]
    return shape_of(op.results[0]) == (images, prod(rest)) and all(
        isinstance(user, FullyConnectedOp)
        and user.input is op.results[0]
        and is_constant(user.weight)
        and user.weight.has_one_use()
        for user in users
    )


def is_strided(op: Operation | Block) -> bool:
    """Whether an op is a layer that works on strided rows as fast as on dense ones."""
    return isinstance(op, LayerOp) and op.STRIDED
