"""Small C functions for the ops of the dsp dialect, with an Arm instruction or in plain C.

    dsp.smlad %a, %b, %acc : i32      ->      npu_dsp_smlad(a, b, acc)

If the compiler says that the machine has the instructions (`__ARM_FEATURE_SIMD32` and
`__ARM_FEATURE_DSP`, Arm C Language Extensions), a function is one instruction. Rotated operands
are written as assembly, since GCC folds no rotation into SXTB16 and has no `__ror` before 13.
Otherwise plain C computes the same bits, without undefined behaviour. Only the functions that a
file uses are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from npu_dialect import dsp
from npu_passes.emit.c import scaled_words
from npu_passes.emit.c.expr import Expr, call
from npu_passes.emit.c.integers import Build
from npu_passes.emit.c.macros import ARM, MACROS
from npu_passes.emit.c.unit import Unit


@dataclass(frozen=True)
class Helper:
    """One function."""

    head: str
    """Its prototype, with `{}` in the place of its name."""
    comment: str
    plain: str
    """Its body in plain C."""
    arm: str = ""
    """Its body if the machine has the instruction; empty if there is only the plain one."""
    condition: str = f"#ifdef {ARM}"
    """The preprocessor condition under which the machine has the instruction."""
    headers: tuple[str, ...] = ("stdint.h",)
    inline: str = "inline"
    """The word, or the macro, that asks a compiler to inline it."""

    def text(self, name: str) -> str:
        """The definition of the function under a name."""
        body = indented(self.plain)
        if self.arm:
            body = f"{self.condition}\n{indented(self.arm)}#else\n{body}#endif\n"
        head = f"static {self.inline} {self.head.format(name)}"
        return f"/* {self.comment} */\n{head}\n{{\n{body}}}\n"


def indented(body: str) -> str:
    """The lines of a body inside of braces; conditions of the preprocessor stay at the left."""
    return "".join(
        f"{line}\n" if line.startswith("#") else f"    {line}\n" for line in body.splitlines()
    )


def assembly(instruction: str, *operands: str, result: str = "=r", operand: str = "r") -> str:
    """A body that returns the result, `%0`, of one instruction.

    `result` and `operand` are constraints of GCC's inline assembly.
    """
    inputs = ", ".join(f'"{operand}"({name})' for name in operands)
    return (
        "int32_t result;\n"
        f'__asm__("{instruction}" : "{result}"(result) : {inputs});\n'
        "return result;"
    )


UNALIGNED = "#if defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_BIG_ENDIAN)"
"""The condition under which one instruction loads or stores a word at any address, little-endian.

On other machines `memcpy` can become a call, so bytes are loaded and stored one by one.
"""

LOAD_WORD = Helper(
    "int32_t {}(const void *at)",
    "Four bytes at any address, the first one lowest.",
    """\
const unsigned char *const byte = (const unsigned char *)at;
const uint32_t low = byte[0] | (uint32_t)byte[1] << 8;
return (int32_t)(low | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24);""",
    "int32_t word;\nmemcpy(&word, at, sizeof word);\nreturn word;",
    UNALIGNED,
    ("stdint.h", "string.h"),
)

LOAD_PAIR = Helper(
    "void {}(const int32_t *at, int32_t *first, int32_t *second)",
    "Two neighbouring words, in one instruction.",
    "*first = at[0];\n*second = at[1];",
    """\
typedef int64_t two_words __attribute__((aligned(4), may_alias));
__asm__("ldrd %0, %1, %2" : "=r"(*first), "=r"(*second) : "m"(*(const two_words *)at));""",
    f"#if defined({ARM}) && defined(__thumb2__)",
)
"""GCC puts the instruction's offset, up to 1020 bytes, into an operand of 64 bits. The registers
are any two in Thumb, but not in the other set of instructions."""

STORE_WORD = Helper(
    "void {}(void *at, int32_t word)",
    "Four bytes at any address, the lowest one first.",
    """\
unsigned char *const byte = (unsigned char *)at;
byte[0] = (unsigned char)(word & 0xFF);
byte[1] = (unsigned char)((uint32_t)word >> 8 & 0xFF);
byte[2] = (unsigned char)((uint32_t)word >> 16 & 0xFF);
byte[3] = (unsigned char)((uint32_t)word >> 24);""",
    "memcpy(at, &word, sizeof word);",
    UNALIGNED,
    ("stdint.h", "string.h"),
)

ROUND = Helper(
    "int32_t {}(float x)",
    "The nearest integer, halves to even, within the range of int32_t; 0 for NaN.",
    """\
