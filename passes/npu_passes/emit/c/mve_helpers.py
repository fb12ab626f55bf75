"""Small C functions for the ops of the mve dialect, with an intrinsic or in plain C.

    mve.mla_across %x, %w, %acc : vector<16xi8>      ->      npu_mve_mla_across_i8x16(x, w, acc)

If the compiler says that the machine has the vector unit with floats (`__ARM_FEATURE_MVE`, Arm C
Language Extensions), a vector is a type of <arm_mve.h> and a function is one intrinsic. Otherwise a
vector is a struct of lanes, and plain C computes the same bits, without undefined behaviour. Only
the functions that a file uses are printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation

from npu_dialect import mve
from npu_passes.emit.c.dsp_helpers import Helper, use_helper, use_macro
from npu_passes.emit.c.expr import Expr, call
from npu_passes.emit.c.integers import Build
from npu_passes.emit.c.macros import INLINE
from npu_passes.emit.c.types import FLOATS, VECTOR_TYPES
from npu_passes.emit.c.unit import MVE_ARM, Unit

ARM = f"#ifdef {MVE_ARM}"
"""The condition under which the machine has the instructions."""


def name_of(type_: Attribute) -> str:
    """A vector in the names of functions, such as `i8x16`."""
    return VECTOR_TYPES[type_].name.removeprefix("npu_")


def suffix_of(type_: Attribute) -> str:
    """The lanes of a vector in the names of intrinsics, such as `s8`."""
    lanes = name_of(type_)
    return lanes.partition("x")[0].replace("i", "s")


def lane_of(type_: Attribute) -> str:
    """The C type of the lanes of a vector."""
    return {"s8": "int8_t", "s16": "int16_t", "s32": "int32_t", "f32": "float"}[suffix_of(type_)]


def each_lane(type_: Attribute, statement: str, count: int | None = None) -> str:
    """A loop over the lanes `i` of a vector, in plain C."""
    lanes = mve.lanes_of(type_) if count is None else count
    return f"for (int i = 0; i < {lanes}; ++i) {{\n    {statement}\n}}"


def computed(type_: Attribute, statement: str) -> str:
    """A body in plain C that computes a vector `r` lane by lane."""
    return f"{VECTOR_TYPES[type_].name} r;\n{each_lane(type_, statement)}\nreturn r;"


# -- arithmetic ------------------------------------------------------------------------------------


def mla_across(type_: Attribute) -> Helper:
    """The function that adds the products of all lanes."""
    vector = VECTOR_TYPES[type_].name
    product = "(uint32_t)((int32_t)a.lane[i] * b.lane[i])"
    if suffix_of(type_) == "s32":
        product = "(uint32_t)a.lane[i] * (uint32_t)b.lane[i]"
    return Helper(
        f"int32_t {{}}({vector} a, {vector} b, int32_t acc)",
        "acc plus the products of all lanes.",
        "uint32_t sum = (uint32_t)acc;\n"
        f"{each_lane(type_, f'sum += {product};')}\nreturn (int32_t)sum;",
        f"return vmladavaq_{suffix_of(type_)}(acc, a, b);",
        ARM,
    )


def mul_across(type_: Attribute) -> Helper:
    """The function that adds up the products of all lanes."""
    found = mla_across(type_)
    vector = VECTOR_TYPES[type_].name
    return replace(
        found,
        head=f"int32_t {{}}({vector} a, {vector} b)",
        comment="The sum of the products of all lanes.",
        plain=found.plain.replace("(uint32_t)acc;", "0;"),
        arm=f"return vmladavq_{suffix_of(type_)}(a, b);",
    )


def mla_scalar(type_: Attribute) -> Helper:
    """The function that adds the products with one number."""
    vector, lane = VECTOR_TYPES[type_].name, lane_of(type_)
    product = "(uint32_t)a.lane[i] * (uint32_t)b"
    return Helper(
        f"{vector} {{}}({vector} a, int32_t b, {vector} acc)",
        "acc + a * b of each lane.",
        computed(type_, f"r.lane[i] = ({lane})((uint32_t)acc.lane[i] + {product});"),
        f"return vmlaq_n_{suffix_of(type_)}(acc, a, ({lane})b);",
        ARM,
    )


def splat(type_: Attribute) -> Helper:
    """The function that copies a number to every lane."""
    lane = lane_of(type_)
    number = "float" if lane == "float" else "int32_t"
    value = "x" if number == lane else f"({lane})x"
    return Helper(
        f"{VECTOR_TYPES[type_].name} {{}}({number} x)",
        "A number in every lane.",
        computed(type_, f"r.lane[i] = {value};"),
        f"return vdupq_n_{suffix_of(type_)}({value});",
        ARM,
    )


def lanewise(type_: Attribute, what: str, statement: str, arm: str) -> Helper:
    """A function of the lanes of two vectors; `arm` is its value with intrinsics."""
    vector = VECTOR_TYPES[type_].name
    return Helper(
        f"{vector} {{}}({vector} a, {vector} b)",
        f"The {what} of each lane.",
        computed(type_, f"r.lane[i] = {statement};"),
        f"return {arm};",
        ARM,
    )


ROUNDED = "npu_rounded_float"
"""The function that keeps a compiler from contracting a product with a sum."""


def kept_apart(product: Helper) -> Helper:
    """The function of a product that clang cannot contract with a sum; gcc knows no intrinsic."""
    value = product.arm.removeprefix("return ")
    barrier = '#ifdef __clang__\n__asm__("" : "+w"(r));\n#endif'
    return replace(product, arm=f"npu_f32x4 r = {value}\n{barrier}\nreturn r;")


def wrapping(operator: str, what: str, intrinsic: str) -> Callable[[Attribute], Helper]:
    """The function of a sum or product; those of integers wrap around."""

    def made(type_: Attribute) -> Helper:
        lane = lane_of(type_)
        text, arm = f"a.lane[i] {operator} b.lane[i]", f"{intrinsic}q_{suffix_of(type_)}(a, b)"
        if lane != "float":
            text = f"({lane})((uint32_t)a.lane[i] {operator} (uint32_t)b.lane[i])"
        elif operator == "*":
            return kept_apart(lanewise(type_, what, f"{ROUNDED}({text})", arm))
        return lanewise(type_, what, text, arm)

    return made


def xor(type_: Attribute) -> Helper:
    """The function of the bits that differ."""
    text = f"({lane_of(type_)})(a.lane[i] ^ b.lane[i])"
    return lanewise(type_, "bits that differ", text, f"veorq_{suffix_of(type_)}(a, b)")


def extreme(operator: str, what: str, intrinsic: str) -> Callable[[Attribute], Helper]:
    """The function of a maximum or minimum; of floats, the second one if they are not ordered."""
    text = f"a.lane[i] {operator} b.lane[i] ? a.lane[i] : b.lane[i]"

    def made(type_: Attribute) -> Helper:
        if type_ != mve.F32X4:
            return lanewise(type_, what, text, f"{intrinsic}q_{suffix_of(type_)}(a, b)")
        # "Less than" of these instructions holds for NaN, too, so the operands change places.
        one, two = ("a", "b") if operator == ">" else ("b", "a")
        places = {"a": "%q1", "b": "%q0"}
        found = lanewise(type_, what, text, "")
        arm = chosen(
            f"vpt.f32 gt, {places[one]}, {places[two]}\\n\\tvmovt %q0, %q1",
            f"vpselq_f32(a, b, vcmpgtq_f32({one}, {two}))",
        )
        return replace(found, arm=arm)

    return made


def chosen(assembly: str, intrinsics: str) -> str:
    """A body that replaces lanes of `b`, `%0`, by those of `a`, `%1`, by predicated moves.

    GCC moves the predicate of an intrinsic to a core register and back, so it gets the assembly.
    """
    return f"""\
