"""Build the documentation in build/site: what `make docs` runs.

    python scripts/docs.py

A broken link is an error, and so is a page that would load anything from another host.
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
"""Elements that load something, and the attribute that says from where."""
ELSEWHERE = re.compile(r"(?:https?:)?//")
IN_STYLES = re.compile(r"url\(\s*[\"']?((?:https?:)?//[^)\"']+)|@import\s+[\"']([^\"']+)")


class Loads(HTMLParser):
    """Collects the addresses on other hosts that a page loads from. Links may go there."""

    def __init__(self) -> None:
        """Nothing is found yet."""
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one element."""
        address = dict(attrs).get(LOADED.get(tag, "")) or ""
        if ELSEWHERE.match(address):
            self.found.append(address)


def loaded_from_elsewhere(site: Path) -> Iterator[tuple[Path, str]]:
    """Files of a site, and the address on another host that each loads."""
    for path in sorted(site.rglob("*.html")):
        page = Loads()
        page.feed(path.read_text(encoding="utf-8"))
        yield from ((path, address) for address in page.found)
    for path in sorted(site.rglob("*.css")):
        for match in IN_STYLES.finditer(path.read_text(encoding="utf-8")):
            yield path, match[1] or match[2]


def main() -> int:
    """Build, then look at what was built."""
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
