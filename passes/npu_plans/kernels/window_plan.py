"""Plans a depthwise convolution over patches of 16 bytes that are gathered where they lie. No IR.

A *patch* is three rows by five columns of one channel, or four by four, column by column. It holds
the windows of some neighbouring outputs, of a kernel of up to three by three: three of a row, or
two of each of two rows; two of a row if they move by two. Each output is one sum of products of
the patch with its own weights (`window_weights.py`).

    columns of the map   0 1 2 3 4 5 6 7 8 9 10 11      three rows by five columns, one padding
    patch 0              x x x x x                      outputs 0, 1, 2, 3
    patch 3                    x x x x x                outputs 4, 5, 6
    patch 6                          x x x x x          outputs 7, 8, 9
    patch 7                            x x x x  x       outputs 10, 11

Such patches are *clipped*: they lie on the map, and outputs at a border have the columns of their
window that are on the map only. What the zero point adds in the others is their first value. There
are many weights then, which are loaded for two patches at a time. Otherwise patches begin where
windows do; bytes outside of the map become the zero point, and few weights stay in registers.

Of four rows that padding cuts, four rows on the map are gathered, and move to their places.

At the memory peak an output may lie over its input. If windows move by one row, the patches of the
next rows are gathered before outputs of these rows are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import takewhile
from typing import TypeAlias

from npu_dialect.windows import Axis
from npu_plans.kernels.gathers import (
    BYTES,
    EIGHT,
    FIRST,
    FOUR,
    GATHERED,
    INSTRUCTION,
    REQUANTISED,
    STORED,
    Place,
    Side,
)
from npu_plans.kernels.patch_plan import TAPS, holds_windows
from npu_plans.kernels.window_weights import Form, Weights

RELOADED = 2
"""Instructions for the distances of what is stored together, if patches are clipped: they differ
from store to store, so they are on the stack."""
CUT = 9
"""Instructions that a patch takes besides if bytes become the zero point: for constants."""
PUSHED = 3
"""Instructions that push a column of padding into a patch."""
SHIFTED = 2
"""Instructions that move the rows of a patch, and put padding in their place."""
STEP = 3
"""Instructions of a loop and its pointers for each step."""
CHANNEL = 20
"""Instructions of a channel: its bias, its scale, pointers, and the entry of its loops."""
LEAST_OUTPUTS = 10
"""The fewest outputs of a channel that are worth what it takes in front of them."""
MOST_OUTPUTS = 24
"""The most outputs that are computed together in more than two rows."""
MOST_AHEAD = 2
"""The most patches of a row that are gathered ahead: they stay in registers."""


@dataclass(frozen=True)
class Patch:
    """A patch of a row: the column where it begins, and the outputs whose windows it holds.

    The column is counted from the one where the first window of a loop's step begins, or, without
    a loop, from the map's first one. `padded`: its columns outside of the map become the zero
    point; otherwise no output has a tap on one of them in the patch.
    """

    column: int
    outputs: tuple[int, ...]
    padded: bool = False


@dataclass(frozen=True)
class Piece:
    """A patch of some rows of outputs: the first one, and how many."""

    row: int
    lines: int
    patch: Patch


@dataclass(frozen=True)
class Product:
    """An output: its place, the patch of which it is a sum of products, and its phase there."""

    place: Place
    piece: Piece
    phase: Place


@dataclass(frozen=True)
class Gather:
    """A patch is gathered."""

    piece: Piece


@dataclass(frozen=True)
class Multiply:
    """Some outputs are computed, in this order."""

    products: tuple[Product, ...]


@dataclass(frozen=True)
class Store:
    """Up to eight outputs are stored, in the order in which they were computed."""

    places: tuple[Place, ...]

    def distances(self, pixel: int, line: int) -> list[int]:
        """The distances of the outputs from the first one of all rows and columns."""
        return [row * line + column * pixel for row, column in self.places]


Event: TypeAlias = Gather | Multiply | Store
"""What a kernel does."""

Columns: TypeAlias = tuple[int, int]
"""A half-open range of columns of outputs."""


@dataclass(frozen=True)
class WindowPlan:
    """Which patches hold the windows of a layer; `rows` and `columns` are its axes.

    With `over`, outputs lie over their input.
    """

    rows: Axis
    columns: Axis
    form: Form
    over: bool = False

    @staticmethod
    def fits(rows: Axis, columns: Axis) -> bool:
        """Whether patches hold the windows, and each of these has taps on the map."""
        return holds_windows(rows) and holds_windows(columns)

    @staticmethod
    def pays(rows: Axis, columns: Axis) -> bool:
        """Whether there are enough outputs and taps."""
        full = rows.kernel == columns.kernel == TAPS
        return full and rows.outputs * columns.outputs >= LEAST_OUTPUTS

    @staticmethod
    @lru_cache(maxsize=256)
    def best(rows: Axis, columns: Axis, *, over: bool = False, closely: bool = False) -> WindowPlan:
        """The plan of windows that fit with the fewest instructions for a row of outputs.

        Rows are computed one by one where outputs follow their input as `closely` as they can, and
        where they lie over it and move by more than one row.
        """
        forms = [Form(TAPS, height, clips) for height in (1, 2) for clips in (False, True)]
        if closely or (over and rows.stride > 1):
            forms = forms[:2]
        else:
            forms.append(Form(TAPS, FOUR, clips=True))
            forms += [Form(FOUR, each, clips=True) for each in (2, FOUR) if rows.stride == 1]
        few = [
            form
            for form in forms
            if form.height <= rows.outputs
            and (form.height <= 2 or form.height * columns.outputs <= MOST_OUTPUTS)
        ]
        plans = [WindowPlan(rows, columns, form, over) for form in few]
        return min(plans, key=lambda plan: plan.instructions(plan.form.height) / plan.form.height)

    # -- patches ---------------------------------------------------------------------------------

    @property
    def across(self) -> int:
        """The outputs of a row in a patch all of whose windows lie on the map."""
        return (self.form.columns - TAPS) // self.columns.stride + 1

    def phase(self, patch: Patch, output: int, *, moves: bool = False) -> int:
        """The column of a patch where the window of an output begins; it may be outside.

        `moves`: the patch is one of a loop's step.
        """
        axis = self.columns
        return (output * axis.stride if moves else axis.start(output)) - patch.column

    def taps(self, phase: int) -> tuple[int, int]:
        """Half-open range of the columns of a window that are in a patch."""
        return max(0, -phase), min(self.columns.kernel, self.form.columns - phase)

    def holds(self, column: int, output: int) -> bool:
        """Whether a patch has the taps of an output that are on the map, and no other ones."""
        return self.taps(self.columns.start(output) - column) == self.columns.taps(output)

    def patch(self, output: int, end: int) -> Patch:
        """The patch of an output and of those behind it, in front of `end`."""
        first, last = self.columns.start(output), self.columns.size - self.form.columns
        if not self.form.clips:
            outputs = range(output, min(output + self.across, end))
            read = self.columns.start(outputs[-1]) + self.columns.kernel
            return Patch(first, tuple(outputs), padded=first < 0 or read > self.columns.size)
        found = list[Patch]()
        for column in {max(0, min(first, last)), last}:
            outputs = takewhile(partial(self.holds, column), range(output, end))
            found.append(Patch(column, tuple(outputs)))
        best = max(found, key=lambda each: (len(each.outputs), each.column))
        return best if best.outputs else Patch(first, (output,), padded=True)

    def patches(self, first: int, end: int) -> list[Patch]:
        """The patches of some outputs of a row that are known."""
        found = list[Patch]()
        while first < end:
            found.append(self.patch(first, end))
            first = found[-1].outputs[-1] + 1
        return found

    def moving(self, count: int) -> list[Patch]:
        """The patches of a step of a loop with some outputs, which all lie on the map."""
        return [
            Patch(
                start * self.columns.stride,
                tuple(range(start, min(start + self.across, count))),
            )
            for start in range(0, count, self.across)
        ]

    @cached_property
    def phases(self) -> list[Place]:
        """The rows and columns of patches where windows begin, which each have their weights."""
        front, step, back = self.parts
        parts = [(self.patches(*front), False), (self.patches(*back), False)]
        parts += [(self.moving(step), True)] if self.loops else []
        columns = {
            self.phase(patch, each, moves=moves)
            for patches, moves in parts
            for patch in patches
            for each in patch.outputs
        }
        lines = range(min(self.form.lines, self.rows.outputs))
        return [(line, column) for line in lines for column in sorted(columns)]

    @cached_property
    def weights(self) -> Weights:
        """Where weights lie."""
        kernel = self.rows.kernel, self.columns.kernel
        return Weights(kernel, self.form, tuple(self.phases))

    @property
    def cuts(self) -> list[tuple[int, int]]:
        """The columns of windows that clipped patches have, where they lack some."""
        found = {self.taps(column) for _, column in self.phases}
        return sorted(found - {(0, self.columns.kernel)})

    # -- rows and columns of outputs -------------------------------------------------------------

    @property
    def ahead(self) -> bool:
        """Whether the patches of a row are gathered before outputs of the row before are stored."""
        return self.over and self.rows.stride == 1

    @cached_property
    def parts(self) -> tuple[Columns, int, Columns]:
        """The columns in front of a loop, those of each of its steps, and the columns behind it.

        All patches of the loop lie on the map.
        """
        step, axis = EIGHT // min(self.form.height, 2), self.columns
        reach = self.moving(step)[-1].column + self.form.columns
        starts = [axis.start(number * step) for number in range(axis.outputs // step)]
        found = [i for i, start in enumerate(starts) if start >= 0 and start + reach <= axis.size]
        if self.form.height > 2 or len(found) < 2:
            return (0, 0), step, (0, axis.outputs)
        return (0, found[0] * step), step, ((found[-1] + 1) * step, axis.outputs)

    @property
    def loops(self) -> bool:
        """Whether there is a loop over columns of outputs."""
        front, _, back = self.parts
        return front[1] < back[0]

    @property
    def steps(self) -> tuple[int, int]:
        """The steps of rows of outputs that are a loop: the first one, and the one behind the last.

        All that they gather is on the map. Where patches are gathered ahead, these are those of all
        rows but the first ones, and those of the next step.
        """
        axis, form = self.rows, self.form
        step, lines = form.height, form.lines
        first, behind = (lines, step) if self.ahead else (0, step - lines)
        found = [
            number
            for number in range((axis.outputs - self.ahead) // step)
            if axis.start(number * step + first) >= 0
            and axis.start(number * step + behind) + form.rows <= axis.size
        ]
        return (found[0], found[-1] + 1) if found else (0, 0)

    @property
    def hides(self) -> bool:
        """Whether places of channels are hidden from gcc, as it would keep too many pointers.

        With weights in registers it finds better ones, unless it has a loop in a single row.
        """
        return self.form.clips or (self.rows.outputs == 1 and self.loops)

    @property
    def in_pairs(self) -> bool:
        """Whether two of four sums are joined before the others are computed.

        So fewer registers are needed. Where weights stay in registers, it is only better for single
        rows and without a loop, and if a patch has two outputs.
        """
        alone = self.rows.outputs == 1 or not self.loops
        return self.form.clips or (self.columns.stride > 1 and alone)

    # -- what is done ----------------------------------------------------------------------------

    def events(
        self, rows: int, patches: Sequence[Patch], more: int = 0, *, moves: bool = False
    ) -> Iterator[Event]:
        """What is done for some rows of outputs, in order; `more` rows follow.

        Where patches are gathered ahead, those of the first rows are there, and those behind the
        last ones are gathered, too. `moves`: the patches are those of a loop's step.
        """
        lines, waiting = self.form.lines, list[Place]()
        pieces = [
            [Piece(row, min(lines, rows - row), patch) for patch in patches]
            for row in range(0, rows, lines)
        ]
        following = [Piece(rows, min(lines, more), patch) for patch in patches] if more else []
        together = self.together(rows, len(patches))
        for first in range(0, len(pieces), together):
            if self.ahead:
                later = [*pieces, following][first + 1 : first + together + 1]
                yield from (Gather(piece) for each in later for piece in each)
            for group in self.groups(pieces[first : first + together]):
                if not self.ahead:
                    yield from map(Gather, group)
                products = self.products(group, moves=moves)
                for some in self.turns(products, len(waiting)):
                    yield Multiply(tuple(some))
                    waiting += [product.place for product in some]
                    while len(waiting) >= EIGHT:
                        yield Store(tuple(waiting[:EIGHT]))
                        del waiting[:EIGHT]
        if waiting:
            yield Store(tuple(waiting))

    def turns(self, products: Sequence[Product], waiting: int) -> list[Sequence[Product]]:
        """Outputs that are computed before some are stored; so many wait to be stored.

        Of four rows, those of eight outputs: the vectors of all would not stay in registers.
        """
        if self.form.height <= 2:
            return [products]
        first = EIGHT - waiting
        ends = range(first, len(products), EIGHT)
        return [products[:first], *(products[at : at + EIGHT] for at in ends)]

    def together(self, rows: int, patches: int) -> int:
        """How many lines of patches are there together.

        Two rows share weights. Four do if each has one patch: then four neighbouring outputs have
        equal weights and first values, and are requantised together.
        """
        if self.form.lines > 1 or rows == 1:
            return 1
        return FOUR if patches == 1 and rows == FOUR and self.form.clips else 2

    def groups(self, chunk: Sequence[Sequence[Piece]]) -> list[list[Piece]]:
        """Patches that are there together: of two rows, or two neighbours, if they are clipped."""
        if len(chunk) > 1:
            pairs = [list(column) for column in zip(*chunk, strict=True)]
        else:
            pairs = [list(chunk[0][at : at + 2]) for at in range(0, len(chunk[0]), 2)]
        return pairs if self.form.clips else [[piece] for pair in pairs for piece in pair]

    def products(self, pieces: Sequence[Piece], *, moves: bool) -> list[Product]:
        """The outputs of some patches; those with equal weights are neighbours."""
        found = [
            Product(
                (piece.row + line, output),
                piece,
                (line, self.phase(piece.patch, output, moves=moves)),
            )
            for piece in pieces
            for output in piece.patch.outputs
            for line in range(piece.lines)
        ]
        return sorted(found, key=lambda each: (each.phase[1], each.phase[0], each.place))

    def all_events(self) -> Iterator[tuple[int, Event]]:
        """All that is done, without loops, behind the row from which it is counted."""
        front, step, back = self.parts
        blocks = ((at, at + step) for at in range(front[1], back[0], step))
        parts = [self.patches(*part) for part in (front, *blocks, back)]
        outputs, height = self.rows.outputs, self.form.height
        for row in range(0, outputs, height):
            count = min(height, outputs - row)
            for patches in parts:
                for event in self.events(count, patches, outputs - row - count):
                    yield row, event

    def can_overwrite(self, read: int, written: int) -> bool:
        """Whether outputs may lie on their input, which begins where they do.

        A row of the map has `read` pixels, and one of the output `written`, gaps included. What is
        stored must lie in front of all that is gathered later.
        """
        if self.ahead and (self.loops or len(self.patches(0, self.columns.outputs)) > MOST_AHEAD):
            return False
        last = -1
        for row, event in self.all_events():
            if isinstance(event, Gather):
                number = row + event.piece.row
                top = max(0, self.rows.start(number) + min(0, self.shift(number)))
                if top * read + max(0, event.piece.patch.column) <= last:
                    return False
            elif isinstance(event, Store):
                last = max(last, row * written + max(event.distances(1, written)))
        return True

    def spread(self, pixel: int, line: int) -> int:
        """The greatest distance of outputs that are stored together."""
        stores = (event for _, event in self.all_events() if isinstance(event, Store))
        found = (store.distances(pixel, line) for store in stores)
        return max(max(each) - min(each) for each in found)

    # -- padding ---------------------------------------------------------------------------------

    @property
    def shifts(self) -> bool:
        """Whether patches that padding cuts are gathered on the map, and their rows move."""
        return self.form.rows == FOUR <= self.rows.size

    def shift(self, row: int) -> int:
        """By how many rows a patch of a row of outputs begins later, or earlier if negative.

        Four rows on the map are gathered then, and move to their places in the patch.
        """
        start, rows = self.rows.start(row), self.form.rows
        return min(max(start, 0), self.rows.size - rows) - start if self.shifts else 0

    def pushes(self, patch: Patch) -> bool:
        """Whether a column of padding in front of the map is pushed into a patch.

        Not into those of a single row with a loop and steps of two, where gcc then takes 172
        instructions in place of 168 for 24 outputs, as it lacks registers for addresses.
        """
        alone = self.rows.outputs == 1 and self.columns.stride > 1 and self.loops
        return patch.padded and patch.column == -1 and self.form.rows == TAPS and not alone

    def pads(
        self, rows: Side, columns: Side, piece: Piece, *, moves: bool = False, pushed: bool = False
    ) -> tuple[bool, ...]:
        """Which bytes of a patch become the zero point, as an output has a tap there.

        `pushed`: all columns make room for one in front of them later.
        """
        patch = piece.patch
        taps = {
            self.phase(patch, output, moves=moves) + tap - pushed
            for output in patch.outputs
            for tap in range(self.columns.kernel)
        }
        high = self.rows.kernel + (piece.lines - 1) * self.rows.stride
        found = [
            column in taps and row < high and ((beside and patch.padded) or above)
            for column, beside in enumerate(columns.outside)
            for row, above in enumerate(rows.outside)
        ]
        return (*found, *[False] * (BYTES - len(found)))

    # -- what it takes ---------------------------------------------------------------------------

    def total(self, filters: int) -> int:
        """The instructions of a channel with some filters, about. Each gathers its windows."""
        form, outputs = self.form, self.rows.outputs
        whole, rest = divmod(outputs, form.height)
        found = whole * self.instructions(form.height) + (self.instructions(rest) if rest else 0)
        top, bottom = self.rows.interior()
        rows = -(-top // form.lines) + -(-(outputs - bottom) // form.lines)
        cut = SHIFTED if self.shifts else CUT
        cut *= rows * len(self.patches(0, self.columns.outputs))
        return filters * (CHANNEL + found + cut)

    def flash(self, filters: int) -> int:
        """Bytes of code, weights and first values: rows that padding cuts have their own code."""
        low, high = self.steps
        steps = -(-self.rows.outputs // self.form.height)
        bodies = steps - (high - low) + (1 if low < high else 0)
        code = INSTRUCTION * bodies * self.instructions(self.form.height)
        return code + filters * (self.weights.pitch + FIRST * (1 + len(self.cuts)))

    def instructions(self, rows: int) -> int:
        """The instructions of some rows of outputs."""
        front, step, back = self.parts
        found = STEP + sum(self.of_part(rows, self.patches(*part)) for part in (front, back))
        if loops := (back[0] - front[1]) // step:
            found += loops * (STEP + self.of_part(rows, self.moving(step), moves=True))
        return found

    def of_part(self, rows: int, patches: Sequence[Patch], *, moves: bool = False) -> int:
        """The instructions of some patches in each of some rows."""
        form, outputs = self.form, rows * sum(len(patch.outputs) for patch in patches)
        stored = STORED + (RELOADED if form.clips and not moves else 0)
        found = outputs + REQUANTISED * -(-outputs // FOUR) + stored * -(-outputs // EIGHT)
        for event in self.events(rows, patches, moves=moves):
            if isinstance(event, Multiply) and form.clips:
                phases = [product.phase for product in event.products]
                cuts = [self.taps(column) for _, column in phases]
                found += len(set(phases)) + sum(cut != (0, self.columns.kernel) for cut in cuts)
        padded = sum(PUSHED if self.pushes(each) else CUT for each in patches if each.padded)
        return found + -(-rows // form.lines) * (GATHERED * len(patches) + padded)