#if defined(__GNUC__) && !defined(__clang__)
__asm__("{assembly}" : "+w"(b) : "w"(a) : "p0");
return b;
#else
return {intrinsics};
#endif"""


JOIN = Helper(
    "npu_i32x4 {}(int32_t a, int32_t b, int32_t c, int32_t d)",
    "Four words as a vector.",
    "const npu_i32x4 r = {{a, b, c, d}};\nreturn r;",
    """\
#if defined(__GNUC__) && !defined(__clang__)
npu_i32x4 r;
__asm__("vmov %q0[2], %q0[0], %1, %2" : "=w"(r) : "r"(a), "r"(c));
__asm__("vmov %q0[3], %q0[1], %1, %2" : "+w"(r) : "r"(b), "r"(d));
return r;
#else
const npu_i32x4 r = {a, b, c, d};
return r;
#endif""",
    ARM,
)
"""GCC stores the words of an initialiser and loads the vector, so it gets the assembly."""

TO_FLOAT = Helper(
    "npu_f32x4 {}(npu_i32x4 x)",
    "The nearest floats.",
    computed(mve.F32X4, "r.lane[i] = (float)x.lane[i];"),
    "return vcvtq_f32_s32(x);",
    ARM,
)

ROUND = Helper(
    "npu_i32x4 {}(npu_f32x4 x)",
    "The nearest integers, halves to even, within the range of int32_t; 0 for NaN.",
    computed(mve.I32X4, "r.lane[i] = npu_dsp_round(x.lane[i]);"),
    "return vcvtnq_s32_f32(x);",
    ARM,
)

