"""Random networks of layers on tensors without branches, to test the passes on the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from npu_dialect.interpreters import run_function
from npu_dialect.npu import (
    NPU,
    AvgPool2dOp,
    BatchNormOp,
    ClampOp,
    Conv2dOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    MapOp,
    MaxPool2dOp,
    PickOp,
    PoolAttr,
    ReluOp,
    ResampleOp,
    ReshapeOp,
)
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_dialect.resampling import Axis as Resampled
from npu_dialect.runs import Run, nothing
from npu_passes.graph.constants import constant_of

ANY = TensorType(f32, [1])
"""Stands for a result type until the shape rule gives it."""

LayerMaker = Callable[[SSAValue, Attribute], LayerOp]


@dataclass
class Network:
    """A function under construction: `value` is what the last layer computes."""

    block: Block
    value: SSAValue
    seed: int
    also_returned: list[SSAValue] = field(default_factory=list[SSAValue])

    @staticmethod
    def start(shape: tuple[int, ...], seed: int) -> Network:
        """A function with one input."""
        block = Block(arg_types=[TensorType(f32, shape)])
        return Network(block, block.args[0], seed)

    def constant(self, *shape: int, positive: bool = False) -> SSAValue:
        """Seeded random parameters."""
        self.seed += 1
        data = np.random.default_rng(self.seed).standard_normal(shape)
        constant = constant_of((np.abs(data) if positive else data).astype(np.float32), None)
        self.block.add_op(constant)
        return constant.result

    def add(self, make: LayerMaker) -> bool:
        """Put a layer behind the last one. Returns False if it does not accept the shape."""
        draft = make(self.value, ANY)
        try:
            kind = TensorType(f32, draft.infer_shape())
        except VerifyException:
            draft.erase()
            return False
        layer = draft.rebuilt(draft.inputs, kind)
        draft.erase()
        self.block.add_op(layer)
        self.value = layer.output
        return True

    def reshape(self, *shape: int) -> None:
        """Give the last value another shape."""
        layer = ReshapeOp(self.value, TensorType(f32, shape))
        self.block.add_op(layer)
        self.value = layer.output

    def module(self) -> ModuleOp:
        """The finished function, verified."""
        results = [self.value, *self.also_returned]
        self.block.add_op(ReturnOp(*results))
        kinds = FunctionType.from_lists(
            [arg.type for arg in self.block.args], [value.type for value in results]
        )
        module = ModuleOp([FuncOp("f", kinds, Region(self.block))])
        module.verify()
        return module


class Case:
    """A module that pytest prints as IR text when a test fails.

    It is no data class: hypothesis prints those field by field, with all ops behind each op.
    """

    def __init__(self, module: ModuleOp) -> None:
        """Take a module."""
        self.module = module

    def __repr__(self) -> str:
        """The IR text."""
        return str(self.module)


@st.composite
def pool_windows(draw: st.DrawFn) -> PoolAttr:
    """Pooling windows of all kinds: some overlap, some lie in the padding only."""
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    pads = draw(st.sampled_from([(0, 0, 0, 0), (1, 0, 0, 1), (2, 1, 0, 0), (0, 0, 2, 3)]))
    return PoolAttr.of(
        draw(st.sampled_from(["max", "max", "avg"])),
        draw(pair),
        draw(pair),
        pads,
        draw(st.sampled_from([(1, 1), (1, 1), (2, 1)])),
        ceil_mode=draw(st.booleans()),
        count_include_pad=draw(st.booleans()),
    )


@st.composite
def convolutions(draw: st.DrawFn, network: Network) -> LayerMaker:
    """A convolution with constant weights, perhaps grouped, perhaps with a bias."""
    channels = shape_of(network.value)[1]
    groups = draw(st.sampled_from([1, channels]))
    filters = groups * draw(st.integers(1, 2))
    kernel = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    weight = network.constant(filters, channels // groups, *kernel)
    bias = network.constant(filters) if draw(st.booleans()) else None
    strides = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    pads = draw(st.sampled_from([(0, 0, 0, 0), (1, 1, 1, 1), (0, 2, 1, 0)]))
    return lambda x, out: Conv2dOp(x, weight, bias, out, strides=strides, pads=pads, groups=groups)


@st.composite
def activations(draw: st.DrawFn) -> LayerMaker:
    """A ReLU, a function without jumps, or a clamp to any range."""
    kind = draw(st.sampled_from(["relu", "function", "clamp"]))
    if kind == "relu":
        return ReluOp
    if kind == "function":
        function = draw(st.sampled_from(["silu", "tanh", "gelu", "leaky_relu", "prelu"]))
        slopes = {"leaky_relu": [0.25], "prelu": [0.5, -0.25]}.get(function, [])
        what = FunctionAttr.of(function, slopes)
        return lambda x, out: MapOp(x, what, out)
    low = draw(st.sampled_from([-1.0, 0.0, 0.5, float("-inf")]))
    high = low + draw(st.sampled_from([0.0, 1.0, float("inf")])) if low > -1e9 else 0.25
    return lambda x, out: ClampOp(x, low, high, out)


@st.composite
def pools(draw: st.DrawFn) -> LayerMaker:
    """A pooling layer, sometimes a global one."""
    window = draw(pool_windows())
    kind = MaxPool2dOp if window.is_max else AvgPool2dOp
    global_kind = draw(st.sampled_from([None, None, None, GlobalMaxPool2dOp, GlobalAvgPool2dOp]))
    return global_kind or (lambda x, out: kind(x, window, out))


@st.composite
def growths(draw: st.DrawFn, network: Network) -> LayerMaker:
    """Pads around the rows and columns, repeated ones, parts of them, or interpolation."""
    extents = shape_of(network.value)[2:]
    if draw(st.sampled_from([False, False, False, True])):
        times, offset = draw(st.sampled_from([(2, -0.25), (2, 0.0), (3, -1 / 3), (2, 0.5)]))
        axes = {axis: Resampled(times * n, 1 / times, offset) for axis, n in enumerate(extents, 2)}
        return lambda x, out: ResampleOp(x, axes, out)
    picks: dict[int, tuple[Run, ...]] = {}
    fill = draw(st.sampled_from([0.0, 0.0, 1.5, float("-inf")]))
    for axis, extent in enumerate(extents, 2):
        before, after, cut = (draw(st.sampled_from([0, 0, 1, 2])) for _ in range(3))
        inner = Run(0, extent, each=draw(st.integers(1, 2)))
        if cut and extent > cut:
            inner = Run(cut, extent - cut)
        picks[axis] = (*[nothing(1)] * before, inner, *[nothing(after)] * (after > 0))
    has_none = any(run.is_none for runs in picks.values() for run in runs)
    return lambda x, out: PickOp(x, picks, out, fill if has_none else None)


def fully_connected(network: Network, outputs: int) -> None:
    """Flatten, and put a fully connected layer behind that."""
    batch, *rest = shape_of(network.value)
    inputs = int(np.prod(rest))
    flat = ReshapeOp(network.value, TensorType(f32, [batch, inputs]))
    network.block.add_op(flat)
    network.value = flat.output
    weight, bias = network.constant(outputs, inputs), network.constant(outputs)
    network.add(lambda x, out: FullyConnectedOp(x, weight, bias, out))


def batch_norm(network: Network, epsilon: float) -> None:
    """Put a batch normalisation with constant parameters behind the last layer."""
    channels = shape_of(network.value)[1]
    scale, bias, mean = (network.constant(channels) for _ in range(3))
    variance = network.constant(channels, positive=True)
    network.add(lambda x, out: BatchNormOp(x, scale, bias, mean, variance, epsilon, out))


@st.composite
def networks(draw: st.DrawFn, *, norms: bool = False, grows: bool = False) -> Case:
    """A chain of convolutions, activations, pools and, with `norms`, normalisations.

    With `grows` maps also get pads, or are resized.
    Some values inside the chain are returned, too.
    """
    shape = (
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        *draw(st.tuples(st.integers(5, 9), st.integers(5, 9))),
    )
    network = Network.start(shape, draw(st.integers(0, 1000)))
    for _ in range(draw(st.integers(1, 2))):
        if grows and draw(st.booleans()):
            network.add(draw(growths(network)))
        network.add(draw(convolutions(network)))
        behind = st.sampled_from("napan" if norms else "apap")
        for kind in draw(st.lists(behind, min_size=1, max_size=4)):
            if draw(st.sampled_from([False] * 5 + [True])):
                network.also_returned.append(network.value)
            if kind == "n":
                batch_norm(network, draw(st.sampled_from([1e-5, 0.5])))
            else:
                network.add(draw(activations() if kind == "a" else pools()))
    if draw(st.booleans()):
        fully_connected(network, draw(st.integers(1, 4)))
        if norms and draw(st.booleans()):
            batch_norm(network, 1e-5)
        network.add(draw(activations()))
    return Case(network.module())


def outputs(module: ModuleOp) -> tuple[np.ndarray, ...]:
    """What the only public function of a module computes from seeded random inputs."""
    function = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    shape = shape_of(function.body.block.args[0])
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    return run_function(module, None, [x])


def context() -> Context:
    """A context with the layers."""
    ctx = Context()
    ctx.load_dialect(NPU)
    return ctx


def agree(module: ModuleOp, expected: tuple[np.ndarray, ...], tolerance: float = 1e-5) -> None:
    """Check that a module is valid and computes what is expected.

    `tolerance` is relative to each number, and to the largest finite one of an output.
    """
    module.verify()
    for got, want in zip(outputs(module.clone()), expected, strict=True):
        near = tolerance * (1 + np.abs(want[np.isfinite(want)]).max(initial=0))
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=near)


def layers(module: ModuleOp) -> list[LayerOp]:
    """The layers of a module, in the order of the IR."""
    return [op for op in module.walk() if isinstance(op, LayerOp)]
