"""scripts/docs.py finds what a page loads from other hosts."""

import runpy
from pathlib import Path

import pytest

from helpers.paths import ROOT

loads = runpy.run_path(str(ROOT / "scripts" / "docs.py"))["loaded_from_elsewhere"]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.html", '<script src="https://a.example/x.js"></script>', ["https://a.example/x.js"]),
        ("a.html", '<link rel="stylesheet" href="//a.example/x.css">', ["//a.example/x.css"]),
        ("a.html", '<img src="images/x.svg"><a href="https://a.example/">x</a>', []),
        ("a.css", "a { background: url('https://a.example/x.png') }", ["https://a.example/x.png"]),
        ("a.css", "a { background: url(x.png) }", []),
    ],
)
def test_addresses_on_other_hosts(tmp_path: Path, name: str, text: str, found: list[str]) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert list(loads(tmp_path)) == [(path, address) for address in found]
