"""The files that npu-compile draws on request while passes run: the memory map and the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_tools.pictures.map_stop import MapStop

if TYPE_CHECKING:
    from npu_tools.compiling.stops import Observer
    from npu_tools.pictures.timeline import TimelineStop


@dataclass
class Drawings:
    """The observers for `--memory-map` and `--timeline`, and their files."""

    memory_map: Path | None
    timeline: Path | None
    model: str
    _map: MapStop | None = None
    _times: TimelineStop | None = None

    def stops(self) -> tuple[Observer, ...]:
        """The observers that read the IR."""
        if self.memory_map is not None:
            self._map = MapStop(self.model)
        if self.timeline is not None:
            from npu_tools.pictures.timeline import TimelineStop

            self._times = TimelineStop()
        return tuple(each for each in (self._map, self._times) if each is not None)

    def files(self) -> dict[Path, str]:
        """The files with their contents.

        Raises: UserError if there is nothing to draw.
        """
        found: dict[Path, str] = {}
        if self.memory_map is not None and self._map is not None:
            found[self.memory_map] = self._map.picture()
        if self.timeline is not None and self._times is not None:
            found[self.timeline] = self._times.text()
        return found