FMA = Helper(
    "npu_f32x4 {}(npu_f32x4 a, npu_f32x4 b, npu_f32x4 acc)",
    "acc + a * b of each lane, rounded once.",
    computed(mve.F32X4, "r.lane[i] = fmaf(a.lane[i], b.lane[i], acc.lane[i]);"),
    "return vfmaq_f32(acc, a, b);",
    ARM,
    ("math.h", "stdint.h"),
)

FMA_SCALAR = Helper(
    "npu_f32x4 {}(npu_f32x4 a, float b, npu_f32x4 acc)",
    "acc + a * b of each lane, rounded once.",
    computed(mve.F32X4, "r.lane[i] = fmaf(a.lane[i], b, acc.lane[i]);"),
    "return vfmaq_n_f32(acc, a, b);",
    ARM,
    ("math.h", "stdint.h"),
)

MAXIMUM = Helper(
    "npu_f32x4 {}(npu_f32x4 a, npu_f32x4 b)",
    "The greater one of each lane, NaN if one is.",
    computed(
        mve.F32X4,
        "r.lane[i] = a.lane[i] > b.lane[i] || a.lane[i] != a.lane[i] ? a.lane[i] : b.lane[i];",
    ),
    chosen(
        "vpt.f32 gt, %q1, %q0\\n\\tvmovt %q0, %q1\\n\\tvpt.f32 ne, %q1, %q1\\n\\tvmovt %q0, %q1",
        "vpselq_f32(a, vpselq_f32(a, b, vcmpgtq_f32(a, b)), vcmpneq_f32(a, a))",
    ),
    ARM,
)


