"""The contents of report.json, read from the IR: layers, memory and off-chip traffic.

The level of IR is layers in destination style on buffers that have their offsets, in a function
that carries its arena. Every number is measured in the IR; none is handed over by a pass.

    sram.alloc at 4096 : memref<1x6x14x14xf32, #npu.sram>
    npu.conv2d ins(%image, %w, %b : ...) outs(%pool1 : ...) ... {npu.layer = "conv1"}
gives the row
    {"name": "conv1", "op": "npu.conv2d", "macs": 117600, "output_bytes": 4704, "offset": 4096, ...}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npu_dialect.arenas import arena_bytes, has_arenas
from npu_dialect.arguments import Attributes, argument_attributes, is_input, is_output, is_state
from npu_dialect.attributes import (
    LAYER,
    PLANNED_AS,
    PORT,
    RUNS,
    SRAM_OFFSET,
    STATE,
    TILE,
    VALUE,
    ZERO_POINT,
)
from npu_dialect.npu.attributes import DramSpace, FlashSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import Map, bytes_of, is_buffer_type, map_type, shape_of
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis import lifetimes
from npu_passes.analysis.lifetimes import OnChipBuffer
from npu_passes.analysis.on_chip import on_chip_spaces
from npu_passes.analysis.views import root_of
from npu_plans.arena.problem import Buffer, Problem
from npu_plans.arena.problem import live_bound as bound_of
from npu_plans.modules.traffic import Traffic
from npu_tools.reports.arena_report import ArenaReport, arenas_in, memory_of
from npu_tools.reports.instruction_report import Instructions
from npu_tools.reports.kept_report import KeptReport
from npu_tools.reports.off_chip import off_chip
from npu_tools.reports.stored_report import StoredReport
from npu_tools.shared.errors import UserError


@dataclass(frozen=True)
class LayerReport:
    """The row of one layer; sizes in bytes.

    `value` is its OFM's name in the model; None if it has none, or if the layer runs row by row.
    `shape` is that of its OFM. `offset` is that of its OFM in the arena, `memory` that arena's
    memory if there are several. `tile` is the shape of the first tile of its OFM, if the layer runs
    in tiles. `start` are the bytes from the offset to the first element, `strides` the elements
    between neighbours along each axis. These two are no keys of report.json.
    """

    name: str
    op: str
    value: str | None
    shape: tuple[int, ...]
    macs: int
    input_bytes: int
    output_bytes: int
    weight_bytes: int
    offset: int | None
    tile: tuple[int, ...] | None = None
    start: int = 0
    strides: tuple[int, ...] | None = None
    memory: str | None = None


@dataclass(frozen=True)
class Memory:
    """On-chip memory in bytes.

    `naive_bytes` and `fused_bytes`: the arena if every map has its own place, without and with
    fusion. `arena_bytes`: the planned arena. `live_bound_bytes`: the largest sum of buffers that
    live at one time, below which no plan can go. `element_bytes`: bytes of one element of a map.
    """

    naive_bytes: int | None
    fused_bytes: int | None
    arena_bytes: int
    live_bound_bytes: int
    element_bytes: int
    sram_bytes: int | None

    def as_dict(self) -> dict[str, int | None]:
        """The key `memory` of report.json: the sizes in bytes, and the same in elements."""
        table: dict[str, int | None] = asdict(self)
        for key in ("naive", "fused", "arena", "live_bound"):
            size = table[f"{key}_bytes"]
            table[f"{key}_elements"] = None if size is None else size // self.element_bytes
        return table


@dataclass(frozen=True)
class StateReport:
    """A state that stays in an arena between runs: bytes `offset` to `offset` + `bytes`.

    `memory` is that of the arena if there are several. `name` is its name as an input, `next` that
    of the output that is its next value. `zero` is the integer that stands for zero; a float state
    starts with zeros.
    """

    name: str
    next: str
    shape: tuple[int, ...]
    offset: int
    bytes: int
    zero: int
    memory: str | None = None


OPTIONAL = (
    *("states", "kept_constants", "stored_constants"),
    *("elided_weights", "off_chip_at_most", "zero_blocks"),
)
"""The keys of report.json that are left out where there is nothing to say."""


@dataclass(frozen=True)
class Report:
    """The contents of report.json; sizes in bytes, shapes as in the model.

    `scratch_bytes`: the most bytes at one time of buffers that hold no layer's output. `off_chip`:
    the traffic of the compiled network. `naive`: that of layer-by-layer execution.
    """

    model: str
    target: str | None
    arena_bytes: int
    weights_bytes: int
    scratch_bytes: int
    layers: tuple[LayerReport, ...]
    off_chip: Traffic
    naive: Traffic
    memory: Memory
    arenas: tuple[ArenaReport, ...] = ()
    """The arenas, one in each memory in use, in the order of the pointers in C."""
    planned_as: str | None = None
    elided_weights: bool = False
    """Whether weights were left out of the text, so that there is a plan and no C."""
    stack_bytes: int | None = None
    modules: tuple[Mapping[str, Any], ...] = ()
    microcode: tuple[Mapping[str, Any], ...] = ()
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    outputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    states: tuple[StateReport, ...] = ()
    """The states between runs, which are neither in `inputs` nor in `outputs`."""
    kept_constants: tuple[KeptReport, ...] = ()
    """The parts of the arenas that hold copies of constants, made before the first run."""
    stored_constants: tuple[StoredReport, ...] = ()
    """The read-only memories, and the constants in each, if the machine has several."""
    off_chip_at_most: bool = False
    """Whether `off_chip` is an upper limit. Transfers in blocks reach it if no block is zero."""
    zero_blocks: tuple[Mapping[str, Any], ...] = ()
    """A row for each map off the chip that may move in blocks; see `zero_block_plan.py`."""
    stored_bytes: int | None = None
    """Bytes of the constants in the emitted C: repacked weights, biases and scales."""
    time: Mapping[str, Any] | None = None
    """Cycles, energy and roofline; see `time_report.py`. None if the machine's file has none."""
    instructions: Instructions | None = None
    """Predicted instructions on a microcontroller; None if its costs are not known."""
    module_traffic: Mapping[str, Traffic] = field(default_factory=dict[str, Traffic])
    """The traffic of each module's layers, for the rows of `modules`. It is no key of its own."""

    def as_dict(self) -> dict[str, Any]:
        """The keys and values of report.json."""
        table = asdict(self)
        table["memory"] = self.memory.as_dict()
        del table["module_traffic"]
        for layer in table["layers"]:
            del layer["start"], layer["strides"]
        without_memory(table["layers"])
        without_memory(table["states"])
        if self.time is None:
            del table["time"]
        del table["instructions"]
        if self.instructions is not None:
            table["instructions"] = self.instructions.total
            if len(self.instructions.layers) == len(self.layers):
                for layer, number in zip(table["layers"], self.instructions.layers):
                    layer["instructions"] = number
        for key in OPTIONAL:
            if not table[key]:
                del table[key]
        return table


