"""The C functions for `dsp.load_floats` and `dsp.store_floats`.

There is one for each number of floats and first register.

    %v, %w = dsp.load_floats %x[%i] to 4        ->      npu_dsp_load_2_s4(&x[i], &v, &w);
    dsp.store_floats %v, %w from 4 to %x[%i]    ->      npu_dsp_store_2_s4(&x[i], v, w);

In assembly the values are in registers that it names, and a C compiler reads them from there while
nothing else is loaded into these. gcc's first scheduling would move the loads ahead of the last
reads, so that it must copy the registers. A function with such loads is compiled without it.

All registers are read before the first store: some sanitizers call a function at each store.
"""

from __future__ import annotations

from collections.abc import Sequence

from npu_dialect import dsp
from npu_passes.emit.c.copied_words import CONDITION
from npu_passes.emit.c.dsp_helpers import Helper
from npu_passes.emit.c.macros import INLINE


def load_of(floats: int, register: int) -> Helper:
    """The function that loads some floats to the registers from one on."""
    names = [f"x{number}" for number in range(floats)]
    registers = [f"s{register + number}" for number in range(floats)]
    fixed = [
        f'register float {name} __asm__("{each}");'
        for name, each in zip(names, registers, strict=True)
    ]
    results = ", ".join(f'"=t"({name})' for name in names)
    copies = ", ".join(f"v{number} = {name}" for number, name in enumerate(names))
    lines = [
        f"typedef struct {{ float all[{floats}]; }} block;",
        *fixed,
        f'__asm__("vldmia %{floats}, {{{registers[0]}-{registers[-1]}}}"',
        f"        : {results}",
        '        : "r"(at), "m"(*(const block *)at));',
        f"const float {copies};",
        *(f"*{to} = v{number};" for number, to in enumerate(pointers(floats))),
    ]
    plain = [f"*{to} = at[{number}];" for number, to in enumerate(pointers(floats))]
    parameters = ", ".join(f"float *{to}" for to in pointers(floats))
    head, what = f"void {{}}(const float *at, {parameters})", "Neighbouring floats"
    return helper_of(head, f"{what}, in one instruction: {floats}.", plain, lines)


def store_of(floats: int, register: int) -> Helper:
    """The function that stores some floats, which the registers from one on hold."""
    values = [f"v{number}" for number in range(floats)]
    registers = [f"s{register + number}" for number in range(floats)]
    fixed = [
        f'register float x{number} __asm__("{each}") = v{number};'
        for number, each in enumerate(registers)
    ]
    operands = ", ".join(f'"t"(x{number})' for number in range(floats))
    lines = [
        f"typedef struct {{ float all[{floats}]; }} block;",
        *fixed,
        f'__asm__("vstmia %1, {{{registers[0]}-{registers[-1]}}}"',
        '        : "=m"(*(block *)at)',
        f'        : "r"(at), {operands});',
    ]
    plain = [f"at[{number}] = {value};" for number, value in enumerate(values)]
    parameters = ", ".join(f"float {value}" for value in values)
    head, what = f"void {{}}(float *at, {parameters})", "Floats to neighbouring elements"
    return helper_of(head, f"{what}, in one instruction: {floats}.", plain, lines)


def helper_of(head: str, what: str, plain: Sequence[str], lines: Sequence[str]) -> Helper:
    """A function with lines of plain C, and others for the instruction."""
    return Helper(
        head,
        what,
        "\n".join(plain),
        "\n".join(lines),
        CONDITION,
        (),
        INLINE,
    )


def pointers(floats: int) -> list[str]:
    """The names of the parameters that point to where the floats go."""
    return [f"to{number}" for number in range(floats)]


def name_of(floats: int, register: int) -> str:
    """The name of the function for some floats and a first register."""
    return f"npu_dsp_load_{floats}_s{register}"


def store_name_of(floats: int, register: int) -> str:
    """The name of the function that stores some floats from a first register on."""
    return f"npu_dsp_store_{floats}_s{register}"


LOAD_NAMES = frozenset(
    name(floats, register)
    for name in (name_of, store_name_of)
    for floats in range(dsp.PAIR, dsp.MOST_FLOATS + 1)
    for register in range(dsp.FLOAT_REGISTERS - floats + 1)
)
"""Names that no local variable may have."""