def narrow(bits: int, what: str, narrower: str, *, unsigned: bool = False) -> Helper:
    """The function that makes lanes of `bits` out of lanes twice as wide, which have signs.

    GCC copies the first operand of the intrinsic, so it gets the assembly.
    """
    count, wide, end = 128 // bits, 2 * bits, 2 ** (bits - 1)
    old, new = f"npu_i{wide}x{count // 2}", f"npu_i{bits}x{count}"
    low, high = (0, 2 * end - 1) if unsigned else (-end, end - 1)
    to = f"(int{bits}_t)" + f"(uint{bits}_t)" * unsigned
    sign, vqmov = ("u", "vqmovun") if unsigned else ("s", "vqmovn")
    joined = f"{vqmov}tq_s{wide}({vqmov}bq_s{wide}(vdupq_n_{sign}{bits}(0), even), odd)"
    if unsigned:
        joined = f"vreinterpretq_s{bits}_u{bits}({joined})"
    return Helper(
        f"{new} {{}}({old} even, {old} odd)",
        f"{what} as {narrower}, saturated: even lanes, and odd lanes.",
        f"{new} r;\nfor (int i = 0; i < {count}; ++i) {{\n"
        "    const int32_t x = i % 2 == 0 ? even.lane[i / 2] : odd.lane[i / 2];\n"
        f"    r.lane[i] = {to}(x < {low} ? {low} : x > {high} ? {high} : x);\n}}\nreturn r;",
        f"""\
#if defined(__GNUC__) && !defined(__clang__)
__asm__("{vqmov}b.s{wide} %q0, %q0\\n\\t{vqmov}t.s{wide} %q0, %q1" : "+&w"(even) : "w"(odd));
return vreinterpretq_s{bits}_s{wide}(even);
#else
return {joined};
#endif""",
        ARM,
    )


NARROW = narrow(16, "Words", "halves")
NARROW_BYTES = narrow(8, "Halves", "bytes")
NARROW_UNSIGNED = narrow(8, "Halves", "bytes without signs", unsigned=True)

LOW_HALVES = Helper(
    "npu_i16x8 {}(npu_f32x4 even, npu_f32x4 odd)",
    "The low halves of the bits of floats: even lanes, and odd lanes.",
    """\
npu_i16x8 r;
for (int i = 0; i < 8; ++i) {
    uint32_t bits;
    memcpy(&bits, i % 2 == 0 ? &even.lane[i / 2] : &odd.lane[i / 2], 4);
    r.lane[i] = (int16_t)(bits & 0xFFFF);
}
return r;""",
    """\
#if defined(__GNUC__) && !defined(__clang__)
__asm__("vmovnt.i32 %q0, %q1" : "+w"(even) : "w"(odd));
return vreinterpretq_s16_f32(even);
#else
return vmovntq_s32(vreinterpretq_s16_f32(even), vreinterpretq_s32_f32(odd));
#endif""",
    ARM,
    ("stdint.h", "string.h"),
)
"""GCC copies the first operand of the intrinsic, so it gets the assembly."""

PUSH_BYTES = Helper(
    "npu_i16x8 {}(npu_i16x8 old, npu_i16x8 new_)",
    "Halves with the low bytes of two vectors, those of the second one low.",
    computed(
        mve.I16X8,
        "r.lane[i] = (int16_t)(uint16_t)((uint32_t)old.lane[i] << 8 | (uint8_t)new_.lane[i]);",
    ),
    "return vsliq_n_s16(new_, old, 8);",
    ARM,
)

PUSH_THREE = Helper(
    "npu_i8x16 {}(npu_i8x16 x, int32_t first)",
    "The low bytes of a number, and behind them all bytes but the last three.",
    computed(
        mve.I8X16,
        "r.lane[i] = (int8_t)(i < 3 ? (uint32_t)first >> 8 * i & 0xFF : (uint8_t)x.lane[i - 3]);",
    ),
    "uint32_t carry = (uint32_t)first;\nreturn vshlcq_s8(x, &carry, 24);",
    ARM,
)


def set_word(lane: int) -> Helper:
    """The function that sets four bytes of a vector."""
    first = 4 * lane
    return Helper(
        "npu_i8x16 {}(npu_i8x16 x, int32_t word)",
        f"A vector whose bytes from {first} on are the four of a number.",
        computed(
            mve.I8X16,
            f"r.lane[i] = (int8_t)(i / 4 == {lane}"
            " ? (int32_t)((uint32_t)word >> i % 4 * 8 & 0xFF) : x.lane[i]);",
        ),
        f"return vreinterpretq_s8_s32(vsetq_lane_s32(word, vreinterpretq_s32_s8(x), {lane}));",
        ARM,
    )


