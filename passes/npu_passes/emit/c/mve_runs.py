"""The C functions for `mve.mul_runs`: one for each form of windows.

    %a, %b = mve.mul_runs %map[%at] by %taps[%i] from %starts[%j] rows %n run 48 apart 16 ...
        ->      npu_i32x4 a, b;
                npu_mve_mul_runs_3x4_shared1_started(&map[at], 16, 512, &taps[i], 48, n,
                                                     &starts[j], &a, &b);

Eight sums fill the even registers, which VMLADAV needs. So gcc gets all rows of a block as one
piece of assembly, whose loads move their pointers:

    ldm           starts, {r0, r2, r4, r6}     the first values, once for each window
    1:
    vldrb.8       x, [x], #16                  16 bytes of each window
    vldrw.u32     w, [at], #16                 16 weights of a filter, in the order of their use
    vmladava.s8   r0, x, w
    ...
    bne           1b                           the next row

Windows that lie whole vectors apart share loads: what is the second window's vector now is the
first one's later. Other windows have a pointer each, or a distance that fits into a load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from npu_dialect import mve
from npu_dialect.npu.quantization import ui8
from npu_passes.emit.c.dsp_helpers import Helper
from npu_passes.emit.c.macros import INLINE
from npu_passes.emit.c.mve_helpers import ARM
from npu_passes.emit.c.types import memref_of

WORD = 4
"""Bytes of a word."""
FIRST, SECOND = ("r0", "r2", "r4", "r6"), ("r8", "r10", "r12", "lr")
"""The registers of the sums of each window."""
MOST_SHARED = 4
"""The most vectors between two windows that share them: those between stay in registers."""
NEAR = 127
"""The farthest that a load of bytes reaches from its pointer."""


@dataclass(frozen=True)
class Runs:
    """Runs of some vectors by those of some filters.

    `windows`: `one`, `near` or `far` apart, or `shared1` if they lie one vector apart, and so on.
    `part`: the last vector of a run is the `rest` of one, or the first one has a `lead` that does
    not count. `started`: sums begin with first values. `once`: there is one row. `flips`: the bytes
    of the map have no sign. `taps`: the runs of a row. `long`: a load does not reach from one to
    the next one. `tail`: the words from a filter's last vector of a run to the next filter's.
    """

    vectors: int
    filters: int
    windows: str
    part: str = ""
    started: bool = False
    once: bool = False
    flips: bool = False
    taps: int = 1
    long: bool = False
    tail: int = mve.ROW_WORDS

    @staticmethod
    def of(op: mve.MulRunsOp, *, once: bool) -> Runs:
        """Those of an op; `once`: it has one row."""
        own = op.numbers
        return Runs(
            own.vectors,
            own.filters,
            windows_of(op),
            "rest" if own.rest else "lead" if own.lead else "",
            op.starts is not None,
            once,
            memref_of(op.memref).element_type == ui8,
            own.taps,
            own.taps > 1 and not -NEAR <= own.across - step_of(own.vectors) <= NEAR,
            own.tail,
        )

    @staticmethod
    def packed(op: mve.MulRowsOp) -> Runs:
        """Those of vectors that lie side by side in memory: windows of a run each."""
        apart = mve.VECTOR_BYTES * op.vectors
        windows = "one" if len(op.sums) == 1 else distance(apart)
        started = op.biased is not None
        return Runs(op.vectors, op.count, windows, started=started, once=True, tail=op.apart)

    @property
    def name(self) -> str:
        """The name of the function, without what all have in front."""
        ends = [self.part] if self.part else []
        ends += [name for name in ("started", "once", "flips", "long") if getattr(self, name)]
        ends += [f"taps{self.taps}"] if self.taps > 1 else []
        ends += [f"tail{self.tail}"] if self.tail < mve.ROW_WORDS else []
        return "_".join((f"mul_runs_{self.vectors}x{self.filters}", self.windows, *ends))

    @property
    def pixels(self) -> int:
        """The number of windows."""
        return 1 if self.windows == "one" else 2

    @property
    def shared(self) -> int:
        """The vectors from a window to the next one if they share vectors, else 0."""
        return int(self.windows[-1]) if self.windows.startswith("shared") else 0

    @property
    def is_fresh(self) -> bool:
        """Whether sums begin with their first products."""
        return self.once and not self.started

    @property
    def far(self) -> bool:
        """Whether the second window has a pointer of its own."""
        return self.windows == "far"

    # -- assembly --------------------------------------------------------------------------------

    @property
    def second(self) -> str:
        """That pointer. It takes the register of the first values, as there are few."""
        return ("starts" if self.started else "second") if self.far else ""

    @property
    def sums(self) -> list[tuple[str, ...]]:
        """The registers of the sums of each window."""
        return [each[: self.filters] for each in (FIRST, SECOND)[: self.pixels]]

    @property
    def loaded(self) -> list[str]:
        """The registers of vectors of windows; the first ones become the results."""
        count = max(self.pixels, self.shared + 1 if self.shared else 0)
        return [f"x{number}" for number in range(count)]

    @property
    def moves(self) -> int:
        """How often the pointer of a run moves by a vector."""
        return self.vectors + self.shared - 1

    @property
    def all(self) -> int:
        """The vectors of a row."""
        return self.taps * self.vectors

    def instructions(self) -> Iterator[str]:
        """All instructions."""
        yield from self.predicate()
        if self.flips:
            yield "vmov.i8 %q[signs], #0x80"
        for sums in self.sums:
            yield from self.started_sums(sums)
        if self.far:
            yield f"add %[{self.second}], %[x], %[apart]"
        if not self.once:
            yield "1:"
        for number in range(self.shared):
            yield from self.load(number, number)
        for vector in range(self.all):
            yield from self.of_vector(vector)
        if not self.once:
            yield "bne 1b"
        for result, sums in zip(self.loaded, self.sums, strict=False):
            four = [sums[min(lane, self.filters - 1)] for lane in range(mve.MOST_ROWS)]
            yield f"vmov %q[{result}][2], %q[{result}][0], {four[0]}, {four[2]}"
            yield f"vmov %q[{result}][3], %q[{result}][1], {four[1]}, {four[3]}"

    def predicate(self) -> Iterator[str]:
        """What says which lanes of a vector are loaded that is not whole."""
        if self.part:
            yield from (f"mov r0, %[{self.part}]", "vctp.8 r0")
        if self.part == "lead":
            yield from ("vpnot", "sub %[x], %[x], %[lead]")

    def started_sums(self, sums: tuple[str, ...]) -> Iterator[str]:
        """What gives the sums of a window their first values."""
        if self.is_fresh:
            return
        if not self.started:
            yield from (f"mov {each}, #0" for each in sums)
        elif len(sums) == 1:
            yield f"ldr {sums[0]}, [%[starts]]"
        else:
            yield f"ldm %[starts], {{{', '.join(sums)}}}"

    def ends_run(self, vector: int) -> bool:
        """Whether a vector of a row is the last one of its run."""
        return (vector + 1) % self.vectors == 0

    def of_vector(self, vector: int) -> Iterator[str]:
        """The loads and products of a vector of each window; those of the last one end a row."""
        registers, last = self.loaded, vector == self.all - 1
        if self.shared:
            number = vector + self.shared
            yield from self.load(number % len(registers), number)
            x = [registers[each % len(registers)] for each in (vector, number)]
        else:
            yield from self.loads(vector)
            x = registers
        if last and not self.once:
            yield from self.next_row()
        kind = "vmladav" if vector == 0 and self.is_fresh else "vmladava"
        moved = WORD * (self.tail if self.ends_run(vector) else mve.ROW_WORDS)
        for filter in range(self.filters):
            ends = last and not self.once and filter == self.filters - 1
            yield f"vldrw.u32 %q[w], [%[at]], {'%[behind]' if ends else f'#{moved}'}"
            for sums, name in zip(self.sums, x, strict=False):
                yield f"{kind}.s8 {sums[filter]}, %q[{name}], %q[w]"

    def load(self, register: int, number: int) -> Iterator[str]:
        """Load a vector that both windows use; the last one of a row may be a part of one."""
        last = number == self.moves
        address = f"[%[x]]{'' if last else ', #16'}"
        part = last and self.part == "rest"
        yield from self.loading({f"x{register}": address}, part=part)

    def loads(self, vector: int) -> Iterator[str]:
        """Load a vector of each window."""
        first, last = vector == 0, self.ends_run(vector)
        moved = "" if last else ", #16"
        if last and vector < self.all - 1 and not self.long:
            moved = ", %[along]"
        near = {"x1": "[%[x], %[apart]]"} if self.windows == "near" else {}
        far = {"x1": f"[%[{self.second}]]{moved}"} if self.far else {}
        part = (last and self.part == "rest") or (first and self.part == "lead")
        yield from self.loading({**near, "x0": f"[%[x]]{moved}", **far}, part=part)
        if last and vector < self.all - 1 and self.long:
            yield from (f"add %[{each}], %[{each}], %[along]" for each in self.pointers)

    def loading(self, addresses: Mapping[str, str], *, part: bool) -> Iterator[str]:
        """Load registers; `part`: some lanes, as the others count as nothing, flipped or not."""
        then = "t" if part else ""
        if part:
            yield f"vps{'t' * (len(addresses) * (1 + self.flips))}"
        for name, address in addresses.items():
            yield f"vldrb{then}.u8 %q[{name}], {address}"
        if self.flips:
            yield from (f"veor{then} %q[{name}], %q[{name}], %q[signs]" for name in addresses)

    @property
    def pointers(self) -> tuple[str, ...]:
        """The pointers to windows."""
        return ("x", self.second) if self.far else ("x",)

    def next_row(self) -> Iterator[str]:
        """What moves the pointers to the next row of the map, and counts."""
        yield from (f"add %[{each}], %[{each}], %[down]" for each in self.pointers)
        yield "subs %[rows], %[rows], #1"

    def assembly(self) -> list[str]:
        """The body for gcc, where all distances are known."""
        results = self.loaded[: self.pixels]
        vectors = [*self.loaded[self.pixels :], "w", *(["signs"] if self.flips else [])]
        pointers = ["x", "at", *([] if self.once else ["rows"])]
        outputs = [f'[{name}] "+r"({name})' for name in pointers]
        outputs += [f'[{name}] "=&w"({name})' for name in (*results, *vectors)]
        inputs: list[str] = []
        if self.far:
            kind = "+r" if self.started else "=&r"
            outputs.append(f'[{self.second}] "{kind}"({self.second})')
        elif self.started:
            inputs.append('[starts] "r"(starts)')
        inputs += [f'[{name}] "i"({name})' for name in self.distances]
        behind = mve.VECTOR_BYTES * self.moves
        if self.taps > 1:
            inputs.append(f'[along] "i"(across - {behind})')
        if not self.once:
            row = f" - {self.taps - 1} * across" if self.taps > 1 else ""
            inputs.append(f'[down] "i"(pitch{row} - {behind})')
            inputs.append(f'[behind] "i"({WORD * self.tail} + 4 * (step - {self.words}))')
        outputs += ['"=&Up"(lanes)'] if self.part else []
        clobbers = [f'"{each}"' for each in (*chain(*self.sums), "cc", "memory")]
        known = [*self.distances, *(["across"] if self.taps > 1 else [])]
        known += [] if self.once else ["pitch", "step"]
        constant = " && ".join(f"__builtin_constant_p({name})" for name in known) or "1"
        return [
            "#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)",
            f"if ({constant}) {{",
            f"    npu_i32x4 {', '.join(results)};",
            f"    npu_i8x16 {', '.join(vectors)};",
            *(["    mve_pred16_t lanes;"] if self.part else []),
            *([f"    const {self.byte} *second;"] if self.second == "second" else []),
            "    __asm__(",
            *(f'        "{each}\\n\\t"' for each in self.instructions()),
            f"        : {', '.join(outputs)}",
            f"        : {', '.join(inputs)}",
            f"        : {', '.join(clobbers)});",
            *(f"    *to{p} = {name};" for p, name in enumerate(results)),
            "    return;",
            "}",
            "#endif",
        ]

    @property
    def distances(self) -> list[str]:
        """The parameters that are parts of instructions."""
        names = ["apart"] if self.windows in ("near", "far") else []
        return names + ([self.part] if self.part else [])

    # -- other compilers -------------------------------------------------------------------------

    @property
    def words(self) -> int:
        """The words of the table for a row."""
        run = (self.vectors - 1) * mve.ROW_WORDS + self.tail
        return self.taps * self.filters * run

    @property
    def byte(self) -> str:
        """The C type of the map's elements."""
        return "uint8_t" if self.flips else "int8_t"

    @property
    def parameters(self) -> list[str]:
        """The parameters, but for the results."""
        apart = ["int apart"] if self.windows in ("near", "far") else []
        return [
            f"const {self.byte} *x",
            *apart,
            *([f"int {self.part}"] if self.part else []),
            *(["int across"] if self.taps > 1 else []),
            "const int32_t *at",
            *([] if self.once else ["int pitch", "int step", "int rows"]),
            *(["const int32_t *starts"] if self.started else []),
        ]

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [each.rpartition(" ")[2].lstrip("*") for each in self.parameters]

    @property
    def place(self) -> str:
        """The first byte of a row of the window `p`."""
        row = "" if self.once else " + row * pitch"
        row += " + tap * across" if self.taps > 1 else ""
        row += " - lead" if self.part == "lead" else ""
        if self.pixels == 1:
            return f"x{row}"
        apart = str(mve.VECTOR_BYTES * self.shared) if self.shared else "apart"
        return f"x{row} + p * {apart}"

    def loops(self, body: list[str]) -> list[str]:
        """A body inside loops over the rows and the taps, if there are several."""
        heads = [] if self.taps == 1 else [f"for (int tap = 0; tap < {self.taps}; ++tap) {{"]
        heads += [] if self.once else ["for (int row = 0; row < rows; ++row) {"]
        for head in heads:
            body = [head, *(f"    {each}" for each in body), "}"]
        return body

    @property
    def table(self) -> str:
        """The first word of a run in the table."""
        row = "" if self.once else "row * step + "
        tap = f"{self.words // self.taps} * tap + " if self.taps > 1 else ""
        return f"{row}{tap}"

    def word(self, vector: str) -> str:
        """The first word of a vector of the filter `f`, counted from the run's."""
        if self.tail == mve.ROW_WORDS:
            return f"4 * ({self.filters} * {vector} + f)"
        apart = f"({vector} < {self.vectors - 1} ? 4 : {self.tail})"
        return f"4 * {self.filters} * {vector} + {apart} * f"

    @property
    def loaded_vector(self) -> str:
        """An intrinsic that loads the vector `v` of a window."""
        at, signs = f"(const int8_t *)({self.place}) + 16 * v", "vdupq_n_s8(-128)"
        lanes = {
            "lead": "vpnot(vctp8q(v > 0 ? 0 : (uint32_t)lead))",
            "rest": f"vctp8q(v < {self.vectors - 1} ? 16 : (uint32_t)rest)",
        }
        if not self.part:
            return f"veorq_s8(vldrbq_s8({at}), {signs})" if self.flips else f"vldrbq_s8({at})"
        load = f"vldrbq_z_s8({at}, {lanes[self.part]})"
        return f"veorq_m_s8({load}, {load}, {signs}, {lanes[self.part]})" if self.flips else load

    def intrinsics(self) -> Iterator[str]:
        """The body for other compilers that know the vector unit."""
        pixels, filters = self.pixels, self.filters
        start = "starts[f]" if self.started else "0"
        w = f"vreinterpretq_s8_s32(vldrwq_s32(at + {self.table}{self.word('v')}))"
        yield f"int32_t s[{pixels}][{filters}];"
        yield f"for (int p = 0; p < {pixels}; ++p) {{"
        yield f"    for (int f = 0; f < {filters}; ++f) {{ s[p][f] = {start}; }}"
        body = [
            f"for (int v = 0; v < {self.vectors}; ++v) {{",
            f"    const npu_i8x16 b = {self.loaded_vector};",
            f"    for (int f = 0; f < {filters}; ++f) {{",
            f"        s[p][f] = vmladavaq_s8(s[p][f], b, {w});",
            "    }",
            "}",
        ]
        yield from (f"    {each}" for each in self.loops(body))
        yield "}"
        for p in range(pixels):
            lanes = [f"s[{p}][{min(lane, filters - 1)}]" for lane in range(mve.MOST_ROWS)]
            yield f"const npu_i32x4 r{p} = {{{', '.join(lanes)}}};"
            yield f"*to{p} = r{p};"

    def plain(self) -> Iterator[str]:
        """The body in plain C."""
        filters = self.filters
        first, bytes_ = "0", str(mve.VECTOR_BYTES * self.vectors)
        if self.part == "rest":
            bytes_ = f"{mve.VECTOR_BYTES * (self.vectors - 1)} + rest"
        elif self.part:
            first = "lead"
        byte = f"*({self.place} + k)"
        body = [
            f"for (int k = {first}; k < {bytes_}; ++k) {{",
            f"    const int place = {self.table}{self.word('(k / 16)')} + k % 16 / 4;",
            "    const uint32_t word = (uint32_t)at[place];",
            "    const int8_t w = (int8_t)(word >> k % 4 * 8 & 0xFF);",
            f"    const int32_t byte = {byte}{' - 128' * self.flips};",
            "    sum += (uint32_t)(byte * w);",
            "}",
        ]
        yield f"for (int p = 0; p < {self.pixels}; ++p) {{"
        yield "    for (int i = 0; i < 4; ++i) {"
        yield f"        const int f = i < {filters} ? i : {filters - 1};"
        yield f"        uint32_t sum = {'(uint32_t)starts[f]' if self.started else '0'};"
        yield from (f"        {each}" for each in self.loops(body))
        to = "(p == 0 ? to0 : to1)" if self.pixels > 1 else "to0"
        yield f"        {to}->lane[i] = (int32_t)sum;"
        yield from ("    }", "}")

    @property
    def helper(self) -> Helper:
        """The function."""
        results = [f"npu_i32x4 *to{p}" for p in range(self.pixels)]
        return Helper(
            f"void {{}}({', '.join((*self.parameters, *results))})",
            "Sums of the products of windows with runs of bytes, which lie in words.",
            "\n".join(self.plain()),
            "\n".join((*self.assembly(), *self.intrinsics())),
            ARM,
            inline=INLINE,
        )


def windows_of(op: mve.MulRunsOp) -> str:
    """How the windows of an op lie."""
    own = op.numbers
    if len(op.sums) == 1:
        return "one"
    vectors, rest = divmod(own.apart, mve.VECTOR_BYTES)
    shares = own.taps == 1 and own.tail == mve.ROW_WORDS
    if shares and rest == 0 and 0 < vectors < own.vectors and vectors <= MOST_SHARED:
        return f"shared{vectors}"
    return distance(own.apart)


def distance(apart: int) -> str:
    """Whether a load reaches a window so many bytes farther."""
    return "near" if apart <= NEAR else "far"


def step_of(vectors: int) -> int:
    """How far the pointer of a run of some vectors has moved at its last one."""
    return mve.VECTOR_BYTES * (vectors - 1)
