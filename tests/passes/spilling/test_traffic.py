"""The bytes that a buffer costs off the chip, by hand."""

from __future__ import annotations

from xdsl.ir import SSAValue

from helpers.pipeline import context, parse
from npu_dialect.sram import AllocOp
from npu_passes.spilling.traffic import lasting_traffic, traffic

MAP, ALL = "memref<1x2x2x2xi8, #npu.sram>", "memref<1x4x2x2xi8, #npu.sram>"
PARTS = [
    f"memref<1x2x2x2xi8, strided<[16, 4, 2, 1]{offset}>, #npu.sram>"
    for offset in ("", ", offset: 8")
]
FIRST, SECOND = (
    f"memref.subview %all[0, {channel}, 0, 0] [1, 2, 2, 2] [1, 1, 1, 1] : {ALL} to {part}"
    for channel, part in zip((0, 2), PARTS, strict=True)
)


def buffer(*lines: str) -> SSAValue:
    """The buffer `%all` of a function: 16 bytes, in which two parts of 8 bytes may lie."""
    text = "\n".join(
        [
            f"func.func @f(%x: {MAP}, %y: {MAP}, %z: {ALL}) {{",
            f"%all = sram.alloc : {ALL}",
            *lines,
            "func.return",
            "}",
        ]
    )
    (found,) = (op.buffer for op in parse(context(), text).walk() if isinstance(op, AllocOp))
    return found


def relu(source: str, target: str, kinds: tuple[str, str]) -> str:
    return f"npu.relu ins({source} : {kinds[0]}) outs({target} : {kinds[1]})"


def both(*lines: str) -> tuple[int, int]:
    value = buffer(*lines)
    return traffic(value), lasting_traffic(value)


def test_each_layer_moves_the_map() -> None:
    write, read = relu("%z", "%all", (ALL, ALL)), relu("%all", "%z", (ALL, ALL))
    assert both(write) == (16, 16)
    assert both(write, read, read) == (48, 48)


def test_a_part_is_moved_by_itself() -> None:
    write = relu("%x", "%part", (MAP, PARTS[0]))
    assert both(f"%part = {FIRST}", write) == (8, 8)
    assert both(f"%part = {FIRST}", write, relu("%all", "%z", (ALL, ALL))) == (24, 24)


def test_a_part_that_changes_is_moved_each_time() -> None:
    """Whether there is room to keep it is not known yet."""
    write = relu("%x", "%part", (MAP, PARTS[1]))
    change = relu("%part", "%part", (PARTS[1], PARTS[1]))
    read = relu("%part", "%y", (PARTS[1], MAP))
    assert both(f"%part = {SECOND}", write, change, read) == (32, 32)


def test_a_part_in_a_loop_is_moved_in_each_step() -> None:
    head = "scf.for %i = %c0 to %c2 step %c1 {"
    numbers = [f"%c{each} = arith.constant {each} : index" for each in range(3)]
    write, read = relu("%x", "%part", (MAP, PARTS[0])), relu("%part", "%y", (PARTS[0], MAP))
    assert both(f"%part = {FIRST}", *numbers, write, head, read, "}") == (8 + 16, 8 + 16)


def test_a_change_of_all_moves_nothing() -> None:
    write, read = relu("%z", "%all", (ALL, ALL)), relu("%all", "%z", (ALL, ALL))
    change = relu("%all", "%all", (ALL, ALL))
    assert both(write, change, read) == (64, 32)
    numbers = [f"%c{each} = arith.constant {each} : index" for each in range(3)]
    loop = ["scf.for %i = %c0 to %c2 step %c1 {", change, "}"]
    assert both(*numbers, *loop) == (32, 32)  # each step changes what the one before wrote
    pool = f"npu.max_pool2d ins(%all : {ALL}) outs(%all : {ALL}) kernel [1, 2] pads [0, 0, 0, 1]"
    assert traffic(buffer(write, pool, read)) == lasting_traffic(buffer(write, pool, read)) == 64


def test_a_move_pays_for_the_store() -> None:
    """A map that a move takes elsewhere costs what its layers move, less one store."""
    write, read = relu("%z", "%all", (ALL, ALL)), relu("%all", "%z", (ALL, ALL))
    move = f'"memref.copy"(%all, %z) {{npu.moves}} : ({ALL}, {ALL}) -> ()'
    assert both(write, read, move) == (48, 16)
    assert both(write, move) == (32, 0)
