"""Shows progress on a terminal, in one line that is overwritten; elsewhere it shows nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_dialect.npu.layer import LayerOp
from npu_passes.tiling.tile_loops import StagedOp, TileLoopsPass


class Progress:
    """One line on the terminal of standard error."""

    def __init__(self) -> None:
        """Check whether standard error is a terminal; if not, nothing is shown."""
        self.shown = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Replace the text of the line."""
        if self.shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@dataclass
class PassProgress:
    """Shows which pass of a job is running; `names` are all passes in their order.

    Both methods are observers. `ended` must be the first and `begins` the last of them.
    """

    names: tuple[str, ...]
    line: Progress = field(default_factory=Progress)
    done: int = 0

    def ended(self, step: str, module: ModuleOp) -> None:
        """Clear the line after a step, so that other observers can print."""
        self.line.clear()

    def begins(self, step: str, module: ModuleOp) -> None:
        """Show the name of the pass that runs next."""
        if self.done < len(self.names):
            self.line.say(f"[{self.done + 1}/{len(self.names)}] {self.names[self.done]}")
        self.done += 1


@dataclass(frozen=True)
class TellingTileLoops(TileLoopsPass):
    """`npu-tile-loops` that shows each layer when its tiles are found."""

    line: Progress = field(default_factory=Progress, init=False, compare=False, repr=False)

    def told(self, staged: StagedOp) -> None:
        """Show the layer and the bytes that its transfers move; see `TileLoopsPass.told`."""
        name = staged.op.layer_name if isinstance(staged.op, LayerOp) else None
        moved = "" if staged.staging is None else f": {staged.staging.bytes} bytes"
        self.line.say(f"{self.name}: {name or staged.op.name}{moved}")


def telling(each: ModulePass) -> ModulePass:
    """`npu-tile-loops` as a pass that shows its progress; any other pass as it is."""
    if type(each) is not TileLoopsPass:
        return each
    return TellingTileLoops(
        **{option.name: getattr(each, option.name) for option in fields(each) if option.init}
    )