def shift_in(by: int) -> Helper:
    """The function that moves the bytes of each word up by some, or down."""
    way, bits = ("l", 8 * by) if by > 0 else ("r", -8 * by)
    inside = f"i % 4 >= {by}" if by > 0 else f"i % 4 < {4 + by}"
    source = f"i - {by}" if by > 0 else f"i + {-by}"
    return Helper(
        "npu_i8x16 {}(npu_i8x16 fill, npu_i8x16 x)",
        f"In each word, bytes moved {'up' if by > 0 else 'down'} by {abs(by)}; others are those "
        "of `fill`.",
        computed(mve.I8X16, f"r.lane[i] = {inside} ? x.lane[{source}] : fill.lane[i];"),
        "const uint32x4_t words = vreinterpretq_u32_s8(x);\n"
        f"return vreinterpretq_s8_u32(vs{way}iq_n_u32(vreinterpretq_u32_s8(fill), words, {bits}));",
        ARM,
    )


SHIFTS = {by: f"shift_in_{'up' if by > 0 else 'down'}{abs(by)}" for by in (-3, -2, -1, 1, 2, 3)}
"""The names of the functions that move bytes of words, by how far."""


def mul_lanes(*, in_place: bool) -> Helper:
    """The function that multiplies four vectors with the same weights.

    If it is `in_place`, the sums have the register of the weights, and wait in four others.
    """
    asm = """\
npu_i32x4 r;
int32_t s0, s1;
__asm__("vmladav.s8 %1, %q3, %q7\\n\\t"
        "vmladav.s8 %2, %q5, %q7\\n\\t"
        "vmov %q0[2], %q0[0], %1, %2\\n\\t"
        "vmladav.s8 %1, %q4, %q7\\n\\t"
        "vmladav.s8 %2, %q6, %q7\\n\\t"
        "vmov %q0[3], %q0[1], %1, %2"
        : "=&w"(r), "=&Te"(s0), "=&Te"(s1)
        : "w"(a), "w"(b), "w"(c), "w"(d), "w"(w));
return r;
"""
    if in_place:
        asm = """\
int32_t s0, s1, s2, s3;
__asm__("vmladav.s8 %1, %q5, %q0\\n\\t"
        "vmladav.s8 %2, %q6, %q0\\n\\t"
        "vmladav.s8 %3, %q7, %q0\\n\\t"
        "vmladav.s8 %4, %q8, %q0\\n\\t"
        "vmov %q0[2], %q0[0], %1, %3\\n\\t"
        "vmov %q0[3], %q0[1], %2, %4"
        : "+&w"(w), "=&Te"(s0), "=&Te"(s1), "=&Te"(s2), "=&Te"(s3)
        : "w"(a), "w"(b), "w"(c), "w"(d));
return vreinterpretq_s32_s8(w);
"""
    return Helper(
        "npu_i32x4 {}(npu_i8x16 a, npu_i8x16 b, npu_i8x16 c, npu_i8x16 d, npu_i8x16 w)",
        "The sums of the products of four vectors with the same weights.",
        "const npu_i8x16 x[4] = {a, b, c, d};\n"
        "npu_i32x4 r;\n"
        "for (int i = 0; i < 4; ++i) {\n"
        "    int32_t sum = 0;\n"
        "    for (int k = 0; k < 16; ++k) {\n"
        "        sum += (int32_t)x[i].lane[k] * w.lane[k];\n"
        "    }\n"
        "    r.lane[i] = sum;\n"
        "}\n"
        "return r;",
        f"""\
#if defined(__GNUC__) && !defined(__clang__)
{asm}#else
const npu_i32x4 r = {{vmladavq_s8(a, w), vmladavq_s8(b, w), vmladavq_s8(c, w), vmladavq_s8(d, w)}};
return r;
#endif""",
        ARM,
        inline=INLINE,
    )