def without_memory(rows: Sequence[dict[str, Any]]) -> None:
    """Remove the memory from rows for which there is only one."""
    for row in rows:
        if row["memory"] is None:
            del row["memory"]


def planned_function(module: ModuleOp) -> func.FuncOp | None:
    """The function whose buffers have offsets and whose layers are not yet lowered; None if none.

    Such a function carries its arena and contains layers. A network that only makes views has no
    layers; then the function must contain neither calls nor loads and stores.
    """
    for op in module.ops:
        if not isinstance(op, func.FuncOp) or not has_arenas(op):
            continue
        code = (func.CallOp, memref.LoadOp, memref.StoreOp)
        if any(layers_of(op)) or not any(walk_kind(op, *code)):
            return op
    return None


def layers_of(function: func.FuncOp) -> Iterator[LayerOp]:
    """The layers of a function in execution order."""
    return walk_kind(function, LayerOp)


def report_of(module: ModuleOp, model: str = "") -> Report:
    """Measure a module whose buffers have offsets.

    If its layers are functions or loops already, there are no rows for them.

    Raises: UserError if no function has an arena, if a layer works on off-chip memory without
    transfers, or if the traffic cannot be counted.
    """
    with_arena = (op for op in module.ops if isinstance(op, func.FuncOp) and has_arenas(op))
    function = planned_function(module) or next(with_arena, None)
    if function is None:
        raise UserError(
            "no function with planned buffers: expected a pipeline with npu-bufferize and "
            "npu-assign-sram-offsets"
        )
    check_transfers(function)
    layers = tuple(
        replace(layer_report(op, index), memory=memory_of(function, op.output))
        for index, op in enumerate(layers_of(function))
    )
    spaces = on_chip_spaces(function)
    found = lifetimes.lifetimes_of(function, *spaces)
    apart = [lifetimes.lifetimes_of(function, each) for each in spaces] if spaces[1:] else [found]
    buffers = found.buffers
    arena = arena_bytes(function) or 0
    machine = machine_of(module)
    planned_as = PLANNED_AS.get(module)
    in_place = Traffic(weight_bytes=sum(layer.weight_bytes for layer in layers))
    moved = off_chip(function)
    traffic, at_most, zero_blocks = in_place, False, tuple[Mapping[str, Any], ...]()
    if moved is not None:
        from npu_passes.zero_blocks.compress_spills import compressed
        from npu_tools.reports.zero_block_plan import block_rows

        traffic, at_most = moved.total, compressed(function)
        zero_blocks = tuple(block_rows(function, moved.starts))
    return Report(
        model=model,
        target=machine.name if machine else None,
        arena_bytes=arena,
        arenas=tuple(arenas_in(function, machine)),
        weights_bytes=parameter_bytes(module),
        scratch_bytes=scratch_bytes(function, buffers) if layers else 0,
        layers=layers,
        off_chip=traffic,
        off_chip_at_most=at_most,
        zero_blocks=zero_blocks,
        naive=traffic,
        module_traffic={} if moved is None else moved.modules,
        memory=Memory(
            naive_bytes=None,
            fused_bytes=None,
            arena_bytes=arena,
            live_bound_bytes=sum(map(live_bound, apart)),
            element_bytes=element_bytes(buffers),
            sram_bytes=machine.sram_bytes if machine else None,
        ),
        planned_as=None if planned_as is None else str(planned_as),
        inputs=dict(named_arguments(function, is_input)),
        outputs=dict(named_arguments(function, is_output)),
        states=tuple(states_of(function)),
    )


