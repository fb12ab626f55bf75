"""The C functions for `mve.mul_rows`: one for each number of vectors, rows and sums.

    %a, %b = mve.mul_rows %v, %w by %taps[%i + 8] rows 4
        ->      npu_i32x4 a, b; npu_mve_mul_rows_1_4_2(v, w, &taps[i], 8, &a, &b);

Sums are in even registers, of which there are few. gcc loads ahead, and then moves sums and keeps
vectors on the stack. So one piece of assembly holds all products of a block of rows:

    vldrw.u32     w, [at, #0]          a vector of the first row
    vmladav.s8    s0, v, w             its products with those of each sum
    ...
    vmov          a[2], a[0], s0, s2   the first two sums, as soon as they are known

A load of words reaches farther from its pointer than one of bytes, so all have one pointer. Vectors
that lie in memory are windows of one run (`mve_runs.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from npu_dialect import mve
from npu_passes.emit.c.dsp_helpers import Helper
from npu_passes.emit.c.macros import INLINE
from npu_passes.emit.c.mve_helpers import ARM

WORD = 4
"""Bytes of a word."""
ODD = 1
"""The rows 0 and 2 are joined by one instruction, and 1 and 3 by another one."""


@dataclass(frozen=True)
class Rows:
    """The products of `vectors` for each of some sums with some rows.

    `pixels`: the number of sums. `biased`: first values stand in front of the rows. `tail`: the
    words from the last vector of a row to that of the next one.
    """

    vectors: int
    rows: int
    pixels: int
    biased: bool
    tail: int = mve.ROW_WORDS

    @staticmethod
    def of(op: mve.MulRowsOp) -> Rows:
        """Those of an op."""
        return Rows(op.vectors, op.count, len(op.sums), op.biased is not None, op.apart)

    @property
    def name(self) -> str:
        """The name of the function, without what all have in front."""
        ends = f"_tail{self.tail}" * (self.tail < mve.ROW_WORDS) + "_biased" * self.biased
        return f"mul_rows_{self.vectors}_{self.rows}_{self.pixels}{ends}"

    @property
    def head(self) -> int:
        """The words in front of the rows."""
        return mve.MOST_ROWS * self.biased

    @property
    def x(self) -> list[list[str]]:
        """The names of the vectors of each sum, which are registers."""
        return [[f"x{p}_{v}" for v in range(self.vectors)] for p in range(self.pixels)]

    @property
    def results(self) -> list[str]:
        """The names of the vectors of sums."""
        return [f"r{p}" for p in range(self.pixels)]

    def place(self, v: int, row: int) -> int:
        """The word of the table at which a vector of a row begins."""
        apart = self.tail if v == self.vectors - 1 else mve.ROW_WORDS
        return self.head + mve.ROW_WORDS * v * self.rows + apart * row

    def row_of(self, lane: int) -> int:
        """The row whose sum is in a lane."""
        return min(lane, self.rows - 1)

    # -- registers -------------------------------------------------------------------------------

    @property
    def weights(self) -> str:
        """The register of weights: that of the last result until this one is joined.

        First values have a register of their own, and weights are there before them.
        """
        return "w" if self.biased else self.results[-1]

    @property
    def phases(self) -> list[list[int]]:
        """The rows whose sums are in registers together: two at a time if there are two pixels."""
        rows = list(range(self.rows))
        whole = self.rows == mve.MOST_ROWS and self.pixels > 1
        return [rows[::2], rows[ODD::2]] if whole else [rows]

    @property
    def early(self) -> list[int]:
        """The pixels whose first two sums are joined before the other two are computed."""
        pixels = list(range(self.pixels)) if len(self.phases) > 1 else []
        return pixels if self.biased else pixels[:-1]

    @cached_property
    def sums(self) -> dict[tuple[int, int], str]:
        """The register of the sum of each pixel and row; those of early sums are used again."""
        found = dict[tuple[int, int], str]()
        for rows in self.phases:
            late = [each for (p, _), each in found.items() if p not in self.early]
            free = (name for number in range(8) if (name := f"s{number}") not in late)
            found |= dict(zip(product(range(self.pixels), rows), free))
        return found

    # -- assembly --------------------------------------------------------------------------------

    def instructions(self) -> Iterator[str]:
        """All instructions."""
        for number, rows in enumerate(self.phases):
            for v in range(self.vectors):
                yield from self.vector(v, rows)
            if number == 0:
                yield from (self.joined(p, 0) for p in self.early)
        for p, side in product(range(self.pixels), (0, ODD)):
            if side == ODD or p not in self.early:
                yield self.joined(p, side)
        if self.biased:
            yield "vldrw.u32 %q[w], [%[at], #%c[start]]"
            for name in self.results:
                yield f"vadd.i32 %q[{name}], %q[{name}], %q[w]"

    def vector(self, v: int, rows: list[int]) -> Iterator[str]:
        """The products of a vector of each pixel with those of some rows."""
        kind = "vmladava" if v else "vmladav"
        for row in rows:
            place = WORD * self.place(v, row)
            yield f"vldrw.u32 %q[{self.weights}], [%[at], #%c[start]+{place}]"
            for p, each in enumerate(self.x):
                yield f"{kind}.s8 %[{self.sums[p, row]}], %q[{each[v]}], %q[{self.weights}]"

    def joined(self, pixel: int, side: int) -> str:
        """The instruction that moves two sums to the lanes on one side of words."""
        low, high = (self.sums[pixel, self.row_of(lane)] for lane in (side, side + 2))
        result = self.results[pixel]
        return f"vmov %q[{result}][{side + 2}], %q[{result}][{side}], %[{low}], %[{high}]"

    def assembly(self) -> list[str]:
        """The body for gcc, where the distance from the pointer is known."""
        vectors, sums = ["w"] * self.biased, sorted(set(self.sums.values()))
        outputs = [f'[{name}] "=&w"({name})' for name in (*self.results, *vectors)]
        outputs += [f'[{name}] "=&Te"({name})' for name in sums]
        inputs = [f'[{name}] "w"({name})' for each in self.x for name in each]
        inputs += ['[at] "r"(at)', f'[start] "i"({WORD} * offset)']
        inputs += ['"m"(*(const int32_t (*)[])at)']
        return [
            "#if defined(__GNUC__) && !defined(__clang__)",
            "if (__builtin_constant_p(offset)) {",
            f"    npu_i32x4 {', '.join(self.results)};",
            *([f"    npu_i8x16 {', '.join(vectors)};"] if vectors else []),
            f"    int32_t {', '.join(sums)};",
            "    __asm__(",
            *(f'        "{each}\\n\\t"' for each in self.instructions()),
            f"        : {', '.join(outputs)}",
            f"        : {', '.join(inputs)});",
            *(f"    *to{p} = {name};" for p, name in enumerate(self.results)),
            "    return;",
            "}",
            "#endif",
        ]

    # -- other compilers -------------------------------------------------------------------------

    def intrinsics(self) -> Iterator[str]:
        """The body for other compilers that know the vector unit."""
        for p, row in product(range(self.pixels), range(self.rows)):
            for v in range(self.vectors):
                w = f"vreinterpretq_s8_s32(vldrwq_s32(at + offset + {self.place(v, row)}))"
                x, name = self.x[p][v], f"s{p}_{row}"
                found = f"vmladavaq_s8({name}, {x}, {w})" if v else f"vmladavq_s8({x}, {w})"
                yield f"{'' if v else 'int32_t '}{name} = {found};"
        for p in range(self.pixels):
            lanes = ", ".join(f"s{p}_{self.row_of(lane)}" for lane in range(mve.MOST_ROWS))
            result = f"vaddq_s32(r{p}, vldrwq_s32(at + offset))" if self.biased else f"r{p}"
            yield from (f"const npu_i32x4 r{p} = {{{lanes}}};", f"*to{p} = {result};")

    def plain(self) -> Iterator[str]:
        """The body in plain C."""
        x = [name for each in self.x for name in each]
        yield f"const npu_i8x16 x[{len(x)}] = {{{', '.join(x)}}};"
        bytes_, row = mve.VECTOR_BYTES * self.vectors, f"(i < {self.rows} ? i : {self.rows - 1})"
        place = f"(k / 16 * {self.rows} + {row}) * 16 + k % 16"
        if self.tail < mve.ROW_WORDS:
            apart = f"(k < {bytes_ - mve.VECTOR_BYTES} ? 16 : {WORD * self.tail})"
            place = f"k / 16 * {16 * self.rows} + {row} * {apart} + k % 16"
        for p in range(self.pixels):
            yield from (
                "for (int i = 0; i < 4; ++i) {",
                f"    uint32_t sum = {'(uint32_t)at[offset + i]' if self.biased else 0};",
                f"    for (int k = 0; k < {bytes_}; ++k) {{",
                f"        const int place = {place};",
                f"        const uint32_t word = (uint32_t)at[offset + {self.head} + place / 4];",
                "        const int8_t w = (int8_t)(word >> place % 4 * 8 & 0xFF);",
                f"        const int8_t byte = x[{p * self.vectors} + k / 16].lane[k % 16];",
                "        sum += (uint32_t)((int32_t)byte * w);",
                "    }",
                f"    to{p}->lane[i] = (int32_t)sum;",
                "}",
            )

    @property
    def helper(self) -> Helper:
        """The function."""
        x = [f"npu_i8x16 {name}" for each in self.x for name in each]
        results = [f"npu_i32x4 *to{p}" for p in range(self.pixels)]
        head = ", ".join((*x, "const int32_t *at", "int offset", *results))
        return Helper(
            f"void {{}}({head})",
            "Sums of the products with rows of bytes, which lie in words.",
            "\n".join(self.plain()),
            "\n".join((*self.assembly(), *self.intrinsics())),
            ARM,
            inline=INLINE,
        )
