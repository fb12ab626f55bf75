"""Progress on a terminal: one line that is written over and over; nothing where nobody looks."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_dialect.npu.layer import LayerOp
from npu_passes.tiling.tile_loops import StagedOp, TileLoopsPass


class Progress:
    """One line on a terminal."""

    def __init__(self) -> None:
        """Find out whether somebody looks."""
        self.shown = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Replace the line."""
        if self.shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@dataclass
class PassProgress:
    """Says which pass of a job is running; `names` are the passes in their order."""

    names: tuple[str, ...]
    line: Progress = field(default_factory=Progress)
    done: int = 0

    def ended(self, step: str, module: ModuleOp) -> None:
        """A step has ended: room for what others say of it."""
        self.line.clear()

    def begins(self, step: str, module: ModuleOp) -> None:
        """The next step begins."""
        if self.done < len(self.names):
            self.line.say(f"[{self.done + 1}/{len(self.names)}] {self.names[self.done]}")
        self.done += 1


@dataclass(frozen=True)
class TellingTileLoops(TileLoopsPass):
    """`npu-tile-loops` that says which layers have their tiles."""

    line: Progress = field(default_factory=Progress, init=False, compare=False, repr=False)

    def told(self, staged: StagedOp) -> None:
        """See `TileLoopsPass`."""
        name = staged.op.layer_name if isinstance(staged.op, LayerOp) else None
        moved = "" if staged.staging is None else f": {staged.staging.bytes} bytes"
        self.line.say(f"{self.name}: {name or staged.op.name}{moved}")


def telling(each: ModulePass) -> ModulePass:
    """A pass that may take long in a form that shows how far it is, if there is one."""
    if type(each) is not TileLoopsPass:
        return each
    return TellingTileLoops(
        **{option.name: getattr(each, option.name) for option in fields(each) if option.init}
    )
