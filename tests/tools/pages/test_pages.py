"""npu-report html and npu-compile --html: what the page says, its files, wrong input."""

import gzip
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.hostile_names import HOSTILE, hostile_net
from helpers.small_models import SaveModel
from npu_tools.commands import compile, report

TINY = 'name = "tiny"\nsram_bytes = 240\nflash_bytes = 99999\n'


class Reader(HTMLParser):
    """The texts and the tags of a page; scripts and packed data are kept apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.packed: dict[str, str] = {}
        self.inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id", "") if tag in ("script", "style") else None

    def handle_endtag(self, tag: str) -> None:
        self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside is None:
            self.said.append(data)
        elif self.inside:
            self.packed[self.inside] = data

    @property
    def text(self) -> str:
        """All texts, with single spaces."""
        return " ".join(" ".join(self.said).split())

    def unpacked(self, name: str) -> Any:
        """The data of a script."""
        return json.loads(gzip.decompress(b64decode(self.packed[name])))


def page_of(model: Path, *options: str, target: str = "fe310") -> Reader:
    path = model.parent / "page.html"
    assert report.main(["html", str(model), "--target", target, "-o", str(path), *options]) == 0
    return Reader(path.read_text(encoding="utf-8"))


def test_a_network_that_fits(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of(small)
    assert "net.onnx on fe310: fits: 276 of 16384 bytes" in capsys.readouterr().out
    assert "Fits 276 of 16,384 bytes of SRAM, 1.68 %" in page.text
    assert "Bound 276 bytes" in page.text
    data = page.unpacked("data")
    assert [layer["name"] for layer in data["layers"]] == ["conv1", "dense2", "dense3"]
    boxes = {box["name"]: box for box in data["map"]["boxes"]}
    assert boxes["p1"]["type"] == "1x3x3x3xf32"
    shared = [data["map"]["boxes"][place]["name"] for place in boxes["p1"]["shares"]]
    assert shared == ["input"]
    assert data["map"]["peak"] == 0
    assert data["timeline"]["rows"] == ["core"]
    assert [row["cycles"] for row in data["layers"]] == [bar[4] for bar in data["timeline"]["bars"]]
    steps = page.unpacked("ir-data")
    assert steps["steps"][0]["name"] == "import"
    assert set(steps["c"]["layers"]) == {"conv1", "dense2", "dense3"}


def test_the_page_loads_nothing_and_is_the_same_again(small: Path) -> None:
    page = page_of(small)
    for tag, marks in page.tags:
        assert "src" not in marks, (tag, marks)
        assert (marks.get("href") or "#").startswith("#"), (tag, marks)
    [policy] = [m["content"] for _, m in page.tags if m.get("http-equiv") is not None]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    one = (small.parent / "page.html").read_bytes()
    page_of(small)
    assert (small.parent / "page.html").read_bytes() == one
    assert len(one) < 2_100_000


def test_a_network_that_does_not_fit(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = small.parent / "tiny.toml"
    tiny.write_text(TINY)
    page = page_of(small, target=str(tiny))
    assert "does not fit: 276 of 240 bytes" in capsys.readouterr().out
    assert "Does not fit 276 of 240 bytes of SRAM: 36 too many" in page.text
    assert "276 bytes of SRAM needed, 240 available on tiny" in page.text
    assert re.search(r"What would fit .*int8 \(npu-quantize\) [\d,]+ 240", page.text)
    assert page.unpacked("data")["map"]["sram"] == 240


def test_hostile_names_stay_text(save: SaveModel) -> None:
    page = page_of(save(hostile_net()))
    assert not any(tag == "img" or "onerror" in marks for tag, marks in page.tags)
    assert sum(tag == "script" for tag, _ in page.tags) == 4
    assert HOSTILE[0] in page.text
    assert "{{ 7 * 7 }}" in page.text
    data = page.unpacked("data")
    assert [layer["name"] for layer in data["layers"]] == list(HOSTILE)
    assert set(page.unpacked("ir-data")["c"]["layers"]) == set(HOSTILE)
    assert HOSTILE[3] in page.unpacked("ir-data")["steps"][0]["layers"]


def test_traffic_stands_beside_naive_and_paper(small: Path) -> None:
    rows = page_of(small, target="exynos-npu").unpacked("data")["traffic"]
    assert [row["name"] for row in rows] == ["layer by layer", "paper 001", "as compiled"]
    assert rows[0]["share"] == 100
    assert rows[2]["all"] < rows[0]["all"]


def test_two_builds_side_by_side(small: Path) -> None:
    folder = small.parent
    other = ["--target", "fe310", "--pipeline", "naive", "-o", str(folder / "other")]
    assert compile.main([str(small), *other, "--html", str(folder / "other.html")]) == 0
    page = page_of(small, "--against", str(folder / "other" / "report.json"))
    naive = json.loads((folder / "other" / "report.json").read_text())
    assert f"arena, bytes 276 {naive['arena_bytes']:,}" in page.text
    assert page.unpacked("data")["against"] == naive["memory_map"]
    assert "relu1" in page.text  # a layer that only the other build has


def test_a_report_without_a_map_is_compared_too(small: Path) -> None:
    folder = small.parent
    assert compile.main([str(small), "--target", "fe310", "-o", str(folder / "other")]) == 0
    page = page_of(small, "--against", str(folder / "other" / "report.json"))
    assert "has no memory map" in page.text
    assert "arena, bytes 276 276 =" in page.text


def test_zero_blocks_are_where_the_samples_have_them(save: SaveModel, tmp_path: Path) -> None:
    data, model = tmp_path / "data.npz", save(hostile_net())
    np.savez(data, input=np.zeros((1, 1, 8, 8), np.float32))
    page = page_of(model, "--zero-blocks", str(data))
    assert "Measured on the samples" in page.text
    found = page.unpacked("data")["zeros"]
    assert [row["layer"] for row in found] == list(HOSTILE)
    assert {json.dumps(row["grid"]) for row in found} == {"[[100, 100], [100, 100]]"}


@pytest.mark.parametrize(
    ("name", "message"), [("wrong", "expected"), ("input", "expected a map with at least 4 rows")]
)
def test_samples_that_do_not_fit(
    small: Path, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data, page = small.parent / "data.npz", small.parent / "page.html"
    arrays: dict[str, Any] = {name: np.zeros((1, 1, 8, 8), np.float32)}
    np.savez(data, **arrays)
    run = ["html", str(small), "--target", "fe310", "-o", str(page), "--zero-blocks", str(data)]
    assert report.main(run) == 1
    assert message in capsys.readouterr().err
    assert not page.exists()


def test_plan_of_the_paper_has_no_map(small: Path) -> None:
    page = page_of(small, "--pipeline", "kim2019", "--plan-as", "i8", target="exynos-npu")
    assert page.unpacked("data")["map"] is None
    assert not any(marks.get("id") == "memory" for _, marks in page.tags)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "the following arguments are required: --target"),
        (["--target", "fe310", "--against", "missing.json"], "missing.json: No such file"),
        (["--target", "fe310", "--against", "text.json"], "text.json: expected a report.json, got"),
        (["--target", "fe310", "--against", "list.json"], "list.json: expected a report.json of"),
        (["--target", "fe310", "--against", "odd.json"], "npu-compile, with layers"),
        (["--target", "fe310", "--against", "map.json"], "npu-compile, with memory_map"),
        (["--target", "nowhere"], "nowhere"),
        (["--target", "fe310", "--pipeline", "no-such-pass"], "no-such-pass"),
        (["--target", "fe310", "--emit", "cmake"], "unrecognized arguments: --emit cmake"),
    ],
)
def test_wrong_input_is_one_message(
    small: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(small.parent)
    Path("text.json").write_text("no JSON")
    Path("list.json").write_text("[1, 2]")
    odd: dict[str, Any] = {
        "model": "m",
        "arena_bytes": 1,
        "layers": [7],
        "memory": {},
        "off_chip": {},
    }
    Path("odd.json").write_text(json.dumps(odd))
    Path("map.json").write_text(json.dumps({**odd, "layers": [], "memory_map": {"boxes": [{}]}}))
    before = sorted(small.parent.rglob("*"))
    assert report.main(["html", str(small), "-o", "page.html", *options]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert sorted(small.parent.rglob("*")) == before


def test_against_needs_html(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile.main([str(small), "--target", "fe310", "--against", "other.json"]) == 1
    assert "--against is for --html" in capsys.readouterr().err


def test_a_missing_package_is_named(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npu_tools.pages.packing.NEEDED", ("no-such-package",))
    page = small.parent / "page.html"
    assert report.main(["html", str(small), "--target", "fe310", "-o", str(page)]) == 1
    assert "needs no-such-package: pip install 'npu-dialect[report]'" in capsys.readouterr().err
    assert not page.exists()
