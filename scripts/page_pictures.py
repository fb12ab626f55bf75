"""Draws the pictures of docs/report.md and README.md: parts of the page of Inception-V3.

    python scripts/page_pictures.py         write docs/images/report-*.png

It needs Chromium and the extra `test`. The pictures are those of one browser with one set of fonts,
so nothing checks that they are the newest.
"""

from __future__ import annotations

import sys
import tempfile
from base64 import b64decode
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

# The folder of the tests replaces this one, whose modules could hide others of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.browser import Tab, browser
from helpers.networks.zoo import build
from npu_tools.commands import report

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images"
WIDTH = 1180
COLOURS = 128
"""Colours of a picture; fewer make a smaller file."""


@dataclass(frozen=True)
class Picture:
    """A part of the page: sections from the top of `first` to the end of `last`."""

    name: str
    first: str
    last: str
    anchor: str = ""
    dark: bool = False


PICTURES = (
    Picture("report-memory", "#answer", "#memory"),
    Picture("report-network", "#network", "#network", "#layer-40", dark=True),
    Picture("report-misfit", "#answer", "#answer"),
)


def page(name: str, model: bytes, target: str, folder: Path, *options: str) -> Path:
    """The page of a network.

    Raises: RuntimeError if npu-report fails.
    """
    path, made = folder / f"{name}.onnx", folder / f"{name}.html"
    path.write_bytes(model)
    if report.main(["html", str(path), "--target", target, "-o", str(made), *options]):
        raise RuntimeError(f"npu-report html for {target} failed")
    return made


def drawn(tab: Tab, made: Path, picture: Picture) -> bytes:
    """A part of a page as a PNG file with few colours."""
    tab.looks(WIDTH, dark=picture.dark)
    tab.open(made, picture.anchor)
    tab.run("scrollTo(0, 0)")
    left, top, right, bottom = tab.run(
        "const place = (each) => document.querySelector(each).getBoundingClientRect();"
        "const [a, b] = [...arguments].map(place);"
        "return [a.left, a.top + scrollY, a.right, b.bottom + scrollY]",
        *(picture.first, picture.last),
    )
    clip = {"x": left, "y": top, "width": right - left, "height": bottom - top, "scale": 1}
    shot = {"captureBeyondViewport": True, "clip": clip}
    taken = tab.driver.execute_cdp_cmd("Page.captureScreenshot", shot)
    image: Any = import_module("PIL.Image").open(BytesIO(b64decode(taken["data"])))
    out = BytesIO()
    image.convert("RGB").quantize(COLOURS).save(out, "PNG", optimize=True)
    return out.getvalue()


def tight_machine(folder: Path) -> Path:
    """A machine with too little SRAM for LeNet-5."""
    text = (ROOT / "src" / "npu_dialect" / "targets" / "fe310.toml").read_text()
    path = folder / "small.toml"
    path.write_text(text.replace("sram_bytes = 16384", "sram_bytes = 4096"))
    return path


def main() -> int:
    """Write all pictures; returns the exit code."""
    with tempfile.TemporaryDirectory() as name, browser() as tab:
        folder = Path(name)
        model = build("inception_v3", bias=False).SerializeToString()
        large = page("inception_v3", model, "exynos-npu", folder, "--plan-as", "i8")
        lenet = (ROOT / "examples" / "lenet5" / "lenet5.onnx").read_bytes()
        tight = page("lenet5", lenet, str(tight_machine(folder)), folder)
        for picture, made in zip(PICTURES, (large, large, tight), strict=True):
            path = FOLDER / f"{picture.name}.png"
            path.write_bytes(drawn(tab, made, picture))
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
