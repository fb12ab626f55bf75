"""Decides everything before the first line is printed: names, order, constness, offsets.

Program.of(module, prefix, weights)   ->   frozen tables that the printing phase only reads
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.utils.exceptions import PassFailedException

from npu_dialect import dsp
from npu_dialect.arenas import memory_of_type
from npu_dialect.arguments import argument_attributes, is_input, is_output, is_state
from npu_dialect.attributes import PORT
from npu_dialect.stream_attributes import STREAM_PART, STREAM_PARTS
from npu_passes.emit.c import off_chip
from npu_passes.emit.c.arena import Arena, arenas, dram_size
from npu_passes.emit.c.buffers import argument_offset
from npu_passes.emit.c.calls import CallGraph, layers_of
from npu_passes.emit.c.kept import INIT, Kept, kept_of
from npu_passes.emit.c.names import OWN, RESERVED, Scope, identifier, is_identifier
from npu_passes.emit.c.operators import LIBRARY_FUNCTIONS
from npu_passes.emit.c.rescaled import name_of as rescale_name
from npu_passes.emit.c.sections import section_of, sections_in
from npu_passes.emit.c.types import CType, as_memref, bytes_of, index_type, largest_index
from npu_passes.emit.c.unit import HELPER_NAMES
from npu_passes.support.block_runs import BlockRuns
from npu_plans.transfers.runs import Runs

LOCAL_NAMES = ("arena", "weights", "bytes", "parameters")
"""Names of the C interface and of the pointers that every function may have."""

ALIGNMENT = 16
"""The alignment in bytes of the arena, the weights and each tensor in a weights file."""

RUN = "run"
"""The end of the name of the public function in C."""

Where = Literal["c", "bin"]
"""Weights as `static const` arrays, or in a file that the caller loads."""


@dataclass(frozen=True)
class Argument:
    """One argument of the public function."""

    value: BlockArgument
    name: str
    """The name of its C parameter."""
    label: str
    """Its name in the model."""
    macro: str
    """The beginning of its macros' names: `ID_INPUT`."""
    offset: int | None
    """Byte offset in its arena; None if it stays in the caller's memory."""
    is_input: bool
    is_output: bool
    is_state: bool
    """Whether it lies in its arena only, and is kept from one run to the next."""

    @property
    def memory(self) -> str:
        """The memory of its arena."""
        return memory_of_type(self.value.type)


@dataclass(frozen=True)
class Weights:
    """One constant array."""

    op: memref.GlobalOp
    name: str
    type: MemRefType
    offset: int
    """Byte offset in a weights file."""
    macro: str | None
    """The macro of that offset; None if the array is in the C file."""
    section: str
    """The macro of the section of the array in the C file."""


@dataclass(frozen=True)
class Function:
    """One function; `written` are the buffers that it writes."""

    op: FuncOp
    name: str
    written: frozenset[SSAValue]
    restrict: frozenset[int]
    """Indices of the arguments that are `restrict`."""
    memories: frozenset[str]
    """The memories in which it, or a function that it calls, has allocations, or reads copies."""
    needs_weights: bool
    needs_dram: bool
    needs_dma: bool
    calls: tuple[CallOp, ...]
    """All calls of it."""


@dataclass(frozen=True)
class Entry:
    """A public function, with its arguments in the IR: the parameters in C, and states."""

    function: Function
    arguments: tuple[Argument, ...]

    @property
    def parameters(self) -> tuple[Argument, ...]:
        """The arguments that the caller passes."""
        return tuple(argument for argument in self.arguments if not argument.is_state)


@dataclass(frozen=True)
class Macros:
    """The names of the macros of a program."""

    guard: str
    dram_bytes: str
    weights_bytes: str
    on_layer: str

    @staticmethod
    def of(prefix: str) -> Macros:
        """Macros that begin with the prefix in capitals."""
        words = ("H", "DRAM_BYTES", "WEIGHTS_BYTES", "ON_LAYER")
        return Macros(*(f"{prefix.upper()}_{word}" for word in words))

    @property
    def all(self) -> tuple[str, ...]:
        """All of them but `dram_bytes`, which only a program with transfers has."""
        return (self.guard, self.weights_bytes, self.on_layer)


