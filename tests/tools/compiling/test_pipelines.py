"""Small networks compute the same after every pass of every named pipeline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.pipelines import PIPELINES
from npu_tools.compiling.check import MeaningCheck, relative_error
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import available_passes, context


@dataclass(frozen=True)
class Step:
    """One layer of a chain: its text behind `%n = `, and the shape of its result."""

    text: Callable[[str, Sequence[int], Sequence[int]], str]
    shape: Callable[[Sequence[int]], tuple[int, ...] | None]


def tensor(shape: Sequence[int]) -> str:
    """The type of a map."""
    return str(TensorType(Float32Type(), shape))


def unary(op: str) -> Step:
    """A layer that keeps the shape."""
    return Step(
        lambda x, i, o: f"{op} {x} : {tensor(i)} -> {tensor(o)}", lambda shape: tuple(shape)
    )


def conv(filters: int, kernel: int, pad: int) -> Step:
    """A convolution with constant weights."""

    def shape(ifm: Sequence[int]) -> tuple[int, ...] | None:
        size = [extent + 2 * pad - kernel + 1 for extent in ifm[2:]]
        return (ifm[0], filters, *size) if len(ifm) == 4 and min(size) > 0 else None

    def text(x: str, ifm: Sequence[int], ofm: Sequence[int]) -> str:
        weight = [filters, ifm[1], kernel, kernel]
        return (
            f"npu.conv2d {x}, {x}w strides [1, 1] pads [{pad}, {pad}, {pad}, {pad}]"
            f" : ({tensor(ifm)}, {tensor(weight)}) -> {tensor(ofm)}"
        )

    return Step(text, shape)


def pool(kind: str, kernel: int, stride: int) -> Step:
    """A pooling layer; its windows overlap if the stride is below the kernel."""

    def shape(ifm: Sequence[int]) -> tuple[int, ...] | None:
        size = [(extent - kernel) // stride + 1 for extent in ifm[2:]]
        return (*ifm[:2], *size) if min(ifm[2:]) >= kernel else None

    return Step(
        lambda x, i, o: (
            f"npu.{kind}_pool2d {x} kernel [{kernel}, {kernel}] "
            f"strides [{stride}, {stride}] : {tensor(i)} -> {tensor(o)}"
        ),
        shape,
    )


STEPS = {
    "relu": unary("npu.relu"),
    "conv1": conv(2, 1, 0),
    "conv3": conv(2, 3, 1),
    "max": pool("max", 2, 2),
    "overlapping max": pool("max", 3, 2),
    "average": pool("avg", 2, 2),
}


def network(names: Sequence[str]) -> ModuleOp:
    """A chain of steps on a small map; steps that do not fit are left out."""
    random = np.random.default_rng(len(names))
    shape: tuple[int, ...] = (1, 2, 6, 5)
    lines: list[str] = []
    values = ["%x"]
    for name in names:
        step, value = STEPS[name], values[-1]
        after = step.shape(shape)
        if after is None:
            continue
        if name.startswith("conv"):
            kernel = int(name[-1])
            weight = (after[1], shape[1], kernel, kernel)
            data = random.standard_normal(weight, dtype=np.float32).tolist()
            lines.append(f"{value}w = arith.constant dense<{data}> : {tensor(weight)}")
        values.append(f"%v{len(values)}")
        lines.append(f"{values[-1]} = {step.text(value, shape, after)}")
        shape = after
    body = "\n  ".join(lines)
    text = (
        f"func.func @net(%x: {tensor((1, 2, 6, 5))}) -> {tensor(shape)} {{\n  {body}\n"
        f"  func.return {values[-1]} : {tensor(shape)}\n}}"
    )
    return Parser(context(), text).parse_module()


def small_npu() -> TargetAttr:
    """A machine with DMA, too small for a whole map, that stores maps in patches."""
    return TargetAttr.of(replace(Machine.load("exynos-npu"), sram_bytes=800))


def run_checked(module: ModuleOp, pipeline: str) -> MeaningCheck:
    """Run a pipeline, and check after each pass that the module computes the same."""
    if "npu-tile-loops" in PIPELINES.get(pipeline, PIPELINES["default"]).text:
        TARGET.set(module, small_npu())
    check = MeaningCheck(seed=3)
    PassPipeline(parse_passes(available_passes(), pipeline), check.callback).apply(
        context(), module
    )
    return check


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_small_lenet(pipeline: str) -> None:
    check = run_checked(network(["conv3", "relu", "max", "conv1", "relu"]), pipeline)
    assert check.expected is not None
    assert len(check.expected) == 1


@pytest.mark.parametrize("overlap", ["line-buffer", "recompute", "none"])
def test_overlapping_windows(overlap: str) -> None:
    pipeline = PIPELINES["default"].text.replace("line-buffer", overlap)
    run_checked(network(["conv3", "relu", "overlapping max"]), pipeline)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    st.sampled_from(sorted(PIPELINES)),
)
def test_random_chains(names: list[str], pipeline: str) -> None:
    run_checked(network(names), pipeline)


def test_a_change_of_meaning_is_found() -> None:
    check = MeaningCheck(seed=3)
    check("import", network(["conv1"]))
    with pytest.raises(UserError, match="changed after some-pass"):
        check("some-pass", network(["conv1", "relu"]))


def test_relative_error() -> None:
    want = np.array([4.0, -2.0, np.inf, np.nan], np.float32)
    assert relative_error(want, want) == 0.0
    assert relative_error(want + np.float32(0.5), want) == 0.125
    assert relative_error(np.array([4.0, -2.0, 1.0, np.nan], np.float32), want) == np.inf
    assert relative_error(want[:2], want) == np.inf
    assert relative_error(np.ones(2, np.float32), np.zeros(2, np.float32)) == np.inf


def test_functions_are_left_alone() -> None:
    module = network(["relu"])
    run_checked(module, "canonicalize")
    assert [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)] == ["net"]
