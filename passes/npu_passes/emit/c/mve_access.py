"""Small C functions that load and store vectors, with an intrinsic or in plain C.

    mve.load %x[%i] : memref<64xi8> -> vector<16xi8>      ->      npu_mve_load_i8x16_int8(&x[i])

Words with gaps between them are gathered and scattered: the distances are a vector, too.
"""

from __future__ import annotations

from xdsl.ir import Attribute

from npu_dialect import mve
from npu_dialect.mve import VECTOR_BYTES
from npu_dialect.npu.maps import element_bytes
from npu_passes.emit.c.dsp_helpers import Helper
from npu_passes.emit.c.mve_helpers import ARM, computed, each_lane, lane_of, name_of, suffix_of
from npu_passes.emit.c.mve_places import SATURATE, UNSIGNED
from npu_passes.emit.c.types import VECTOR_TYPES, element_type, memref_of


def access_of(op: mve.LoadOp | mve.StoreOp) -> tuple[str, str, str, Attribute]:
    """The function of an access, its elements' C type, the letter of its intrinsic, the vector."""
    ctype = element_type(memref_of(op.memref).element_type)
    assert ctype is not None
    vector: Attribute = op.vector.type
    end = "" if op.step == 1 else "_apart"
    end += "_saturated" if isinstance(op, mve.StoreOp) and op.saturated is not None else ""
    end += "" if op.first is None else f"_first{op.count}"
    end += "_addressed" if isinstance(op, mve.LoadOp) and gathers(op) else ""
    name = f"{op.name.removeprefix('mve.')}_{name_of(vector)}_{ctype.name.removesuffix('_t')}{end}"
    return name, ctype.name, {1: "b", 2: "h", 4: "w"}[ctype.bytes], vector


def predicate(vector: Attribute, count: int) -> str:
    """The predicate of the first lanes."""
    return f"vctp{128 // mve.lanes_of(vector)}q({count})"


OFFSETS = 128
"""The bytes that the instruction of a load adds to its pointer are fewer than these."""
FARTHEST = 127
"""The most words that the instruction of a load adds to four addresses, or takes from them."""


def widens(op: mve.LoadOp) -> bool:
    """Whether a load extends all of its elements; its function gets an offset then."""
    narrow = element_bytes(memref_of(op.memref)) < VECTOR_BYTES // op.lanes
    return narrow and op.first is None and element_bytes(memref_of(op.memref)) == 1


def gathers(op: mve.LoadOp) -> bool:
    """Whether a load gathers four words with gaps; its function gets an offset then."""
    return op.addressed is not None


def offsets_of(op: mve.LoadOp) -> int:
    """How many elements the instruction of a load reaches from one pointer; 1 without an offset."""
    return OFFSETS if widens(op) else 2 * FARTHEST + 1 if gathers(op) else 1


def with_offset(letter: str, vector: Attribute, source: str, arm: str) -> str:
    """The body of a load that extends bytes, at an offset from a pointer.

    GCC gives the intrinsic no offset, and moves the pointer besides. So it gets the assembly, which
    names the memory that it may read.
    """
    return f"""\
#if defined(__GNUC__) && !defined(__clang__)
if (__builtin_constant_p(offset)) {{
    struct near {{ int8_t byte[{OFFSETS + 8}]; }};
    {VECTOR_TYPES[vector].name} r;
    __asm__("vldr{letter}.{source} %q0, [%1, %2]"
            : "=w"(r) : "l"(at), "i"(offset), "m"(*(const struct near *)at));
    return r;
}}
#endif
at += offset;
{arm}"""


def gathered(vector: Attribute, arm: str) -> str:
    """The body of a load of words with gaps, at an offset from a pointer.

    GCC believes that the intrinsic for addresses and an offset reads no memory. So it gets the
    assembly, which names what it may read. The addresses are those in the middle of the offsets.
    """
    lane = lane_of(vector)
    return f"""\
#if defined(__GNUC__) && !defined(__clang__)
if (__builtin_constant_p(offset)) {{
    const uint32x4_t near = vaddq_n_u32(places * 4, (uint32_t)at + {4 * FARTHEST});
    {VECTOR_TYPES[vector].name} r;
    __asm__("vldrw.u32 %q0, [%q1, %2]" : "=&w"(r)
            : "w"(near), "i"(4 * offset - {4 * FARTHEST}), "m"(*({lane} (*)[])(uintptr_t)at));
    return r;
}}
#endif
at += offset;
{arm}"""