@dataclass(frozen=True)
class Program:
    """Everything that the printing phase needs to know."""

    prefix: str
    macros: Macros
    where: Where
    index: CType
    scope: Scope
    arenas: tuple[Arena, ...]
    """The blocks of memory on the chip, one in each memory in use."""
    dram_bytes: int
    shapes: dict[Runs, str]
    """The shapes of transfers, each with the name of its table."""
    blocks: dict[BlockRuns, str]
    """The blocks of transfers in blocks, each with the name of its table."""
    uses_dma: bool
    """Whether there are transfers, or arguments off the chip."""
    kept: Kept
    """The copies of constants that stay in the arenas."""
    entries: tuple[Entry, ...]
    """The public functions: ID_run, or those of a program whose input arrives in rows."""
    weights: dict[str, Weights]
    """The constants that are used, by their symbols, in the order of the IR."""
    functions: dict[str, Function]
    """The functions that are used, by their symbols, callees first."""
    layers: dict[CallOp, tuple[int, str]]
    """For each call of a layer the number of the layer, as in report.json, and its name."""

    @staticmethod
    def of(module: ModuleOp, prefix: str | None, where: Where) -> Program:
        """Decide everything.

        Raises: PassFailedException if there is not one public function, or the parts of one, the
        prefix is no C identifier, functions are recursive or write weights, or buffers lie outside
        of their block.
        """
        public = public_functions(module)
        prefix = chosen_prefix(public[0], prefix)
        macros = Macros.of(prefix)
        fixed = {f"{prefix}_{name}" for name in ("run", "reset", *map(part_of, public))}
        fixed |= {"NPU_RESTRICT", *macros.all, *HELPER_NAMES, *LIBRARY_FUNCTIONS}
        graph = CallGraph.of(module, public)
        if uses_dma := off_chip.uses_engine(public, graph):
            fixed |= {macros.dram_bytes, *off_chip.reserved_names(prefix)}
        fixed |= {rescale_name(op) for op in graph.ops_of(dsp.RescaleOp)}
        if (kept := kept_of(public, graph)).copies:
            fixed.add(f"{prefix}_{INIT}")
        taken = local_names(uses_dma)
        blocks = arenas(public, graph, prefix, {*RESERVED, *taken})
        fixed |= {*(each.macro for each in blocks), *sections_in(module, prefix)}
        taken += tuple(name for each in blocks for name in (each.name, each.pointer))
        scope = Scope(taken=RESERVED | fixed)
        arguments = arguments_of(public, prefix, scope, taken)
        functions = functions_of(graph, public, prefix, where, scope)
        return Program(
            prefix,
            macros,
            where,
            index_type(largest_index(module)),
            scope,
            blocks,
            dram_size(public, graph),
            off_chip.shapes_of(graph, prefix, scope),
            off_chip.blocks_of(graph, prefix, scope),
            uses_dma,
            kept,
            tuple(Entry(functions[op.sym_name.data], found) for op, found in arguments.items()),
            weights_of(module, graph, prefix, where, scope),
            functions,
            layers_of(graph, uses_dma),
        )

    @property
    def local_names(self) -> tuple[str, ...]:
        """Names that every function may have."""
        blocks = (name for each in self.arenas for name in (each.name, each.pointer))
        return (*local_names(self.uses_dma), *blocks)

    def arena(self, memory: str) -> Arena:
        """The arena in a memory."""
        return next(each for each in self.arenas if each.memory == memory)

    def arenas_of(self, function: Function) -> tuple[Arena, ...]:
        """The arenas whose bytes a function needs beside its arguments."""
        return tuple(each for each in self.arenas if each.memory in function.memories)

    @property
    def names_memories(self) -> bool:
        """Whether the arenas have the names of memories, as there may be several."""
        return any(each.name != "arena" for each in self.arenas)

    @property
    def arena_bytes(self) -> int:
        """Bytes of all arenas."""
        return sum(each.bytes for each in self.arenas)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of all public functions."""
        return tuple(argument for entry in self.entries for argument in entry.arguments)

    @property
    def private(self) -> tuple[Function, ...]:
        """The functions that the public ones call."""
        public = [entry.function for entry in self.entries]
        return tuple(function for function in self.functions.values() if function not in public)

    @property
    def is_streamed(self) -> bool:
        """Whether the input arrives in rows: there is a function for each part of a run."""
        return len(self.entries) > 1

    @property
    def states(self) -> tuple[Argument, ...]:
        """The arguments that are kept in the arena from one run to the next."""
        return tuple(argument for argument in self.arguments if argument.is_state)

    @property
    def weights_bytes(self) -> int:
        """Bytes of all weights, as arrays or as a file."""
        ends = [one.offset + bytes_of(one.type) for one in self.weights.values()]
        if self.where == "bin":
            return max(ends, default=0)
        return sum(bytes_of(one.type) for one in self.weights.values())

    def function(self, call: CallOp) -> Function:
        """The function that a call calls."""
        return self.functions[call.callee.string_value()]


def local_names(uses_dma: bool) -> tuple[str, ...]:
    """Names of the C interface and of the pointers that every function may have."""
    return (*LOCAL_NAMES, *off_chip.LOCAL_NAMES) if uses_dma else LOCAL_NAMES


def public_functions(module: ModuleOp) -> tuple[FuncOp, ...]:
    """The one function that is not private, or the three of a program with a streamed input.

    Raises: PassFailedException if there are others.
    """
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    public = [f for f in functions if getattr(f.sym_visibility, "data", None) != "private"]
    if len(public) == 1 or [STREAM_PART.get(op) for op in public] == list(STREAM_PARTS):
        return tuple(public)
    found = ", ".join(f"@{f.sym_name.data}" for f in public) or "none"
    raise PassFailedException(f"c: expected one public function in the module, found {found}")


def part_of(public: FuncOp) -> str:
    """The end of a public function's name in C."""
    return STREAM_PART.get(public) or RUN