MUL_LANES, MUL_LANES_IN_PLACE = mul_lanes(in_place=False), mul_lanes(in_place=True)

AS_FLOATS = Helper(
    "npu_f32x4 {}(npu_i32x4 x)",
    "The bits of words as those of floats.",
    "npu_f32x4 r;\nmemcpy(&r, &x, sizeof r);\nreturn r;",
    "return vreinterpretq_f32_s32(x);",
    ARM,
    ("string.h", "stdint.h"),
)


def as_bytes(type_: Attribute) -> Helper:
    """The function that takes each lane apart."""
    count = mve.VECTOR_BYTES // mve.lanes_of(type_)
    bits = f"(u{lane_of(type_)})x.lane[i / {count}]"
    return Helper(
        f"npu_i8x16 {{}}({VECTOR_TYPES[type_].name} x)",
        f"{'Halves' if type_ == mve.I16X8 else 'Words'} as bytes, the lowest one first.",
        computed(mve.I8X16, f"r.lane[i] = (int8_t)({bits} >> i % {count} * 8 & 0xFF);"),
        f"return vreinterpretq_s8_{suffix_of(type_)}(x);",
        ARM,
    )


def widen(top: bool) -> Helper:
    """The function that extends every second lane of halves."""
    return Helper(
        "npu_i32x4 {}(npu_i16x8 x)",
        f"The {'odd' if top else 'even'} lanes as words.",
        computed(mve.I32X4, f"r.lane[i] = x.lane[2 * i{' + 1' if top else ''}];"),
        f"return vmovl{'t' if top else 'b'}q_s16(x);",
        ARM,
    )


def mul_long(top: bool, wide: Attribute = mve.I16X8) -> Helper:
    """The function of the products of every second lane of bytes, or of halves."""
    lane, number = f"2 * i{' + 1' if top else ''}", lane_of(wide)
    type_, what = (mve.I8X16, "halves") if wide == mve.I16X8 else (mve.I16X8, "words")
    vector = VECTOR_TYPES[type_].name
    return Helper(
        f"{VECTOR_TYPES[wide].name} {{}}({vector} a, {vector} b)",
        f"The products of the {'odd' if top else 'even'} lanes as {what}.",
        computed(wide, f"r.lane[i] = ({number})(a.lane[{lane}] * b.lane[{lane}]);"),
        f"return vmull{'t' if top else 'b'}q_int_{suffix_of(type_)}(a, b);",
        ARM,
    )


def mla_long(top: bool) -> Helper:
    """The function that adds the products of every second lane of bytes to halves.

    GCC puts the sums off, so that products need registers. So it gets the assembly.
    """
    lane, side = f"2 * i{' + 1' if top else ''}", "t" if top else "b"
    total = f"(uint32_t)acc.lane[i] + (uint32_t)(a.lane[{lane}] * b.lane[{lane}])"
    return Helper(
        "npu_i16x8 {}(npu_i8x16 a, npu_i8x16 b, npu_i16x8 acc)",
        f"acc plus the products of the {'odd' if top else 'even'} lanes.",
        computed(mve.I16X8, f"r.lane[i] = (int16_t)({total});"),
        f"""\
#if defined(__GNUC__) && !defined(__clang__)
npu_i16x8 t;
__asm__("vmull{side}.s8 %q1, %q2, %q3\\n\\tvadd.i16 %q0, %q0, %q1"
        : "+w"(acc), "=w"(t) : "w"(a), "w"(b));
return acc;
#else
return vaddq_s16(acc, vmull{side}q_int_s8(a, b));
#endif""",
        ARM,
    )


