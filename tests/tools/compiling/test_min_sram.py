"""npu-compile --find-min-sram: the search on numbers, and on networks."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, helper
from xdsl.utils.exceptions import DiagnosticException

from helpers.small_models import SaveModel, model_of
from npu_dialect.machine_values import MOST
from npu_tools.commands import compile
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.compiling.min_sram import STEPS, Trial, find_min_sram, search

NEEDED = (
    "npu-fold-batch-norm,npu-fuse-rows{when=needed},npu-bufferize,npu-assign-sram-offsets,"
    "npu-outline-layers,npu-lower-to-loops"
)


def trials(arena: Callable[[int], int], tried: list[int] | None = None) -> Callable[[int], Trial]:
    """A trial that needs `arena(size)` bytes of a memory of `size` bytes."""

    def attempt(sram: int) -> Trial:
        if tried is not None:
            tried.append(sram)
        need = arena(sram)
        return Trial(need if need <= sram else None, decisions=str(sram))

    return attempt


@given(st.integers(1, 10**7), st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_search_finds_a_threshold(need: int, waste: int) -> None:
    tried: list[int] = []
    # if there is more than `need`, the passes use up to `waste` bytes of it
    found = search(trials(lambda sram: max(need, min(sram, need + waste)), tried))
    assert found == need
    assert len(tried) == len(set(tried)), "each size is tried once"


def test_search_goes_on_where_a_smaller_size_works() -> None:
    # with 500 to 899 bytes the passes decide badly, and need 950
    assert search(trials(lambda sram: 950 if 500 <= sram < 900 else 400)) == 400
    assert search(trials(lambda _: 1)) == 1
    assert search(trials(lambda sram: MOST if sram < MOST else 5)) == MOST


def test_search_without_decisions_takes_the_arena() -> None:
    tried: list[int] = []

    def attempt(sram: int) -> Trial:
        tried.append(sram)
        return Trial(123 if sram >= 123 else None, decisions="the same")

    assert search(attempt) == 123
    assert tried == [MOST, 1]


def test_search_keeps_the_traffic() -> None:
    def attempt(sram: int) -> Trial:
        return Trial(min(sram, 700), traffic=max(0, 700 - sram), decisions=str(sram))

    assert search(attempt) == 700


def deep() -> ModelProto:
    """Three convolutions with large maps between them."""
    random = np.random.default_rng(1)
    shapes = {"w1": (4, 1, 3, 3), "w2": (4, 4, 3, 3), "w3": (1, 4, 3, 3)}
    weights = {k: random.standard_normal(v, dtype=np.float32) for k, v in shapes.items()}
    values = ["input", "a", "b", "c"]
    nodes = [
        helper.make_node("Conv", [values[i], f"w{i + 1}"], [values[i + 1]], f"conv{i + 1}")
        for i in range(3)
    ]
    return model_of(nodes, weights, (1, 1, 16, 16), "c")


def fits(path: Path, sram: int, pipeline: str) -> bool:
    """Whether npu-compile accepts a machine with that much SRAM."""
    machine = path.parent / "chip.toml"
    machine.write_text(f'name = "chip"\nsram_bytes = {sram}\nflash_bytes = 99999\n')
    try:
        compile_model(Job(path, str(machine), pipeline=pipeline))
    except DiagnosticException:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", ["default", "rows", "naive", NEEDED])
def test_one_byte_less_does_not_fit(save: SaveModel, pipeline: str) -> None:
    path = save(deep())
    found = find_min_sram(Job(path, "host", pipeline=pipeline))
    assert fits(path, found, pipeline)
    assert not fits(path, found - 1, pipeline)


def test_rows_are_taken_where_they_are_needed(save: SaveModel) -> None:
    path = save(deep())
    whole = find_min_sram(Job(path, "host"))
    rows = find_min_sram(Job(path, "host", pipeline=NEEDED))
    assert rows < whole
    assert not any(fits(path, rows * part // STEPS, NEEDED) for part in range(1, STEPS))


def test_printed_and_reported(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = small.parent / "out"
    run = [str(small), "--target", "fe310", "-o", str(out), "--find-min-sram"]
    assert compile.main(run) == 0
    said = capsys.readouterr()
    assert "smallest SRAM: 276 bytes\n" in said.out
    assert said.err == "", "no progress where nobody looks"
    assert json.loads((out / "report.json").read_text())["min_sram_bytes"] == 276
    assert compile.main([*run, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["min_sram_bytes"] == 276


def test_the_size_is_that_of_one_memory(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The board has three; the same network needs as many bytes on a machine with one."""
    run = [str(small), "--target", "stm32h743", "-o", str(small.parent / "out"), "--find-min-sram"]
    assert compile.main(run) == 0
    instead = ", as one memory in place of dtcm, axi, sram123"
    assert f"smallest SRAM: 276 bytes{instead}\n" in capsys.readouterr().out


def test_number_is_said_of_a_network_that_does_not_fit(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fits(small, 250, "default")
    run = [str(small), "--target", str(small.parent / "chip.toml"), "--find-min-sram"]
    assert compile.main(run) == 1
    said = capsys.readouterr()
    assert said.out == "smallest SRAM: 276 bytes\n"
    assert "276 bytes of SRAM needed, 250 available" in said.err


def test_pipeline_without_a_plan(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = [str(small), "--target", "host", "--find-min-sram", "--pipeline", "npu-fold-batch-norm"]
    assert compile.main(run) == 1
    assert "expected a pipeline that plans memory" in capsys.readouterr().err


def split() -> ModelProto:
    """Two convolutions side by side, concatenated, and one behind them."""
    square = np.ones((16, 16, 1, 1), np.float32)
    weights = {"w": square, "u": 2 * square, "v": np.ones((16, 32, 1, 1), np.float32)}
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["x"], "stem"),
        helper.make_node("Conv", ["x", "w"], ["a"], "left"),
        helper.make_node("Conv", ["x", "u"], ["b"], "right"),
        helper.make_node("Concat", ["a", "b"], ["ab"], "concat", axis=1),
        helper.make_node("Conv", ["ab", "v"], ["y"], "head"),
    ]
    return model_of(nodes, weights, (1, 16, 16, 16), "y")


def test_modules_move_no_more_than_with_all_the_sram(save: SaveModel) -> None:
    path = save(split())
    text = resources.files("npu_dialect.targets").joinpath("exynos-npu.toml").read_text()
    chip = path.parent / "chip.toml"

    def moved(sram: int) -> int | None:
        chip.write_text(text.replace("sram_bytes = 1048576", f"sram_bytes = {sram}"))
        try:
            found = compile_model(Job(path, str(chip), pipeline="kim2019", plan_as="i8"))
        except DiagnosticException:
            return None
        traffic = found.report.off_chip
        return traffic.feature_map_read_bytes + traffic.feature_map_write_bytes

    found = find_min_sram(Job(path, "exynos-npu", pipeline="kim2019", plan_as="i8"))
    assert found < 1048576
    assert moved(found) == moved(2**40)
    assert moved(found - 1) != moved(2**40)


def test_progress_on_a_terminal(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert find_min_sram(Job(small, "fe310")) == 276
    said = capsys.readouterr().err
    assert "trying 1 bytes of SRAM" in said
    assert said.endswith("\r\x1b[K"), "nothing of it is left"
