"""`npu-compile --memory-map`: the observer that keeps the last memory map of a compilation."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from npu_tools.pictures.memory_map import MemoryMap, memory_map
from npu_tools.shared.errors import UserError


@dataclass
class MapStop:
    """Keeps the map of the last module in which buffers lie at their offsets."""

    model: str
    found: MemoryMap | None = None

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Read the module if it is there."""
        self.found = memory_map(module, self.model) or self.found

    def picture(self) -> str:
        """The map as the text of an SVG file; needs matplotlib.

        Raises: UserError if there was no such module.
        """
        from npu_tools.pictures.memory_map_svg import svg

        if self.found is None:
            raise UserError(
                "--memory-map: no buffer has an offset to be drawn at: "
                "expected a pipeline with npu-assign-sram-offsets"
            )
        return svg(self.found)
