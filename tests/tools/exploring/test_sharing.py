"""Rows of a sweep, which shares what passes have done, are those of points computed alone."""

import random
from pathlib import Path

import pytest

from helpers.networks.zoo import TINY, build
from helpers.small_models import SaveModel
from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_tools.compiling.driver import Job, job_passes, run_passes
from npu_tools.exploring.columns import RESULT_COLUMNS, Row, row_of
from npu_tools.exploring.engine import bundles, run
from npu_tools.exploring.evaluating import failed, planning, results_of, sizes_in, times_in
from npu_tools.exploring.packages import package
from npu_tools.exploring.points import Point, imported, with_options
from npu_tools.exploring.pools import Here
from npu_tools.exploring.store import Store
from npu_tools.shared.errors import diagnostic_of

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

TIGHT = (960, 1152, 1216, 1664)
"""Memories in bytes that a small ResNet-8 fills, so that offsets count from their ends."""


def alone(point: Point) -> Row:
    """The row of a point that shares nothing with others."""
    module = imported(point.job)[0].module
    TARGET.set(module, TargetAttr.of(point.machine))
    try:
        run_passes(module, planning(job_passes(point.job, point.machine)), ())
        results = results_of(sizes_in(module), times_in(module), point.machine)
    except Exception as error:
        results = failed(diagnostic_of(error))
    return row_of(point, results)


def check(model: Path, target: str, pipelines: tuple[str, ...], count: int, seed: int) -> None:
    rng = random.Random(seed)
    job = Job(model, target, plan_as="i8")
    digest = imported(job)[1]
    points = [
        Point(
            with_options(job, {"pipeline": pipeline}),
            Machine.load(target, {"sram_bytes": size, "dma_bytes_per_cycle": rng.choice((1, 4))}),
            digest,
        )
        for pipeline in pipelines
        for size in {round(2 ** rng.uniform(7, 18)) for _ in range(count)}
    ]
    rng.shuffle(points)
    store = Store(model.parent / f"store{seed}")
    run(points, store, Here())
    rows = store.rows([point.key for point in points])
    store.close()
    for point in points:
        expected = alone(point)
        differing = {key for key in RESULT_COLUMNS if rows[point.key][key] != expected[key]}
        where = f"{point.options} {point.machine}"
        assert not differing, (where, [(rows[point.key][k], expected[k]) for k in differing])


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes whose questions cannot be watched fail here; elsewhere they only take longer."""

    def refuse(*args: object) -> None:
        raise AssertionError("a pass used a number of the machine that nothing can watch")

    monkeypatch.setattr("npu_tools.exploring.evaluating.run_passes", refuse)


@pytest.mark.slow
def test_rows_of_a_chain(lenet5: Path, target: str) -> None:
    package("pyarrow")
    check(lenet5, target, ("off-chip",), 3, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "pipeline"), [("inception_small", "off-chip"), ("resnet8", "tails")]
)
def test_rows_of_networks_with_branches(
    name: str, pipeline: str, save: SaveModel, target: str
) -> None:
    check(save(build(name, **TINY[name])), target, (pipeline,), 2, seed=2)


def test_tight_plans_are_watched(save: SaveModel) -> None:
    model = save(build("resnet8", **TINY["resnet8"]))
    job = Job(model, "exynos-npu", plan_as="i8")
    digest = imported(job)[1]
    points = [Point(job, Machine.load("exynos-npu", {"sram_bytes": n}), digest) for n in TIGHT]
    store = Store(model.parent / "store")
    run(points, store, Here())
    rows = store.rows([point.key for point in points])
    store.close()
    assert [row["status"] for row in rows.values()] == ["ok"] * len(TIGHT)


def test_points_that_share_passes_go_together() -> None:
    job = Job(Path("model.onnx"), "exynos-npu", plan_as="i8")
    points = [
        Point(
            with_options(job, {"pipeline": pipeline}),
            Machine.load("exynos-npu", {"sram_bytes": size, "dma_bytes_per_cycle": rate}),
            "0" * 32,
        )
        for size in (4096, 3072, 2048, 1024)
        for pipeline in ("off-chip", "tails")
        for rate in (4, 8)
    ]

    def sizes(threads: int) -> list[tuple[int, int]]:
        return [(each[0].machine.sram_bytes, len(each)) for each in bundles(points, threads)]

    assert sizes(2) == [(4096, 4), (1024, 4), (2048, 4), (3072, 4)]
    assert [number for _, number in sizes(3)] == [2] * 8
    assert [size for size, _ in sizes(3)] == [4096, 1024, 1024, 2048, 2048, 3072, 3072, 4096]