if (!(x > -2147483648.0f)) {
    return x != x ? 0 : INT32_MIN;
}
if (x >= 2147483648.0f) {
    return INT32_MAX;
}
/* From 2^23 on floats are integers, below a sum with 2^23 is rounded to one. */
if (x >= 0.0f && x < 8388608.0f) {
    x = (x + 8388608.0f) - 8388608.0f;
} else if (x < 0.0f && x > -8388608.0f) {
    x = (x - 8388608.0f) + 8388608.0f;
}
return (int32_t)x;""",
    assembly("vcvtr.s32.f32 %0, %1", "x", result="=t", operand="t"),
    f"#if defined({ARM}) && defined(__ARM_FP) && (__ARM_FP & 4)",
)

SCALE_PAIR = Helper(
    "int64_t {}(int32_t a, int32_t b, float x, float y)",
    "The nearest integers of a * x, in the low word, and of b * y, in the high word.",
    scaled_words.PAIR_IN_C,
    scaled_words.PAIR_IN_ASSEMBLY,
    ROUND.condition,
)

SCALE_BYTES = Helper(
    "int32_t {}(int32_t a, int32_t b, float x, float y)",
    "The nearest integers from 0 to 255 of a * x, in the bottom half, and of b * y, in the top.",
    scaled_words.BYTES_IN_C,
    scaled_words.BYTES_IN_ASSEMBLY,
    ROUND.condition,
)

SMLAD = Helper(
    "int32_t {}(int32_t a, int32_t b, int32_t acc)",
    "acc + a.bottom * b.bottom + a.top * b.top, of signed halves.",
    """\
