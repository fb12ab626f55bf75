"""The page in a headless Chromium: it draws without a complaint, hover and links work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.browser import Tab, browser
from helpers.hostile_names import HOSTILE, hostile_net
from helpers.networks.zoo import build
from helpers.small_models import small_net
from npu_tools.commands import report

TINY = 'name = "tiny"\nsram_bytes = 240\nflash_bytes = 99999\n'
PLOTS = ("plot-memory", "plot-roof", "plot-time")


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def small_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    return page_of(small_net().SerializeToString(), folder, "exynos-npu")


def page_of(model: bytes, folder: Path, target: str, *options: str) -> Path:
    path, page = folder / "net.onnx", folder / "page.html"
    path.write_bytes(model)
    assert report.main(["html", str(path), "--target", target, "-o", str(page), *options]) == 0
    return page


def hovered(tab: Tab, plot: str, place: int = 0) -> str:
    """The text that a plot shows when the pointer is over one of its marks."""
    marks = f"#{plot} .point path, #{plot} path.point"
    spot = tab.run(
        "const e = document.querySelectorAll(arguments[0])[arguments[1]];"
        "document.getElementById(arguments[2]).scrollIntoView({block: 'center'});"
        "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]",
        *(marks, place, plot),
    )
    tab.point(*spot)
    return tab.run(
        "const e = document.querySelector('#' + arguments[0] + ' .hoverlayer');"
        "return e.textContent",
        plot,
    )


@pytest.mark.slow
def test_page_is_drawn_and_answers(tab: Tab, small_page: Path) -> None:
    tab.looks(1280)
    tab.open(small_page)
    for plot in PLOTS:
        assert tab.run(
            "return document.querySelectorAll(arguments[0]).length", f"#{plot} .main-svg"
        )
    text = hovered(tab, "plot-memory")
    assert "bytes at" in text
    tab.run(
        "const click = new MouseEvent('click', {bubbles: true}); $('node-1').dispatchEvent(click)"
    )
    assert tab.run("return location.hash") == "#layer-1"
    assert tab.complaints() == []


@pytest.mark.slow
def test_a_layer_is_linked_through_all_parts(tab: Tab, small_page: Path) -> None:
    tab.looks(1280)
    tab.open(small_page, "#layer-1")
    chosen = "return [...document.querySelectorAll('.is-chosen')].map((e) => e.id).filter(Boolean)"
    assert tab.run(chosen) == ["node-1", "layer-1"]
    assert tab.run("return document.querySelector('#chosen h3').textContent") == "dense2"
    steps = tab.run(
        "return [...document.querySelectorAll('#steps button')].map((e) => e.innerText)"
    )
    lowered = next(at for at, name in enumerate(steps) if name.startswith("npu-lower-to-loops"))
    tab.run("document.querySelectorAll('#steps button')[arguments[0]].click()", lowered)
    mine = "return [...document.querySelectorAll('#{} .is-mine')].map((e) => e.textContent)"
    lines = tab.run(mine.format("ir-text"))
    assert any("func.func private @dense2" in line for line in lines)
    assert not any("@conv1" in line for line in lines)
    source = tab.run(mine.format("code-text"))
    assert any("dense2" in line for line in source)
    assert not any("net_conv1(" in line for line in source)
    tab.run("document.querySelector('#layer-0 td a').click()")
    assert tab.run("return document.querySelector('#chosen h3').textContent") == "conv1"
    assert any("net_conv1(" in line for line in tab.run(mine.format("code-text")))
    assert tab.complaints() == []


@pytest.mark.slow
def test_clicks_on_plots_choose_layers(tab: Tab, small_page: Path) -> None:
    tab.looks(1280)
    tab.open(small_page)
    for plot in PLOTS:
        tab.run(
            "const p = document.getElementById(arguments[0]);"
            "const customdata = p.data[arguments[1]].customdata[0];"
            "p.emit('plotly_click', {points: [{customdata}]})",
            *(plot, 1 if plot == "plot-roof" else 0),
        )
        assert tab.run("return page.chosen") is not None, plot
        tab.run("page.chosen = null")
    assert tab.run("return document.getElementById('box-facts').innerText").startswith(("p1", "r2"))
    tab.run("document.querySelector('th button[data-key=macs]').click()")
    macs = tab.run(
        "const rows = [...document.querySelectorAll('#layer-table tbody tr')];"
        "return rows.map((row) => row.cells[3].innerText)"
    )
    numbers = [int(text.replace(",", "")) for text in macs]
    assert numbers == sorted(numbers, reverse=True)
    assert tab.complaints() == []


@pytest.mark.slow
def test_hostile_names_in_the_browser(tab: Tab, tmp_path: Path) -> None:
    page = page_of(hostile_net().SerializeToString(), tmp_path, "fe310")
    tab.looks(1280)
    tab.open(page, "#layer-1")
    assert tab.run("return document.querySelectorAll('img, main script').length") == 0
    assert tab.run("return document.querySelector('#chosen h3').textContent") == HOSTILE[1]
    assert tab.run("return document.querySelector('#layer-0 td').textContent") == HOSTILE[0]
    texts = [hovered(tab, "plot-memory", place) for place in range(5)]
    for name in HOSTILE[1:]:
        assert any(name in text for text in texts), name
    assert tab.run("return document.querySelectorAll('.plot a, .plot image').length") == 0
    assert tab.complaints() == []


@pytest.mark.slow
def test_no_width_is_too_small(tab: Tab, small_page: Path, tmp_path: Path) -> None:
    tiny = tmp_path / "tiny.toml"
    tiny.write_text(TINY)
    misfit = page_of(small_net().SerializeToString(), tmp_path, str(tiny))
    seen: set[bytes] = set()
    for page in (small_page, misfit):
        for width in (1280, 390):
            for dark in (False, True):
                tab.looks(width, dark=dark)
                tab.open(page)
                assert tab.run("return document.documentElement.scrollWidth") == width
                seen.add(tab.picture())
    assert len(seen) == 8
    assert tab.complaints() == []


@pytest.mark.slow
def test_page_of_a_large_network(tab: Tab, tmp_path: Path) -> None:
    model = build("inception_v3", bias=False).SerializeToString()
    page = page_of(model, tmp_path, "exynos-npu", "--plan-as", "i8")
    assert page.stat().st_size < 3_000_000
    tab.looks(1280)
    tab.open(page)
    labels = tab.run(
        "return [...document.querySelectorAll('#plot-memory .textpoint text')].map((e) => {"
        "const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom] })"
    )
    assert len(labels) > 8
    for place, (left, top, right, bottom) in enumerate(labels):
        for other in labels[:place]:
            assert left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom
    assert tab.run("return document.querySelectorAll('.frame.module').length") == 11
    assert tab.complaints() == []
