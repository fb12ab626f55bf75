"""Transfers that run while the program goes on: what nobody may touch until their waits."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType

from npu_dialect import dma
from npu_dialect.npu.attributes import DramSpace
from npu_tools.shadow.faults import Fault, place_of
from npu_tools.shadow.memory import Bytes, Layout, Memory
from npu_tools.shadow.order import Place, World


@dataclass(frozen=True)
class End:
    """One end of a transfer: its place, and the bytes of the memory; no memory for constants."""

    place: Place
    bytes: Bytes

    @staticmethod
    def of(place: Place, layout: Layout) -> End:
        """The end of a transfer that moves all elements of a view."""
        return End(place, layout.bytes() + place.address)

    @property
    def memory(self) -> Memory | None:
        """The memory in which it lies."""
        return self.place.buffer.memory


@dataclass(eq=False)
class Transfer:
    """A transfer that has been started."""

    text: str
    source: End
    target: End
    is_running: bool = True


def start(world: World, op: dma.StartOp, source: End, target: End, index: End | None) -> Transfer:
    """Start a transfer: check both ends, and mark their bytes as in use.

    In blocks, zero blocks of a map need not be in memory, nor their bits in the index.
    """
    text = place_of(op)
    blocks = op.block is not None
    source, target = inside(world, text, source), inside(world, text, target)
    read(world, text, source, may_be_unwritten=blocks)
    index = None if index is None else inside(world, text, index)
    if index is not None and index.place.buffer is not target.place.buffer:
        use_index(world, op, text, index)
    world.transfers.append(text)
    write(world, text, target)
    own(world, text, target)
    if source.memory is not None:
        source.memory.sources[source.bytes] += 1
    if target.memory is not None:
        target.memory.target[target.bytes] = len(world.transfers) - 1
    return Transfer(text, source, target)


def use_index(world: World, op: dma.StartOp, text: str, index: End) -> None:
    """Check and mark the index of a map in blocks, of which a transfer reads or writes some bits.

    A store writes the bits of its blocks, and keeps the others. So the first one may find anything
    in the index, and each later one has to find what the first one has left.
    """
    number, type_ = index.place.buffer.number, op.target.type
    stores = isinstance(type_, MemRefType) and isinstance(type_.memory_space, DramSpace)
    if not stores or number in world.indexed:
        read(world, text, index, may_be_unwritten=not stores)
    if stores:
        own(world, text, index)
        world.indexed.add(number)


def wait(world: World, op: dma.WaitOp, transfer: Transfer) -> None:
    """Wait for a transfer: its ends are free again."""
    if not transfer.is_running:
        what = "the transfer has been waited for already"
        world.faults.add(Fault(place_of(op), transfer.target.place.buffer.name, None, what))
        return
    transfer.is_running = False
    if transfer.source.memory is not None:
        transfer.source.memory.sources[transfer.source.bytes] -= 1
    if transfer.target.memory is not None:
        transfer.target.memory.target[transfer.target.bytes] = 0


def read(world: World, text: str, end: End, *, may_be_unwritten: bool) -> None:
    """Check that a source has the bytes of its buffer, and that no transfer writes them."""
    memory, buffer = end.memory, end.place.buffer
    if memory is None:
        return
    owner = memory.owner[end.bytes]
    wrong = owner != buffer.number
    if may_be_unwritten:
        wrong &= owner != 0
    for byte in end.bytes[wrong][:1]:
        note(world, text, end, int(byte), world.lost(memory, int(byte)))
    for byte in end.bytes[memory.target[end.bytes] > 0][:1]:
        running = world.transfers[int(memory.target[byte])]
        what = f"the target of a transfer that nobody has waited for: {running}"
        note(world, text, end, int(byte), what)


def write(world: World, text: str, end: End) -> None:
    """Check that no transfer uses the bytes of a target."""
    memory = end.memory
    if memory is None:
        note(world, text, end, end.place.buffer.base, "a write to a constant")
        return
    for byte in end.bytes[memory.target[end.bytes] > 0][:1]:
        running = world.transfers[int(memory.target[byte])]
        note(world, text, end, int(byte), f"the target of a running transfer, too: {running}")
    for byte in end.bytes[memory.sources[end.bytes] > 0][:1]:
        note(world, text, end, int(byte), "the source of a running transfer")


def own(world: World, text: str, end: End) -> None:
    """Make the buffer of an end the owner of its bytes."""
    if end.memory is not None:
        end.memory.owner[end.bytes] = end.place.buffer.number
        end.memory.writer[end.bytes] = world.writer(text)


def inside(world: World, text: str, end: End) -> End:
    """The end, without its bytes if some lie outside of the buffer, which is a fault."""
    buffer, memory = end.place.buffer, end.memory
    if memory is None or not end.bytes.size:
        return end
    low, high = int(end.bytes[0]), int(end.bytes[-1])
    first, last = max(buffer.base, 0), min(buffer.base + buffer.size, memory.size) - 1
    if first <= low and high <= last:
        return end
    what = f"outside of the buffer of {buffer.size} bytes in {memory.name}"
    note(world, text, end, low if low < first else high, what)
    return End(end.place, end.bytes[:0])


def note(world: World, text: str, end: End, byte: int, what: str) -> None:
    """Note a fault at a byte of the memory."""
    buffer = end.place.buffer
    world.faults.add(Fault(text, buffer.name, byte - buffer.base, what))
