"""Small C functions that load and store bytes that lie apart, with an intrinsic or in plain C.

mve.gather %x[%i] at %p reach 9 : memref<64xi8>      ->      npu_mve_gather(&x[i], p)
"""

from __future__ import annotations

from npu_dialect import mve
from npu_passes.emit.c.dsp_helpers import Helper
from npu_passes.emit.c.mve_helpers import ARM
from npu_passes.emit.c.types import element_type, memref_of


def byte_of(op: mve.PlacesOp) -> tuple[str, str]:
    """The C type of the bytes of an access, and what the name of its function has for it."""
    ctype = element_type(memref_of(op.memref).element_type)
    assert ctype is not None
    return ctype.name, "" if ctype.name == "int8_t" else "_uint8"


def gather(op: mve.GatherOp) -> tuple[str, Helper]:
    """The function that loads bytes, and its name."""
    (byte, kind), (end, condition, predicate) = byte_of(op), lanes_of(op)
    value, sign, text = "(uint8_t)at[(uint16_t)places.lane[i]]", "u", "without signs"
    places = "vreinterpretq_u16_s16(places)"
    loaded = f"vldrbq_gather_offset_u16((const uint8_t *)at, {places})"
    arm = f"return vreinterpretq_s16_u16({loaded});"
    if op.signed is not None:
        value, sign, text = value.removeprefix("(uint8_t)"), "s", "with signs"
        loaded, end = f"vldrbq_gather_offset_s16(at, {places})", f"{end}_signed"
        arm = f"return {loaded};"
    if condition:
        value, whole = f"({condition}) != 0 ? {value} : 0", loaded
        loaded = loaded.replace("offset", "offset_z").replace(places, f"{places}, {predicate}")
        arm = f"""\
#if defined(__GNUC__) && !defined(__clang__)
npu_i16x8 r;
__asm__("vmsr p0, %3\\n\\tvpst\\n\\tvldrbt.{sign}16 %q0, [%1, %q2]"
        : "=&w"(r) : "r"(at), "w"(places), "r"({predicate}) : "p0", "memory");
return r;
#else
{arm.replace(whole, loaded)}
#endif"""
    return f"gather{kind}{end}", Helper(
        f"npu_i16x8 {{}}(const {byte} *at, npu_i16x8 places)",
        f"{text_of(op)} at their places, {text}.",
        f"npu_i16x8 r;\nfor (int i = 0; i < 8; ++i) {{\n    r.lane[i] = {value};\n}}\nreturn r;",
        arm,
        ARM,
    )


def gather_bytes(op: mve.GatherBytesOp) -> tuple[str, Helper]:
    """The function that loads 16 bytes, and its name."""
    byte, kind = byte_of(op)
    value = "at[(uint8_t)places.lane[i]]"
    return f"gather_bytes{kind}", Helper(
        f"npu_i8x16 {{}}(const {byte} *at, npu_i8x16 places)",
        "16 bytes at their places.",
        "npu_i8x16 r;\nfor (int i = 0; i < 16; ++i) {\n"
        f"    r.lane[i] = {f'(int8_t){value}' if kind else value};\n}}\nreturn r;",
        f"return vldrbq_gather_offset_s8({'(const int8_t *)at' if kind else 'at'}, "
        "vreinterpretq_u8_s8(places));",
        ARM,
    )


def scatter(op: mve.ScatterOp) -> tuple[str, Helper]:
    """The function that stores bytes, and its name."""
    (byte, kind), (end, condition, predicate) = byte_of(op), lanes_of(op)
    value, arm, what = "x.lane[i]", "", ""
    if op.saturated is not None:
        low, high = (0, 255) if kind else (-128, 127)
        value = f"(x.lane[i] < {low} ? {low} : x.lane[i] > {high} ? {high} : x.lane[i])"
        arm, end, what = UNSIGNED if kind else SATURATE, f"{end}_saturated", ", saturated"
    statement = f"at[(uint16_t)places.lane[i]] = ({byte}){value};"
    at = "(int8_t *)at" if kind else "at"
    stored = f"vstrbq_scatter_offset_s16({at}, vreinterpretq_u16_s16(places), x);"
    if condition:
        statement = f"if (({condition}) != 0) {{\n        {statement}\n    }}"
        stored = stored.replace("offset", "offset_p").replace("x);", f"x, {predicate});")
        stored = f"""\
#if defined(__GNUC__) && !defined(__clang__)
__asm__("vmsr p0, %3\\n\\tvpst\\n\\tvstrbt.16 %q2, [%0, %q1]"
        : : "r"(at), "w"(places), "w"(x), "r"({predicate}) : "p0", "memory");
#else
{stored}
#endif"""
    return f"scatter{kind}{end}", Helper(
        f"void {{}}({byte} *at, npu_i16x8 places, npu_i16x8 x)",
        f"{text_of(op)} to their places{what}.",
        f"for (int i = 0; i < 8; ++i) {{\n    {statement}\n}}",
        f"{arm}{stored}",
        ARM,
    )


def scatter_bytes(op: mve.ScatterBytesOp) -> tuple[str, Helper]:
    """The function that stores 16 bytes, and its name."""
    byte, kind = byte_of(op)
    at = "(int8_t *)at" if kind else "at"
    return f"scatter_bytes{kind}", Helper(
        f"void {{}}({byte} *at, npu_i8x16 places, npu_i8x16 x)",
        "16 bytes to their places.",
        "for (int i = 0; i < 16; ++i) {\n"
        f"    at[(uint8_t)places.lane[i]] = ({byte})x.lane[i];\n}}",
        f"vstrbq_scatter_offset_s8({at}, vreinterpretq_u8_s8(places), x);",
        ARM,
    )


def lanes_of(op: mve.EightPlacesOp) -> tuple[str, str, str]:
    """The lanes of an access at the end of a name, as a condition in plain C, and as a predicate.

    GCC 12 takes a constant predicate for another one, so it gets the assembly.
    """
    if op.mask == mve.ALL_LANES:
        return "", "", ""
    predicate = sum(3 << 2 * lane for lane in range(op.mask.bit_length()) if op.mask >> lane & 1)
    return f"_lanes{op.mask}", f"{op.mask} >> i & 1", f"{predicate:#06x}"


SATURATE = """\
#if defined(__GNUC__) && !defined(__clang__)
__asm__("vqmovnb.s16 %q0, %q0" : "+w"(x));
#else
x = vreinterpretq_s16_s8(vqmovnbq_s16(vreinterpretq_s8_s16(x), x));
#endif
"""
"""Makes each half a byte. GCC copies the operand of the intrinsic, so it gets the assembly."""
UNSIGNED = """\
#if defined(__GNUC__) && !defined(__clang__)
__asm__("vqmovunb.s16 %q0, %q0" : "+w"(x));
#else
x = vreinterpretq_s16_u8(vqmovunbq_s16(vreinterpretq_u8_s16(x), x));
#endif
"""
"""Makes each half a byte without a sign."""


def text_of(op: mve.EightPlacesOp) -> str:
    """The bytes of an access for a comment."""
    if op.mask == mve.ALL_LANES:
        return "Eight bytes"
    lanes = [str(lane) for lane in range(8) if op.mask >> lane & 1]
    return f"Bytes of lane{'s' if len(lanes) > 1 else ''} {', '.join(lanes)}"
