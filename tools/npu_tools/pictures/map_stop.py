"""`npu-compile --memory-map`: the observer that reads the memory map while passes run."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from npu_tools.pictures.memory_map import MemoryMap, memory_map
from npu_tools.shared.errors import UserError


@dataclass
class MapStop:
    """An observer that keeps the memory map after the last step in which buffers have offsets.

    `model` is the model's name, for the title. `found` is the map so far.
    """

    model: str
    found: MemoryMap | None = None

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Read the memory map of the module, if its buffers have offsets."""
        self.found = memory_map(module, self.model) or self.found

    def picture(self) -> str:
        """The map as the text of an SVG file; needs matplotlib.

        Raises: UserError if buffers had offsets after no step.
        """
        from npu_tools.pictures.memory_map_svg import svg

        if self.found is None:
            raise UserError(
                "--memory-map: no buffer has an offset to be drawn at: "
                "expected a pipeline with npu-assign-sram-offsets"
            )
        return svg(self.found)