def add_long(top: bool) -> Helper:
    """The function that adds every second lane of halves to words.

    GCC moves the extensions to the front, where their words need registers, so it gets the
    assembly.
    """
    lane, side = f"2 * i{' + 1' if top else ''}", "t" if top else "b"
    return Helper(
        "npu_i32x4 {}(npu_i32x4 acc, npu_i16x8 x)",
        f"acc plus the {'odd' if top else 'even'} lanes as words.",
        computed(
            mve.I32X4,
            f"r.lane[i] = (int32_t)((uint32_t)acc.lane[i] + (uint32_t)(int32_t)x.lane[{lane}]);",
        ),
        f"""\
#if defined(__GNUC__) && !defined(__clang__)
npu_i32x4 t;
__asm__("vmovl{side}.s16 %q1, %q2\\n\\tvadd.i32 %q0, %q0, %q1" : "+w"(acc), "=w"(t) : "w"(x));
return acc;
#else
return vaddq_s32(acc, vmovl{side}q_s16(x));
#endif""",
        ARM,
    )


SIDES: dict[type[Operation], Callable[[bool], Helper]] = {
    mve.WidenOp: widen,
    mve.MulLongOp: mul_long,
    mve.MlaLongOp: mla_long,
    mve.AddLongOp: add_long,
}
"""For each op on every second lane its function, for `top` or not."""


def with_scalar(operator: str, what: str, intrinsic: str) -> Callable[[Attribute], Helper]:
    """The function of a sum or product with one number; those of integers wrap around."""

    def made(type_: Attribute) -> Helper:
        lane, vector = lane_of(type_), VECTOR_TYPES[type_].name
        number, text = "float", f"a.lane[i] {operator} b"
        if lane != "float":
            text = f"({lane})((uint32_t)a.lane[i] {operator} (uint32_t)b)"
            number = "int32_t"
        value = "b" if number == lane else f"({lane})b"
        keeps = lane == "float" and operator == "*"
        found = Helper(
            f"{vector} {{}}({vector} a, {number} b)",
            f"The {what} of each lane and a number.",
            computed(type_, f"r.lane[i] = {f'{ROUNDED}({text})' if keeps else text};"),
            f"return {intrinsic}q_n_{suffix_of(type_)}(a, {value});",
            ARM,
        )
        return kept_apart(found) if keeps else found

    return made