def check_transfers(function: func.FuncOp) -> None:
    """Check that only transfers touch off-chip memory, as only they are counted.

    Raises: UserError if a layer has an operand in `#npu.dram`.
    """
    for op in layers_of(function):
        types = (value.type for value in op.operands if is_buffer_type(value.type))
        if any(isinstance(type_.memory_space, DramSpace) for type_ in types):
            what = LAYER.get(op)
            name = op.name if what is None else f'{op.name} "{what}"'
            raise UserError(
                f"{name} works on #npu.dram, which only transfers reach: expected npu-tile-loops "
                "in the pipeline, as in off-chip"
            )


def buffered_layers(module: ModuleOp) -> tuple[LayerReport, ...]:
    """The rows of all layers of a module that write into buffers, in execution order."""
    found = [op for op in walk_kind(module, LayerOp) if op.destination is not None]
    return tuple(layer_report(op, index) for index, op in enumerate(found))


def layer_report(op: LayerOp, index: int) -> LayerReport:
    """The row of one layer; a layer without a name is called after its `index`."""
    inputs, parameters = op.inputs, op.parameter_inputs
    weights = [each for each in inputs if each in parameters or is_parameter(each)]
    value = VALUE.get(op)
    start, strides = layout_of(op.output_type)
    return LayerReport(
        name=op.layer_name or f"layer{index}",
        op=op.name,
        value=None if RUNS.is_on(op) else value,
        shape=shape_of(op.output),
        macs=op.macs() * op.repetitions,
        input_bytes=sum(bytes_of(map_type(each)) for each in inputs if each not in weights),
        output_bytes=bytes_of(op.output_type),
        weight_bytes=sum(bytes_of(map_type(each)) for each in weights),
        offset=offset_of(op.output),
        tile=shape_of(op.output) if TILE.is_on(op) else None,
        start=start,
        strides=strides,
    )