def chosen_prefix(public: FuncOp, prefix: str | None) -> str:
    """The prefix of all names: the user's, or the name of the public function.

    Raises: PassFailedException if the user's is no C identifier.
    """
    if not prefix:
        name, part = public.sym_name.data, STREAM_PART.get(public)
        name = name if part is None else name.removesuffix(f"_{part}")
        return Scope(taken=RESERVED).fresh(identifier(name, "model"))
    if not is_identifier(prefix):
        raise PassFailedException(
            f"c: prefix {prefix!r} is no C identifier, expected a letter, then letters, digits "
            f"and _, no keyword, and no {OWN} in front"
        )
    return prefix


def arguments_of(
    public: Sequence[FuncOp], prefix: str, scope: Scope, taken: Sequence[str]
) -> dict[FuncOp, tuple[Argument, ...]]:
    """The arguments, each with a parameter name and a macro name of its own."""
    names = Scope(scope, taken)
    macros = Scope()
    found: dict[FuncOp, tuple[Argument, ...]] = dict.fromkeys(public, ())
    for function, value in ((each, value) for each in public for value in each.body.block.args):
        attributes = argument_attributes(value)
        text = PORT.of(attributes) or value.name_hint
        wanted = identifier(text or f"arg{value.index}", f"arg{value.index}")
        macro = f"{prefix.upper()}_{macros.fresh(wanted.upper())}"
        found[function] += (
            Argument(
                value,
                names.fresh(wanted),
                text or wanted,
                macro,
                argument_offset(value),
                is_input(attributes),
                is_output(attributes),
                is_state(attributes),
            ),
        )
        scope.taken |= {f"{macro}_{word}" for word in ("OFFSET", "ELEMENTS", "ROWS")}
    return found


def weights_of(
    module: ModuleOp, graph: CallGraph, prefix: str, where: Where, scope: Scope
) -> dict[str, Weights]:
    """The constants that are used, by their symbols, each with its offset in a weights file.

    Raises: PassFailedException if the module lacks one.
    """
    used = {op.name_.string_value() for op in graph.ops_of(memref.GetGlobalOp)}
    found: dict[str, Weights] = {}
    end = 0
    for op in module.ops:
        if not isinstance(op, memref.GlobalOp) or op.sym_name.data not in used:
            continue
        symbol, type_ = op.sym_name.data, as_memref(op.type)
        assert type_ is not None
        name = scope.fresh(f"{prefix}_{identifier(symbol, 'weights')}")
        macro = scope.fresh(f"{name.upper()}_BYTE") if where == "bin" else None
        found[symbol] = Weights(op, name, type_, end, macro, section_of(type_, prefix))
        end += -(-bytes_of(type_) // ALIGNMENT) * ALIGNMENT
    if missing := sorted(used - found.keys()):
        raise PassFailedException(f"c: expected a memref.global @{missing[0]} in the module")
    return found


def functions_of(
    graph: CallGraph, public: Sequence[FuncOp], prefix: str, where: Where, scope: Scope
) -> dict[str, Function]:
    """The functions, named after their symbols; the public one is PREFIX_run."""
    found: dict[str, Function] = {}
    for op in graph.order:
        symbol, effects = op.sym_name.data, graph.effects[op]
        wanted = f"{prefix}_{identifier(symbol, 'layer')}"
        found[symbol] = Function(
            op,
            f"{prefix}_{part_of(op)}" if op in public else scope.fresh(wanted),
            effects.written,
            graph.restricted(op),
            effects.arenas | effects.copies,
            effects.weights and where == "bin",
            effects.dram,
            effects.dma,
            graph.sites[op],
        )
    return found
