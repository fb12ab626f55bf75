"""The meaning of transfers: the start fills the target with poison, and the wait copies the data.

So a program with an error that a real engine might expose does not give right results by chance:

- An op that reads the target before the wait reads poison.
- A write to the target or the source before the wait raises an error at the wait.
- A second wait for a transfer, or none by the end of its function, is an error.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect import dma
from npu_dialect.interpreters.dma_blocks import Blocks, blocks_of
from npu_dialect.interpreters.values import Array, poison
from npu_dialect.npu.attributes import DramSpace


@dataclass
class Counters:
    """Off-chip traffic: bytes, passes over maps (accesses), and transfers.

    Reads are from off-chip memory, writes go to it. Bytes of weights are counted separately.
    """

    weight_bytes: int = 0
    feature_map_read_bytes: int = 0
    feature_map_write_bytes: int = 0
    feature_map_reads: int = 0
    feature_map_writes: int = 0
    transfers: int = 0

    def count(self, op: dma.StartOp, size: int) -> None:
        """Count a transfer of `size` bytes."""
        self.transfers += 1
        if op.weights is not None:
            self.weight_bytes += size
        elif is_off_chip(op.target):
            self.feature_map_write_bytes += size
        else:
            self.feature_map_read_bytes += size


def is_off_chip(value: SSAValue) -> bool:
    """Whether a buffer lies in off-chip memory (`#npu.dram`)."""
    return isa(value.type, MemRefType) and isinstance(value.type.memory_space, DramSpace)


@dataclass(eq=False)
class Transfer:
    """A transfer that has been started; `before` are the bytes of both sides right after that."""

    name: str
    source: Array
    target: Array
    before: tuple[bytes, bytes]
    running: list[Transfer]
    """The list that holds the transfer until its wait."""
    blocks: Blocks | None
    """The blocks of a transfer in blocks; None if it moves everything."""
    writes: bool
    """Whether it writes to off-chip memory."""

    def move(self) -> None:
        """Copy the data to the target."""
        if self.blocks is None:
            self.target[...] = self.source
        else:
            self.blocks.move(self.source, self.target, writes=self.writes)


@register_impls
class DmaFunctions(InterpreterFunctions):
    """The dma dialect for xDSL's interpreter."""

    @impl(dma.StartOp)
    def run_start(
        self, interpreter: Interpreter, op: dma.StartOp, args: PythonValues
    ) -> PythonValues:
        """Count the transfer and poison the target; the data moves at the wait."""
        source, target, *blocked = args
        if not target.flags.writeable:
            raise InterpretationError("dma.start: transfer to a constant")
        writes, size = is_off_chip(op.target), source.nbytes
        blocks = blocks_of(op, blocked)
        if blocks is not None:
            size = blocks.moved(target if writes else source, source, writes=writes)
        counters_of(interpreter).count(op, size)
        poison(target)
        before = source.tobytes(), target.tobytes()
        name = f"%{op.token.name_hint}" if op.token.name_hint else "a transfer"
        running = running_in(interpreter)[-1]
        running.append(Transfer(name, source, target, before, running, blocks, writes))
        return (running[-1],)

    @impl(dma.WaitOp)
    def run_wait(
        self, interpreter: Interpreter, op: dma.WaitOp, args: PythonValues
    ) -> PythonValues:
        """Copy the data, after a check that nobody wrote to either side since the start."""
        transfer: Transfer = args[0]
        if transfer not in transfer.running:
            raise InterpretationError(f"dma.wait: {transfer.name} has been waited for already")
        sides = (("source", transfer.source), ("target", transfer.target))
        for (side, array), before in zip(sides, transfer.before, strict=True):
            if array.tobytes() != before:
                raise InterpretationError(
                    f"dma.wait: the {side} of {transfer.name} was written before it was done"
                )
        transfer.running.remove(transfer)
        transfer.move()
        return ()

    @impl(dma.ReadsOp)
    def run_reads(
        self, interpreter: Interpreter, op: dma.ReadsOp, args: PythonValues
    ) -> PythonValues:
        """Count one read access."""
        counters_of(interpreter).feature_map_reads += 1
        return ()

    @impl(dma.WritesOp)
    def run_writes(
        self, interpreter: Interpreter, op: dma.WritesOp, args: PythonValues
    ) -> PythonValues:
        """Count one write access."""
        counters_of(interpreter).feature_map_writes += 1
        return ()

    @impl(dma.WorkOp)
    def run_work(
        self, interpreter: Interpreter, op: dma.WorkOp, args: PythonValues
    ) -> PythonValues:
        """Do nothing: the interpreter has no clock."""
        return ()


def counters_of(interpreter: Interpreter) -> Counters:
    """The counters of an interpreter, over all that it has run."""
    return interpreter.get_data(DmaFunctions, "counters", Counters)


def running_in(interpreter: Interpreter) -> list[list[Transfer]]:
    """For each running function, innermost last, its transfers that still have to be waited for."""
    return interpreter.get_data(DmaFunctions, "running", lambda: [[]])


@contextmanager
def all_done(interpreter: Interpreter, function: str) -> Generator[None]:
    """Check that a function has waited for all its transfers when it returns.

    Raises: InterpretationError if it has not.
    """
    running = running_in(interpreter)
    running.append([])
    try:
        yield
        if running[-1]:
            names = ", ".join(transfer.name for transfer in running[-1])
            raise InterpretationError(f"{function} returns without a dma.wait for {names}")
    finally:
        running.pop()
