"""The front of a sweep, and its page."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_tools.exploring.columns import COLUMNS
from npu_tools.exploring.front import front_of, is_best, objectives_of
from npu_tools.exploring.packages import Frame, package
from npu_tools.exploring.picture import write_page
from npu_tools.shared.errors import UserError

pytest.importorskip("pandas")

HOSTILE = "<img src=x onerror=alert(1)>.onnx"


def frame(*rows: dict[str, Any], model: str = "a") -> Frame:
    whole = [
        {
            **dict.fromkeys(COLUMNS),
            **{"key": f"{index:032}", "model": model, "model_digest": model, "status": "ok"},
            **row,
        }
        for index, row in enumerate(rows)
    ]
    return package("pandas").DataFrame(whole)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), max_size=20))
@settings(max_examples=60, deadline=None)
def test_what_is_best_is_what_nothing_beats(costs: list[tuple[int, int, int]]) -> None:
    lines = np.array(costs, dtype=np.float64).reshape(-1, 3)
    expected = [
        not any(all(a <= b for a, b in zip(other, one)) and other != one for other in costs)
        for one in costs
    ]
    assert is_best(lines).tolist() == expected


def test_the_front_knows_directions_models_and_failures() -> None:
    rows = frame(
        {"cycles": 10, "frames_per_second": 1.0},
        {"cycles": 10, "frames_per_second": 2.0},
        {"cycles": 20, "frames_per_second": 3.0},
        {"cycles": 1, "frames_per_second": 9.0, "status": "failed"},
        {"cycles": None, "frames_per_second": 9.0},
        {"cycles": 99, "frames_per_second": 0.1, "model": "b", "model_digest": "b"},
    )
    front = front_of(rows, objectives_of("cycles,-frames_per_second"))
    assert [int(key) for key in front.key] == [1, 2, 5]
    with pytest.raises(UserError, match="unknown objective 'model'"):
        objectives_of("cycles,model")


def test_the_page_holds_all_points_and_escapes_names(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    rows = frame(
        {"cycles": 10, "sram_bytes": 4096, "energy_pj": 3.5, "arena_bytes": 77},
        {"cycles": 20, "sram_bytes": 4096},
        {"status": "failed", "diagnostic": "too small"},
        model=HOSTILE,
    )
    path = tmp_path / "deep" / "page.html"
    path.parent.mkdir()
    aims = objectives_of("cycles,sram_bytes,energy_pj")
    write_page(path, rows, aims[:2], ["sram_bytes"], tmp_path / "store")
    text = path.read_text()
    assert "3 points, 1 on the front, 1 failed" in text
    assert "arena_bytes: 77" in text
    assert f'<a href="../store/_reports/{0:032}.html">' in text
    assert HOSTILE not in text
    assert "&lt;img src=x" in text
    assert 'src="http' not in text, "the page opens without a network"
