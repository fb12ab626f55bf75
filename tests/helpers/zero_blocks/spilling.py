"""A network, and a machine with so little memory that two of its maps leave the chip."""

from __future__ import annotations

from pathlib import Path

from helpers.onnx_models import model, node, numbers
from npu_passes.pipelines import PIPELINES

BLOCKS = PIPELINES["zero-blocks"].text.replace("npu-fuse-regions{when=needed},", "")
"""Without regions of rows, which would keep the two maps on the chip."""

MACHINE = """\
name = "small"
sram_bytes = 12288
flash_bytes = 65536
dma_channels = 4
"""


def files(folder: Path) -> tuple[str, str]:
    """Write both; returns the paths of the network and of the machine."""
    weights = {"w": numbers(8, 2, 3, 3), "v": numbers(8, 8, 3, 3)}
    nodes = [
        node("Conv", "x w", "a", pads=[1, 1, 1, 1], name="c1"),
        node("Relu", "a", "b", name="r1"),
        node("Conv", "b v", "c", pads=[1, 1, 1, 1], name="c2"),
        node("Relu", "c", "d", name="r2"),
        node("MaxPool", "d", "e", kernel_shape=[1, 1], name="p"),  # keeps the sum a layer
        node("Add", "b e", "y", name="s"),
    ]
    proto = model(nodes, {"x": (1, 2, 20, 22)}, weights=weights)
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    (folder / "small.toml").write_text(MACHINE)
    return str(folder / "net.onnx"), str(folder / "small.toml")
