"""A headless Chromium for tests of HTML pages; without one they are skipped, or fail if CI=true."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

BROWSERS, DRIVER = ("chromium", "google-chrome"), "chromedriver"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    "--hide-scrollbars",
)
SECONDS = 60
"""How long a page may take until it is drawn."""


@dataclass(frozen=True)
class Tab:
    """A browser with one page."""

    driver: Any
    """Any: selenium's own types are not complete."""

    def open(self, page: Path, anchor: str = "") -> None:
        """Open a page and wait until it is drawn."""
        self.driver.get("about:blank")
        self.driver.get(f"{page.resolve().as_uri()}{anchor}")
        end = time.monotonic() + SECONDS
        while not self.run("return document.documentElement.dataset.ready || null"):
            assert time.monotonic() < end, f"not drawn: {self.complaints()}"
            time.sleep(0.05)

    def run(self, script: str, *arguments: Any) -> Any:
        """The result of a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """What stands on the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def hover(self, selector: str) -> None:
        """Move the pointer over the middle of an element."""
        spot = self.run(
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]",
            selector,
        )
        self.point(*spot)

    def point(self, x: float, y: float) -> None:
        """Move the pointer to a place of the window."""
        for shift in (1, 0):  # a plot looks at moves
            where = {"type": "mouseMoved", "x": x + shift, "y": y + shift}
            self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", where)
            time.sleep(0.15)

    def looks(self, width: int, *, dark: bool = False, height: int = 900) -> None:
        """Change the size of the window, and whether the user prefers dark pages."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def picture(self) -> bytes:
        """The window as a PNG file."""
        return self.driver.get_screenshot_as_png()


@contextmanager
def browser() -> Generator[Tab]:
    """A browser; it ends with the block."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None or shutil.which(DRIVER) is None:
        message = "no browser: apt-get install chromium chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    options = Options()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which(DRIVER)))
    try:
        yield Tab(driver)
    finally:
        driver.quit()