const int32_t bottom = (int32_t)(int16_t)a * (int16_t)b;
const int32_t top = (int32_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
return (int32_t)((uint32_t)acc + (uint32_t)bottom + (uint32_t)top);""",
    "return __smlad(a, b, acc);",
)

SMLAD_IN_PLACE = replace(
    SMLAD,
    comment=f"{SMLAD.comment[:-1]}; the sum stays in the register of acc.",
    arm="""\
__asm__("smlad %0, %1, %2, %0" : "+r"(acc) : "r"(a), "r"(b));
return acc;""",
)


def saturate(letter: str, bits: int) -> Helper:
    """The function that saturates to `bits` bits, signed for letter `s`, unsigned for `u`."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if letter == "s" else (0, 2**bits - 1)
    return Helper(
        "int32_t {}(int32_t x)",
        f"The nearest integer from {low} to {high}.",
        f"return x < {low} ? {low} : x > {high} ? {high} : x;",
        assembly(f"{letter}sat %0, #{bits}, %1", "x"),
    )


SIDES = {"b": "bottom", "t": "top"}


def smla(halves: str) -> Helper:
    """The function that adds the product of two signed halves; `halves`: as `bt`, one of each."""
    first, second = halves
    factors = [
        f"(int16_t){name}" if side == "b" else f"(int16_t)({name} >> 16)"
        for name, side in zip("ab", halves, strict=True)
    ]
    return Helper(
        "int32_t {}(int32_t a, int32_t b, int32_t acc)",
        f"acc + a.{SIDES[first]} * b.{SIDES[second]}, of signed halves.",
        f"const int32_t product = (int32_t){factors[0]} * {factors[1]};\n"
        "return (int32_t)((uint32_t)acc + (uint32_t)product);",
        f"return __smla{halves}(a, b, acc);",
    )


PACK = {
    "bb": ("pkhbt %0, %1, %2, lsl #16", "lo", "hi"),
    "bt": ("pkhbt %0, %1, %2", "lo", "hi"),
    "tt": ("pkhtb %0, %1, %2, asr #16", "hi", "lo"),
}
"""For each pair of halves the instruction and its operands."""


def pack(halves: str) -> Helper:
    """The function that packs two halves into a word; `halves`: the half of each operand."""
    first, second = halves
    bottom = "(uint32_t)lo & 0xFFFFu" if first == "b" else "(uint32_t)lo >> 16"
    top = "(uint32_t)hi << 16" if second == "b" else "(uint32_t)hi & 0xFFFF0000u"
    return Helper(
        "int32_t {}(int32_t lo, int32_t hi)",
        f"lo.{SIDES[first]} below hi.{SIDES[second]}.",
        f"return (int32_t)(({bottom}) | ({top}));",
        assembly(*PACK[halves]) if halves in PACK else "",
    )


def extend(letter: str, rotate: int) -> Helper:
    """The function that extends bytes 0 and 2 (rotate 0), or 1 and 3 (rotate 8), to halves."""
    name, kind = f"{letter}xtb16", "int8_t" if letter == "s" else "uint8_t"
    return Helper(
        "int32_t {}(int32_t x)",
        f"Bytes {CHOSEN[rotate]} as {'' if letter == 's' else 'un'}signed halves.",
        f"const uint32_t bytes = (uint32_t)x{shift(rotate)};\n"
        f"const uint32_t bottom = (uint32_t)({kind})bytes;\n"
        f"const uint32_t top = (uint32_t)({kind})(bytes >> 16);\n"
        "return (int32_t)((bottom & 0xFFFFu) | top << 16);",
        instruction(name, rotate, "x"),
    )


def extend_add(letter: str, rotate: int) -> Helper:
    """The function that adds bytes 0 and 2 (rotate 0), or 1 and 3 (rotate 8), to halves."""
    name, kind = f"{letter}xtab16", "int8_t" if letter == "s" else "uint8_t"
    return Helper(
        "int32_t {}(int32_t z, int32_t x)",
        f"The halves of z plus bytes {CHOSEN[rotate]} of x, which are "
        f"{'' if letter == 's' else 'un'}signed.",
        f"const uint32_t bytes = (uint32_t)x{shift(rotate)};\n"
        f"const uint32_t bottom = (uint32_t)z + (uint32_t)({kind})bytes;\n"
        f"const uint32_t top = ((uint32_t)z >> 16) + (uint32_t)({kind})(bytes >> 16);\n"
        "return (int32_t)((bottom & 0xFFFFu) | top << 16);",
        instruction(name, rotate, "z", "x"),
    )


CHOSEN = {0: "0 and 2", 8: "1 and 3"}
"""For each rotation the bytes that are extended."""


def shift(bits: int) -> str:
    """The text of a shift to the right by some bits; empty for 0."""
    return f" >> {bits}" if bits else ""


def instruction(name: str, rotate: int, *operands: str) -> str:
    """A body with an instruction on bytes: assembly if it rotates, else a compiler intrinsic."""
    if rotate:
        places = ", ".join(f"%{index}" for index in range(len(operands) + 1))
        return assembly(f"{name} {places}, ror #{rotate}", *operands)
    cast = "(uint32_t)" if name.startswith("u") else ""
    return f"return (int32_t)__{name}({', '.join(cast + operand for operand in operands)});"


def helpers() -> Iterator[tuple[str, Helper]]:
    """All functions, each with its name without `npu_dsp_`."""
    yield "load_word", LOAD_WORD
    yield "load_pair", LOAD_PAIR
    yield "store_word", STORE_WORD
    yield "round", ROUND
    yield "scale_pair", SCALE_PAIR
    yield "scale_bytes", SCALE_BYTES
    yield "smlad", SMLAD
    yield "smlad_in_place", SMLAD_IN_PLACE
    for halves in dsp.Halves:
        yield f"smla{halves}", smla(halves)
        yield f"pack_{halves}", pack(halves)
    for letter in "su":
        for bits in dsp.SATURATIONS:
            yield f"{letter}sat{bits}", saturate(letter, bits)
        for rotate in dsp.ROTATIONS:
            end = f"_ror{rotate}" if rotate else ""
            yield f"{letter}xtb16{end}", extend(letter, rotate)
            yield f"{letter}xtab16{end}", extend_add(letter, rotate)


HELPERS = {f"npu_dsp_{name}": helper for name, helper in helpers()}
"""Every function by its name."""

CALLS = {"scale_pair": ("round",), "scale_bytes": ("round", "usat8")}
"""The functions that a function calls in plain C."""

DSP_NAMES = frozenset((*HELPERS, *MACROS))
"""Names that no local variable may have."""


def use_macro(unit: Unit, name: str) -> str:
    """Add the definition of a macro to the unit if it is new; returns the macro's name."""
    unit.helpers.setdefault(name, MACROS[name])
    return name


def use_helper(unit: Unit, name: str) -> str:
    """Add the definition of a function to the unit if it is new; returns its whole name."""
    full = f"npu_dsp_{name}"
    helper = HELPERS[full]
    if helper.arm and ARM in helper.condition:
        use_macro(unit, ARM)
    for other in CALLS.get(name, ()):
        use_helper(unit, other)
    unit.headers.update(helper.headers)
    unit.helpers.setdefault(full, helper.text(full))
    return full


def name_of(op: Operation) -> str:
    """The name, without `npu_dsp_`, of the function for an op."""
    match op:
        case dsp.SmladOp() if op.in_place is not None:
            return "smlad_in_place"
        case dsp.SmlaOp():
            return f"smla{op.halves.data}"
        case dsp.PackOp():
            return f"pack_{op.halves.data}"
        case dsp.SaturateOp():
            return f"{op.name.removeprefix('dsp.')}{op.bits.value.data}"
        case dsp.ExtendOp() | dsp.ExtendAddOp() if rotate := op.rotate.value.data:
            return f"{op.name.removeprefix('dsp.')}_ror{rotate}"
        case _:
            return op.name.removeprefix("dsp.")


def computed(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A call of the function for an op that only computes."""
    return call(use_helper(unit, name_of(op)), *operands)


DSP_OPERATORS: dict[type[Operation], Build] = dict.fromkeys(
    (
        dsp.Sxtb16Op,
        dsp.Uxtb16Op,
        dsp.Sxtab16Op,
        dsp.Uxtab16Op,
        dsp.SmladOp,
        dsp.SmlaOp,
        dsp.PackOp,
        dsp.RoundOp,
        dsp.ScaleBytesOp,
        dsp.ScalePairOp,
        dsp.SsatOp,
        dsp.UsatOp,
    ),
    computed,
)
"""The ops of the dialect that are expressions."""
