"""The C functions for `dsp.copy_words`: one for each number of words, in assembly or in plain C.

    dsp.copy_words 16 from %x[%i] to %y[%j]      ->      npu_dsp_copy_16(&y[j], &x[i]);

In assembly the words go through the registers for floats, the first ones, which are free across
calls: in C a loop of copies would become a call of memmove, which moves byte by byte in the small
library of many boards.
"""

from __future__ import annotations

from npu_dialect import dsp
from npu_passes.emit.c.dsp_helpers import Helper

CONDITION = "#if defined(__ARM_FP) && defined(__arm__) && defined(__GNUC__)"
"""The condition under which a machine has registers for floats and the instructions."""


def copy_of(words: int) -> Helper:
    """The function that copies some words."""
    registers = ", ".join(f"s{number}" for number in range(words))
    changed = ", ".join(f'"s{number}"' for number in range(words))
    return Helper(
        "void {}(void *to, const void *from)",
        f"Words of which all are loaded before one is stored: {words}, at multiples of 4 bytes.",
        f"int32_t words[{words}];\nmemcpy(words, from, sizeof words);\n"
        "memcpy(to, words, sizeof words);",
        f'__asm__ volatile("vldmia %1, {{{registers}}}\\n\\tvstmia %0, {{{registers}}}"\n'
        '                 :\n                 : "r"(to), "r"(from)\n'
        f'                 : {changed}, "memory");',
        CONDITION,
        ("stdint.h", "string.h"),
    )


def name_of(words: int) -> str:
    """The name of the function for some words."""
    return f"npu_dsp_copy_{words}"


COPY_NAMES = frozenset(map(name_of, range(1, dsp.MOST_COPIED + 1)))
"""Names that no local variable may have."""
