"""Shows on a terminal for which layer `npu-tile-loops` searches tiles."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from xdsl.passes import ModulePass

from npu_dialect.npu.layer import LayerOp
from npu_passes.tiling.tile_loops import StagedOp, TileLoopsPass
from npu_tools.shared.progress import Progress


@dataclass(frozen=True)
class TellingTileLoops(TileLoopsPass):
    """`npu-tile-loops` that shows each layer when its tiles are found."""

    line: Progress = field(default_factory=Progress, init=False, compare=False, repr=False)

    def told(self, staged: StagedOp) -> None:
        """Show the layer and the bytes that its transfers move; see `TileLoopsPass.told`."""
        name = staged.op.layer_name if isinstance(staged.op, LayerOp) else None
        moved = "" if staged.staging is None else f": {staged.staging.bytes} bytes"
        self.line.say(f"{self.name}: {name or staged.op.name}{moved}")


def telling_tiles(each: ModulePass) -> ModulePass:
    """`npu-tile-loops` as a pass that shows its progress; any other pass as it is."""
    if type(each) is not TileLoopsPass:
        return each
    return TellingTileLoops(
        **{option.name: getattr(each, option.name) for option in fields(each) if option.init}
    )
