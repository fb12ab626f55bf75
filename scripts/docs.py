"""Builds the documentation in build/site: `make docs` runs this.

    python scripts/docs.py

A broken link is an error, and so is a page that loads anything from another host.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
LOADED = {
    "audio": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "script": "src",
    "source": "src",
    "video": "src",
}
"""The HTML elements that load something, with the attribute that holds its address."""
ELSEWHERE = re.compile(r"(?:https?:)?//")
IN_STYLES = re.compile(r"url\(\s*[\"']?((?:https?:)?//[^)\"']+)|@import\s+[\"']([^\"']+)")


class Loads(HTMLParser):
    """Collects the addresses on other hosts from which a page loads; links do not count."""

    def __init__(self) -> None:
        """Start with no addresses."""
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the address that one element loads, if it is on another host."""
        address = dict(attrs).get(LOADED.get(tag, "")) or ""
        if ELSEWHERE.match(address):
            self.found.append(address)


def loaded_from_elsewhere(site: Path) -> Iterator[tuple[Path, str]]:
    """The addresses on other hosts that a site loads, each after the file that loads it."""
    for path in sorted(site.rglob("*.html")):
        page = Loads()
        page.feed(path.read_text(encoding="utf-8"))
        yield from ((path, address) for address in page.found)
    for path in sorted(site.rglob("*.css")):
        for match in IN_STYLES.finditer(path.read_text(encoding="utf-8")):
            yield path, match[1] or match[2]


def main() -> int:
    """Build the site, then check what its pages load; returns the exit code."""
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet")
    if code := subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
        return code
    found = list(loaded_from_elsewhere(SITE))
    for path, address in found:
        print(f"{path.relative_to(ROOT)}: loads {address}")
    if not found:
        print(f"{SITE.relative_to(ROOT)}: {len(list(SITE.rglob('*.html')))} pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
