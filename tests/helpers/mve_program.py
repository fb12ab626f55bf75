"""A function with every op of the mve dialect, its inputs, and the outputs that numpy computes."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from helpers.mve_meanings import (
    COUNT,
    INPUTS,
    KINDS,
    LANES,
    OUTPUTS,
    PLACES,
    REACH,
    SATURATED,
    SCATTERED,
    SIZE,
    SOME,
    SPREAD,
    Array,
    Case,
    across,
    added,
    apart,
    chosen,
    fused,
    gathered,
    gathered_bytes,
    lanewise,
    loaded,
    low_halves,
    moved,
    moved_up,
    narrowed,
    products,
    pushed,
    pushed_three,
    rounded,
    rows,
    saturated,
    splat,
    with_number,
    with_one,
    with_word,
)

OPS: list[tuple[str, str, Callable[[Case], Array]]] = [
    *(
        (kind, f"mve.load %x{number}[%i]{end} : IN{number} -> VECTOR", loaded(number, kind, first))
        for number, kinds in ((0, ("i8", "i16", "i32")), (2, ("i8", "i16", "i32")))
        for kind in kinds
        for end, first in (("", None), (" first 3", 3))
    ),
    ("i16", "mve.load %x3[%i] first 7 : IN3 -> VECTOR", loaded(3, "i16", 7)),
    ("i32", "mve.load %x3[%i] : IN3 -> VECTOR", loaded(3, "i32")),
    ("i32", "mve.load %x5[%i] first 1 : IN5 -> VECTOR", loaded(5, "i32", 1)),
    ("f32", "mve.load %x7[%i] first 2 : IN7 -> VECTOR", loaded(7, "f32", 2)),
    ("i32", "SCALAR mve.mla_across %v0, %v1, %n : vector<16xi8>", across(0, 1, "i8")),
    ("i32", "SCALAR mve.mla_across %v3, %v4, %n : vector<8xi16>", across(3, 4, "i16")),
    ("i32", "SCALAR mve.mla_across %v5, %v6, %n : vector<4xi32>", across(5, 6, "i32")),
    *((kind, "mve.splat %n : i32 -> VECTOR", splat(kind)) for kind in ("i8", "i16", "i32")),
    ("f32", "mve.splat %f : f32 -> VECTOR", splat("f32")),
    *(
        (kind, f"mve.{name} %v{one}, %v{one + 1} : VECTOR", lanewise(kind, one, one + 1, function))
        for name, function in (
            ("add", np.add),
            ("mul", np.multiply),
            ("max", np.maximum),
            ("min", np.minimum),
            ("xor", np.bitwise_xor),
        )
        for kind, one in (("i8", 0), ("i16", 3), ("i32", 5), ("f32", 8))
        if kind != "f32" or name in ("add", "mul")
    ),
    (
        "i32",
        "mve.join %n, %k, %n, %k : VECTOR",
        lambda case: np.stack([case.arrays[5][:COUNT], case.arrays[6][:COUNT]] * 2, axis=1),
    ),
    (
        "f32",
        "mve.to_float %v5 : vector<4xi32> -> VECTOR",
        lambda case: rows(case.arrays[5], 4).astype(np.float32),
    ),
    ("i32", "mve.round %v7 : vector<4xf32> -> VECTOR", rounded),
    (
        "i32",
        "mve.widen %v3 bottom : vector<8xi16> -> VECTOR",
        lambda case: rows(case.arrays[3], 8)[:, ::2],
    ),
    (
        "i32",
        "mve.widen %v3 top : vector<8xi16> -> VECTOR",
        lambda case: rows(case.arrays[3], 8)[:, 1::2],
    ),
    *(
        (
            "i16",
            f"mve.mul_long %v0, %v1 {side} : vector<16xi8> -> VECTOR",
            lambda case, first=first: (
                rows(case.arrays[0], 16)[:, first::2].astype(np.int16)
                * rows(case.arrays[1], 16)[:, first::2].astype(np.int16)
            ),
        )
        for first, side in enumerate(("bottom", "top"))
    ),
    *(
        (
            "i32",
            f"mve.mul_long %v3, %v4 {side} : vector<8xi16> -> VECTOR",
            lambda case, first=first: (
                rows(case.arrays[3], 8)[:, first::2].astype(np.int32)
                * rows(case.arrays[4], 8)[:, first::2].astype(np.int32)
            ),
        )
        for first, side in enumerate(("bottom", "top"))
    ),
    (
        "i8",
        "mve.narrow_bytes %v3, %v4 : vector<8xi16> -> VECTOR",
        lambda case: np.stack(
            [np.clip(rows(case.arrays[each], 8), -128, 127) for each in (3, 4)], axis=2
        ).reshape(-1, 16),
    ),
    (
        "i8",
        "mve.narrow_bytes %v3, %v4 unsigned : vector<8xi16> -> VECTOR",
        lambda case: (
            np.stack([np.clip(rows(case.arrays[each], 8), 0, 255) for each in (3, 4)], axis=2)
            .astype(np.uint8)
            .reshape(-1, 16)
            .view(np.int8)
        ),
    ),
    *(
        (
            "i16",
            f"mve.mla_long %v0, %v1, %v3 {side} : vector<16xi8> -> VECTOR",
            lambda case, first=first: (
                rows(case.arrays[3], 8)
                + rows(case.arrays[0], 16)[:, first::2].astype(np.int16)
                * rows(case.arrays[1], 16)[:, first::2].astype(np.int16)
            ),
        )
        for first, side in enumerate(("bottom", "top"))
    ),
    *(
        (
            "i32",
            f"mve.add_long %v5, %v3 {side} : vector<8xi16> -> VECTOR",
            lambda case, first=first: (
                rows(case.arrays[5], 4) + rows(case.arrays[3], 8)[:, first::2].astype(np.int32)
            ),
        )
        for first, side in enumerate(("bottom", "top"))
    ),
    ("i16", "mve.narrow %v5, %w : vector<4xi32> -> VECTOR", narrowed),
    ("i16", "mve.low_halves %v8, %v9 : vector<4xf32> -> VECTOR", low_halves),
    ("f32", "mve.fma %v8, %v9, %v8 : VECTOR", fused),
    ("f32", "mve.fma_scalar %v9, %f, %v9 : VECTOR", with_one("f32", 9)),
    *(
        (kind, f"mve.mla_scalar %v{number}, %n, %v{number} : VECTOR", with_one(kind, number))
        for kind, number in (("i8", 0), ("i16", 3), ("i32", 6))
    ),
    *(("f32", f"mve.{name} %v7, %v8 : VECTOR", chosen(name)) for name in ("max", "min", "maximum")),
    *(
        (
            "i32",
            f"SCALAR mve.mul_across %v{one}, %v{one + 1} : {kind}",
            products(one, one + 1, each),
        )
        for one, each, kind in ((0, "i8", "vector<16xi8>"), (3, "i16", "vector<8xi16>"))
    ),
    (
        "i32",
        "mve.mul_lanes %v0, %v1, %v1, %v0 by %v1 : VECTOR",
        lambda case: np.stack([products(one, 1, "i8")(case)[:, 0] for one in (0, 1, 1, 0)], axis=1),
    ),
    (
        "i32",
        "mve.mul_lanes %v1, %v0, %v0, %v1 by %v1 in_place : VECTOR",
        lambda case: np.stack([products(one, 1, "i8")(case)[:, 0] for one in (1, 0, 0, 1)], axis=1),
    ),
    (
        "i32",
        "mve.mul_lanes %v1, %v1, %v0, %v0 by %v1 : VECTOR",
        lambda case: np.stack([products(one, 1, "i8")(case)[:, 0] for one in (1, 1, 0, 0)], axis=1),
    ),
    *(
        ("i16", f"mve.gather %x{x}[%i] at %places reach {REACH} : IN{x}", gathered(255, x))
        for x in (0, 2)
    ),
    ("i16", f"mve.gather %x0[%i] at %places reach {REACH} lanes {SOME} : IN0", gathered(SOME)),
    *(
        (
            "i16",
            f"mve.gather %x0[%i] at %places reach {REACH}{lanes} signed : IN0",
            gathered(mask, signed=True),
        )
        for lanes, mask in (("", 255), (f" lanes {SOME}", SOME))
    ),
    *(
        ("i8", f"mve.gather_bytes %x{x}[%i] at %near reach {REACH} : IN{x}", gathered_bytes(x))
        for x in (0, 2)
    ),
    *(
        (
            kind,
            f"mve.{name}_scalar %v{number}, {of} : VECTOR, {type_}",
            with_number(kind, number, f),
        )
        for name, f in (("add", np.add), ("mul", np.multiply))
        for kind, number, of, type_ in (
            *(("i8", 0, "%n", "i32"), ("i16", 3, "%n", "i32")),
            *(("i32", 6, "%n", "i32"), ("f32", 9, "%f", "f32")),
        )
    ),
    *(
        (kind, f"mve.add_saturated %v{number}, %n : VECTOR, i32", with_number(kind, number, added))
        for kind, number in (("i8", 0), ("i16", 3), ("i32", 6))
    ),
    ("i16", "mve.push_bytes %v3, %v4 : VECTOR", pushed),
    ("i8", "mve.push_three %v0, %n : VECTOR", pushed_three),
    *(("i8", f"mve.set_word %v0[{lane}], %n : VECTOR", with_word(lane)) for lane in range(4)),
    *(("i8", f"mve.shift_in %v0, %v1 by {by} : VECTOR", moved(by)) for by in (-3, -2, -1, 1, 2, 3)),
    (
        "i8",
        "mve.as_bytes %v3 : vector<8xi16> -> VECTOR",
        lambda case: np.ascontiguousarray(rows(case.arrays[3], 8)).view(np.int8),
    ),
    (
        "i8",
        "mve.as_bytes %v5 : vector<4xi32> -> VECTOR",
        lambda case: np.ascontiguousarray(rows(case.arrays[5], 4)).view(np.int8),
    ),
    ("f32", "mve.move_up %v9 : VECTOR", moved_up),
    ("f32", "mve.load %t7[%zero] : THIRD -> VECTOR", apart(7)),
    ("f32", "mve.load %t8[%zero] first 3 : THIRD -> VECTOR", apart(8, 3)),
    ("i32", "mve.load %t5[%zero] : THIRD -> VECTOR", apart(5)),
    ("f32", "mve.load %t7[%zero] addressed : THIRD -> VECTOR", apart(7)),
    ("i32", "mve.load %t5[%zero] addressed : THIRD -> VECTOR", apart(5)),
]
"""For each op on the operands of one iteration: its lanes, its text, and what it computes."""


def number_of(kind: str) -> int:
    """How many ops have results of a kind."""
    return sum(each == kind for each, _, _ in OPS)


def sizes() -> list[tuple[str, str, int]]:
    """Name, element type and size of all arguments."""
    inputs = [(f"x{number}", kind, SIZE) for number, kind in enumerate(INPUTS)]
    outputs = [
        (f"o{number}", kind, number_of(kind) * COUNT * LANES[kind] if number < 4 else COUNT + 3)
        for number, kind in enumerate(OUTPUTS[:6])
    ]
    apart = [
        (f"o{number}", OUTPUTS[number], REACH * COUNT) for number, *_ in (*SCATTERED, *SATURATED)
    ]
    spread = [(f"o{number}", OUTPUTS[number], 2 * REACH * COUNT) for number, _ in SPREAD]
    return [*inputs, *outputs, ("o6", "f32", 8 * COUNT), *apart, *spread]


def expected(case: Case) -> list[Array]:
    """The outputs: of each kind the results of all ops; then what is stored in other ways.

    That is the lowest bits of x5, x7 beside x8, at the places x3 and some lanes of x4, twice,
    saturated x9, x8, x3 and x4, and x0 and x1 at twice as many places.
    """
    found: list[Array] = []
    for kind in OUTPUTS[:4]:
        results = [compute(case) for each, _, compute in OPS if each == kind]
        found.append(np.stack(results).astype(KINDS[kind]).ravel())
    words = case.arrays[5]
    bytes_ = np.concatenate([words[:COUNT], words[COUNT : COUNT + 3]])
    found.append(bytes_.astype(np.int8))
    firsts = np.concatenate([words[:COUNT], words[COUNT : COUNT + 1], [0, 0]])
    found.append(firsts.astype(np.uint8))
    places = np.stack([rows(case.arrays[number], 4) for number in (7, 8)], axis=2)
    places[:, 3, 1] = case.arrays[8][:COUNT]
    found.append(places.ravel())
    for output, number, mask, saturates in SCATTERED:
        kind = KINDS[OUTPUTS[output]]
        some = [lane for lane in range(8) if mask >> lane & 1]
        values, ends = np.zeros((COUNT, REACH), kind), np.iinfo(kind)
        halves = rows(case.arrays[number], 8)[:, some]
        halves = np.clip(halves, ends.min, ends.max) if saturates else halves
        values[:, [PLACES[lane] for lane in some]] = halves.astype(kind)
        found.append(values.ravel())
    found += [saturated(case, number, count, OUTPUTS[out]) for out, number, count in SATURATED]
    for output, number in SPREAD:
        values = np.zeros((COUNT, 2 * REACH), KINDS[OUTPUTS[output]])
        places = [each for place in PLACES for each in (place, place + REACH)]
        values[:, places] = rows(case.arrays[number], 16).astype(values.dtype)
        found.append(values.ravel())
    return found


def ports() -> tuple[list[str], dict[str, str], int]:
    """The arguments of the function as texts, their types by name, and the bytes of the arena."""
    offset, arguments, types = 0, list[str](), dict[str, str]()
    for place, (name, kind, size) in enumerate(sizes()):
        types[name] = f"memref<{size}x{kind}, #npu.sram>"
        way = "input" if place < len(INPUTS) else "output"
        arguments.append(
            f'%{name}: {types[name]} {{sram.{way}, npu.name = "{name}", '
            f"sram.offset = {offset} : i64}}"
        )
        offset += -(-size * KINDS[kind]().itemsize // 16) * 16
    return arguments, types, offset


def program() -> str:
    """The text of the module."""
    arguments, types, offset = ports()
    lines = [
        f"%v{number} = mve.load %x{number}[%i] : {types[f'x{number}']} -> {vector(kind)}"
        for number, kind in enumerate(INPUTS)
        if kind != "ui8"
    ] + [views(types)]
    done = dict.fromkeys(LANES, 0)
    for row, (kind, text, _) in enumerate(OPS):
        text = text.replace("VECTOR", vector(kind)).replace("THIRD", every_third(kind))
        text = re.sub(r"IN(\d)", lambda found: types[f"x{found[1]}"], text)
        if text.startswith("SCALAR "):
            lines.append(f"%s{row} = {text.removeprefix('SCALAR ')}")
            lines.append(f"%r{row} = mve.splat %s{row} : i32 -> vector<4xi32>")
        else:
            lines.append(f"%r{row} = {text}")
        target = f"o{list(LANES).index(kind)}"
        lines.append(f"%c{row} = arith.constant {done[kind] * COUNT * LANES[kind]} : index")
        lines.append(f"%p{row} = arith.addi %at_{kind}, %c{row} : index")
        lines.append(f"mve.store %r{row}, %{target}[%p{row}] : {vector(kind)}, {types[target]}")
        done[kind] += 1
    places = [
        f"%lanes_{kind} = arith.constant {lanes} : index\n"
        f"%at_{kind} = arith.muli %i, %lanes_{kind} : index"
        for kind, lanes in LANES.items()
    ]
    body = "\n".join((*places, *lines, *scattered(types)))
    return f"""
    func.func @vectors({", ".join(arguments)}) attributes {{sram.arena = {offset} : i64}} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %count = arith.constant {COUNT} : index
      %none = arith.constant 0 : i32
      {placed()}
      %nothing = mve.splat %none : i32 -> vector<4xi32>
      %last = arith.constant {COUNT - 1} : index
      mve.store %nothing, %o5[%last] : vector<4xi32>, {types["o5"]}
      scf.for %i = %zero to %count step %one {{
        %n = memref.load %x5[%i] : {types["x5"]}
        %k = memref.load %x6[%i] : {types["x6"]}
        %w = mve.load %x3[%i] : {types["x3"]} -> vector<4xi32>
        %f = memref.load %x8[%i] : {types["x8"]}
        {body}
        mve.store %v5, %o4[%i] : vector<4xi32>, {types["o4"]}
        mve.store %v5, %o5[%i] first 2 : vector<4xi32>, {types["o5"]}
      }}
      func.return
    }}"""


def placed() -> str:
    """The places in a vector of halves, and of bytes."""
    names = [f"%place{lane}" for lane in range(8)]
    lines = [f"{n} = arith.constant {p} : i32" for n, p in zip(names, PLACES, strict=True)]
    sides = (("even", names[::2]), ("odd", names[1::2]))
    joins = [f"%{side} = mve.join {', '.join(four)} : vector<4xi32>" for side, four in sides]
    narrow = "%places = mve.narrow %even, %odd : vector<4xi32> -> vector<8xi16>"
    bytes_ = "%near = mve.as_bytes %places : vector<8xi16> -> vector<16xi8>"
    spread = f"""
      %farther = arith.constant {REACH} : i32
      %behind = mve.add_scalar %places, %farther : vector<8xi16>, i32
      %both = mve.push_bytes %behind, %places : vector<8xi16>
      %spread = mve.as_bytes %both : vector<8xi16> -> vector<16xi8>"""
    return "\n".join((*lines, *joins, narrow, bytes_, spread))


def scattered(types: dict[str, str]) -> tuple[str, ...]:
    """Stores of x3, saturated, and of some lanes of x4 at the places; stores that saturate; and
    stores of x0 and x1 at twice as many places."""
    lines: list[str] = []
    for output, number, mask, saturates in SCATTERED:
        name, type_ = f"%o{output}", types[f"o{output}"]
        end = " saturated" if saturates else f" lanes {mask}"
        lines.append(f"mve.store %zeros, {name}[%block] : vector<16xi8>, {type_}")
        at = f"at %places reach {REACH}{end}"
        lines.append(f"mve.scatter %v{number}, {name}[%block] {at} : {type_}")
    for output, number, count in SATURATED:
        name, type_ = f"%o{output}", types[f"o{output}"]
        first = "" if count is None else f" first {count}"
        lines.append(f"mve.store %zeros, {name}[%block] : vector<16xi8>, {type_}")
        kinds = f"{vector(INPUTS[number])}, {type_}"
        lines.append(f"mve.store %v{number}, {name}[%block]{first} saturated : {kinds}")
    lines.append("%blocks = arith.addi %block, %block : index")
    lines.append("%second = arith.addi %blocks, %reach : index")
    for output, number in SPREAD:
        name, type_ = f"%o{output}", types[f"o{output}"]
        for place in ("%blocks", "%second"):
            lines.append(f"mve.store %zeros, {name}[{place}] : vector<16xi8>, {type_}")
        at = f"at %spread reach {2 * REACH}"
        lines.append(f"mve.scatter_bytes %v{number}, {name}[%blocks] {at} : {type_}")
    return (
        f"%reach = arith.constant {REACH} : index",
        "%block = arith.muli %i, %reach : index",
        "%zeros = mve.splat %none : i32 -> vector<16xi8>",
        *lines,
    )


def views(types: dict[str, str]) -> str:
    """Every third element of some inputs from element i on, and stores to every second one.

    Output o6 gets v7 in even places, and in odd ones v8, of whose vectors the last lane is x8[i].
    """
    lines = [
        f"%t{number} = memref.subview %x{number}[%i] [4] [3] : "
        f"{types[f'x{number}']} to {every_third(kind)}"
        for number, kind in ((5, "i32"), (7, "f32"), (8, "f32"))
    ]
    for name, place in (("evens", "%at_even"), ("odds", "%at_odd")):
        view = every_third("f32").replace("[3]", "[2]")
        lines.append(f"%{name} = memref.subview %o6[{place}] [4] [2] : {types['o6']} to {view}")
    stores = (("%v7", "%evens", ""), ("%ends", "%odds", ""), ("%v8", "%odds", " first 3"))
    return "\n".join(
        (
            *("%eight = arith.constant 8 : index", "%at_even = arith.muli %i, %eight : index"),
            *("%at_odd = arith.addi %at_even, %one : index", *lines),
            "%ends = mve.splat %f : f32 -> vector<4xf32>",
            *(
                f"mve.store {value}, {at}[%zero]{end} : vector<4xf32>, "
                + every_third("f32").replace("[3]", "[2]")
                for value, at, end in stores
            ),
        )
    )


def every_third(kind: str) -> str:
    """The type of four elements of which each is the third one in memory."""
    return f"memref<4x{kind}, strided<[3], offset: ?>, #npu.sram>"


def vector(kind: str) -> str:
    """The type of vectors of a kind."""
    return f"vector<{LANES[kind]}x{kind}>"