def load(op: mve.LoadOp) -> tuple[str, Helper]:
    """The function that loads a vector, and its name."""
    name, ctype, letter, vector = access_of(op)
    lane = suffix_of(vector)
    unsigned = ctype == "uint8_t" and lane != "s8"
    source = lane.replace("s", "u") if unsigned else lane
    at = "(const int8_t *)at" if ctype == "uint8_t" and not unsigned else "at"
    masked, mask = ("", "") if op.first is None else ("z_", f", {predicate(vector, op.count)}")
    loaded = f"vldr{letter}q_{masked}{source}({at}{mask})"
    arm = f"return {f'vreinterpretq_{lane}_{source}({loaded})' if unsigned else loaded};"
    value = f"({lane_of(vector)})at[i]" if ctype != lane_of(vector) else "at[i]"
    head, behind = f"const {ctype} *at", f"{', zero behind them' if mask else ''}"
    if widens(op):
        arm = with_offset(letter, vector, source, arm)
        value, head = value.replace("at[i]", "at[offset + i]"), f"{head}, int offset"
    if op.step != 1:
        arm = f"{PLACES}return vldrwq_gather_shifted_offset_{masked}{lane}(at, places{mask});"
        value, head, behind = "at[i * step]", f"{head}, int step", f", {APART}{behind}"
    if gathers(op):
        arm = f"{PLACES}{gathered(vector, arm.removeprefix(PLACES))}"
        value, head = "at[offset + i * step]", f"{head}, int offset"
    if op.first is not None:
        value = f"i < {op.count} ? {value} : 0"
    return name, Helper(
        f"{VECTOR_TYPES[vector].name} {{}}({head})",
        f"{elements(op.count)} from memory{behind}.",
        computed(vector, f"r.lane[i] = {value};"),
        arm,
        ARM,
    )


def store_saturated(op: mve.StoreOp) -> tuple[str, Helper]:
    """The function that stores halves, or those of floats, as saturated bytes, and its name."""
    name, ctype, _, vector = access_of(op)
    low, high = (0, 255) if ctype == "uint8_t" else (-128, 127)
    vector_name, lanes, value = "x", "s16", "x"
    halves, half = "", "const int16_t half = x.lane[i];"
    if vector == mve.F32X4:
        vector_name, lanes, value = "v", "s32", "vreinterpretq_s32_s16(x)"
        halves = "npu_i16x8 x = vreinterpretq_s16_f32(v);\n"
        half = (
            "uint32_t bits;\n    memcpy(&bits, &v.lane[i], 4);\n"
            "    const int16_t half = (int16_t)(bits & 0xFFFF);"
        )
    saturate = UNSIGNED if ctype == "uint8_t" else SATURATE
    masked, mask = ("", "") if op.first is None else ("p_", f", {predicate(vector, op.count)}")
    at = "(int8_t *)at" if ctype == "uint8_t" else "at"
    byte = f"half < {low} ? {low} : half > {high} ? {high} : half"
    return name, Helper(
        f"void {{}}({ctype} *at, {VECTOR_TYPES[vector].name} {vector_name})",
        f"{elements(op.count)} to memory, saturated.",
        each_lane(vector, f"{half}\n    at[i] = ({ctype})({byte});", op.count),
        f"{halves}{saturate}vstrbq_{masked}{lanes}({at}, {value}{mask});",
        ARM,
        ("stdint.h", "string.h"),
    )


def store(op: mve.StoreOp) -> tuple[str, Helper]:
    """The function that stores a vector, and its name."""
    if op.saturated is not None:
        return store_saturated(op)
    name, ctype, letter, vector = access_of(op)
    lane = suffix_of(vector)
    at = "(int8_t *)at" if ctype == "uint8_t" else "at"
    masked, mask = ("", "") if op.first is None else ("p_", f", {predicate(vector, op.count)}")
    value = f"({ctype})x.lane[i]" if ctype != lane_of(vector) else "x.lane[i]"
    arm, head = f"vstr{letter}q_{masked}{lane}({at}, x{mask});", f"{ctype} *at"
    place, behind = "i", ""
    if op.step != 1:
        arm = f"{PLACES}vstrwq_scatter_shifted_offset_{masked}{lane}(at, places, x{mask});"
        place, head, behind = "i * step", f"{head}, int step", f", {APART}"
    return name, Helper(
        f"void {{}}({head}, {VECTOR_TYPES[vector].name} x)",
        f"{elements(op.count)} to memory{behind}.",
        each_lane(vector, f"at[{place}] = {value};", op.count),
        arm,
        ARM,
    )


PLACES = """\
const uint32_t s = (uint32_t)step;
const uint32x4_t places = {0, s, 2 * s, 3 * s};
"""
"""The distances of four words from the first one."""
APART = "`step` elements from one to the next"
"""What the comment of a function says of words with gaps between them."""


def elements(count: int) -> str:
    """A number of elements for a comment."""
    return "One element" if count == 1 else f"{count} elements"