def layout_of(type_: Map) -> tuple[int, tuple[int, ...] | None]:
    """The bytes in front of the first element of a map, and its strides in elements.

    The strides are None if the map is no buffer, or if they are not known.
    """
    if not is_buffer_type(type_):
        return 0, None
    strides, offset = type_.get_strides(), type_.get_offset()
    if strides is None or offset is None:
        return 0, None
    known = tuple(step for step in strides if step is not None)
    elements = max(1, prod(type_.get_shape()))
    return offset * (bytes_of(type_) // elements), known if len(known) == len(strides) else None


def is_parameter(value: SSAValue) -> bool:
    """Whether a buffer holds a learned parameter: a global, or anything in flash."""
    root = root_of(value)
    space = getattr(root.type, "memory_space", None)
    return isinstance(root.owner, memref.GetGlobalOp) or isinstance(space, FlashSpace)


def offset_of(value: SSAValue) -> int | None:
    """The byte offset of a buffer in the arena; None if it has none."""
    root = root_of(value)
    if isinstance(root.owner, AllocOp):
        return root.owner.place
    if isinstance(root.owner, Operation):
        return SRAM_OFFSET.get(root.owner)
    return SRAM_OFFSET.of(argument_attributes(root))


def named_arguments(
    function: func.FuncOp, has_role: Callable[[Attributes], bool]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the arguments with a role, which states do not count to."""
    for argument in function.args:
        attributes = argument_attributes(argument)
        if has_role(attributes) and not is_state(attributes):
            name = PORT.of(attributes)
            yield name or argument.name_hint or f"arg{argument.index}", shape_of(argument)


def states_of(function: func.FuncOp) -> Iterator[StateReport]:
    """The states of a function whose buffers have offsets."""
    for argument in function.args:
        attributes = argument_attributes(argument)
        following = STATE.of(attributes)
        if following is not None:
            yield StateReport(
                PORT.of(attributes) or following,
                following,
                shape_of(argument),
                SRAM_OFFSET.of(attributes) or 0,
                bytes_of(map_type(argument)),
                ZERO_POINT.of(attributes) or 0,
                memory_of(function, argument),
            )


def parameter_bytes(module: ModuleOp) -> int:
    """Bytes of all `memref.global` ops of a module: each parameter counts once."""
    return sum(bytes_of(cast(Map, op.type)) for op in module.ops if isinstance(op, memref.GlobalOp))


def live_bound(found: lifetimes.Lifetimes) -> int:
    """The most bytes that buffers which live at one program point need.

    Two that may overlap, such as the input and the output of a layer, count as close together as
    their overlay allows. So no offsets can make the arena smaller.
    """
    buffers = [Buffer(b.name, b.size, first=b.first, last=b.last) for b in found.buffers]
    return bound_of(Problem(tuple(buffers), found.overlays, found.floor)).bytes


def scratch_bytes(function: func.FuncOp, buffers: Sequence[OnChipBuffer]) -> int:
    """The most bytes at one time of buffers that hold no layer's output, such as tiles."""
    outputs = {root_of(op.output) for op in layers_of(function)}
    scratch = [
        each
        for each in buffers
        if each.value not in outputs and not isinstance(each.value, BlockArgument)
    ]
    live = (
        sum(each.size for each in scratch if each.first <= point <= each.last)
        for point in {each.first for each in scratch}
    )
    return max(live, default=0)


def element_bytes(buffers: Sequence[OnChipBuffer]) -> int:
    """Bytes of one element of the first buffer, which stands for all maps."""
    type_ = map_type(buffers[0].value)
    return bytes_of(type_) // max(1, prod(type_.get_shape())) or 1


def integer(attribute: Attribute) -> int:
    """The value of an integer attribute."""
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data