def add_saturated(type_: Attribute) -> Helper:
    """The function of a saturated sum with one number."""
    lane, vector = lane_of(type_), VECTOR_TYPES[type_].name
    high = 2 ** (128 // mve.lanes_of(type_) - 1) - 1
    return Helper(
        f"{vector} {{}}({vector} a, int32_t b)",
        "The saturated sum of each lane and a number.",
        computed(
            type_,
            f"const int64_t s = (int64_t)a.lane[i] + ({lane})b;\n    "
            f"r.lane[i] = ({lane})(s > {high} ? {high} : s < -{high} - 1 ? -{high} - 1 : s);",
        ),
        f"return vqaddq_n_{suffix_of(type_)}(a, {'b' if lane == 'int32_t' else f'({lane})b'});",
        ARM,
    )


MOVE_UP = Helper(
    "npu_f32x4 {}(npu_f32x4 x)",
    "Zero in the first lane, and behind it all lanes but the last one.",
    computed(mve.F32X4, "r.lane[i] = i == 0 ? 0.0f : x.lane[i - 1];"),
    "uint32_t carry = 0;\n"
    "return vreinterpretq_f32_u32(vshlcq_u32(vreinterpretq_u32_f32(x), &carry, 32));",
    ARM,
)


BY_TYPE: dict[type[Operation], Callable[[Attribute], Helper]] = {
    mve.MlaAcrossOp: mla_across,
    mve.MlaScalarOp: mla_scalar,
    mve.SplatOp: splat,
    mve.AddOp: wrapping("+", "sum", "vadd"),
    mve.MulOp: wrapping("*", "product", "vmul"),
    mve.XorOp: xor,
    mve.MaxOp: extreme(">", "greater one", "vmax"),
    mve.MinOp: extreme("<", "smaller one", "vmin"),
    mve.JoinOp: lambda _: JOIN,
    mve.MulLanesOp: lambda _: MUL_LANES,
    mve.ToFloatOp: lambda _: TO_FLOAT,
    mve.RoundOp: lambda _: ROUND,
    mve.MaximumOp: lambda _: MAXIMUM,
    mve.FmaOp: lambda _: FMA,
    mve.FmaScalarOp: lambda _: FMA_SCALAR,
    mve.NarrowOp: lambda _: NARROW,
    mve.NarrowBytesOp: lambda _: NARROW_BYTES,
    mve.LowHalvesOp: lambda _: LOW_HALVES,
    mve.MulAcrossOp: mul_across,
    mve.AddScalarOp: with_scalar("+", "sum", "vadd"),
    mve.MulScalarOp: with_scalar("*", "product", "vmul"),
    mve.AddSaturatedOp: add_saturated,
    mve.PushBytesOp: lambda _: PUSH_BYTES,
    mve.PushThreeOp: lambda _: PUSH_THREE,
    mve.AsBytesOp: as_bytes,
    mve.AsFloatsOp: lambda _: AS_FLOATS,
    mve.MoveUpOp: lambda _: MOVE_UP,
}
"""For each op that only computes its function, for a vector type."""


BY_OPERAND = mve.MlaAcrossOp | mve.MulAcrossOp | mve.AsBytesOp
"""The ops whose function has the name of their operands' type: the result's says nothing."""


def use(unit: Unit, name: str, helper: Helper) -> str:
    """Add the definition of a function to the unit if it is new; returns its whole name."""
    full = f"npu_mve_{name}"
    if full not in unit.helpers:
        unit.use_vectors()
        unit.headers.update(helper.headers)
        if helper is ROUND:
            use_helper(unit, "round")
        if helper.inline == INLINE:
            use_macro(unit, INLINE)
        if ROUNDED in helper.plain:
            unit.helper("rounded", FLOATS[f32])
        unit.helpers[full] = helper.text(full)
    return full


def vector_call(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A call of the function for an op that only computes."""
    result: Attribute = op.results[0].type
    if isinstance(op, mve.LongOp):
        top = op.top is not None
        name = f"{op.name.removeprefix('mve.')}_{'top' if top else 'bottom'}"
        if isinstance(op, mve.MulLongOp) and result == mve.I32X4:
            return call(use(unit, f"{name}_words", mul_long(top, result)), *operands)
        return call(use(unit, name, SIDES[type(op)](top)), *operands)
    if isinstance(op, mve.NarrowBytesOp) and op.unsigned is not None:
        return call(use(unit, "narrow_bytes_unsigned", NARROW_UNSIGNED), *operands)
    if isinstance(op, mve.MulLanesOp) and op.in_place is not None:
        return call(use(unit, "mul_lanes_in_place", MUL_LANES_IN_PLACE), *operands)
    if isinstance(op, mve.ShiftInOp):
        return call(use(unit, SHIFTS[op.bytes], shift_in(op.bytes)), *operands)
    if isinstance(op, mve.SetWordOp):
        lane = op.lane.value.data
        return call(use(unit, f"set_word_{lane}", set_word(lane)), *operands)
    type_: Attribute = op.operands[0].type if isinstance(op, BY_OPERAND) else result
    name = f"{op.name.removeprefix('mve.')}_{name_of(type_)}"
    return call(use(unit, name, BY_TYPE[type(op)](type_)), *operands)


MVE_NAMES = frozenset((MVE_ARM, *(each.name for each in VECTOR_TYPES.values())))
"""Names that no local variable may have."""

MVE_OPERATORS: dict[type[Operation], Build] = dict.fromkeys(
    (*BY_TYPE, *SIDES, mve.SetWordOp, mve.ShiftInOp), vector_call
)
"""The ops of the dialect that are expressions."""
