"""npu-detect-modules and npu-inline-modules: same numbers, and the modules of known networks."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from helpers.networks.zoo import TINY, build, image, run
from helpers.random_modules import WIDTH, branched_networks
from helpers.reference import parsed
from npu_dialect.attributes import LAYER
from npu_dialect.interpreters import run_function
from npu_dialect.module_attributes import NO_MODULE
from npu_dialect.npu import BranchedModuleOp
from npu_dialect.npu.layer import LayerOp
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass
from npu_passes.modules.detect_modules import DetectModulesPass
from npu_passes.modules.inline_modules import InlineModulesPass
from npu_tools.importers.onnx import import_model

CONTEXT = Context()
X = np.array([[-1, 0.25, 2]], np.float32)
assert X.shape == (1, WIDTH)

INCEPTION_V3 = [
    *(f"inception_a{index}" for index in (1, 2, 3)),
    "reduction_a",
    *(f"inception_b{index}" for index in (1, 2, 3, 4)),
    "reduction_b",
    "inception_c1",
    "inception_c2",
]
"""The modules of Table 1 of paper 001."""
NAMES = {
    "flownet_s": [],
    "inception_v3": INCEPTION_V3,
    "mobilenet_v2": [f"block{index}" for index in (3, 5, 6, 8, 9, 10, 12, 13, 15, 16)],
    "resnet18": [f"layer{stage}_{block}" for stage in range(1, 5) for block in range(2)],
    "resnet50": list(
        chain.from_iterable(
            (f"layer{stage}_{block}" for block in range(count))
            for stage, count in enumerate((3, 4, 6, 3), 1)
        )
    ),
    "squeezenet1_1": [f"fire{index}" for index in range(2, 10)],
}


def modules_of(module: ModuleOp) -> list[BranchedModuleOp]:
    return [op for op in module.walk() if isinstance(op, BranchedModuleOp)]


def name_of(op: BranchedModuleOp) -> str:
    name = LAYER.get(op)
    assert name is not None
    return name


def layer_names(module: ModuleOp) -> Counter[str | None]:
    return Counter(op.layer_name for op in module.walk() if isinstance(op, LayerOp))


@settings(max_examples=50, deadline=None)
@given(text=branched_networks(), max_depth=st.integers(1, 6))
def test_same_numbers(text: str, max_depth: int) -> None:
    """Each pass keeps the bits. Detecting twice changes nothing more; inlining is the inverse."""
    module = parsed(text)
    names, (expected,) = layer_names(module), run_function(module, None, [X])
    DetectModulesPass(max_depth).apply(CONTEXT, module)
    module.verify()
    np.testing.assert_array_equal(run_function(module, None, [X])[0], expected)
    detected = str(module)
    DetectModulesPass(max_depth).apply(CONTEXT, module)
    assert str(module) == detected
    InlineModulesPass().apply(CONTEXT, module)
    module.verify()
    assert not modules_of(module)
    assert layer_names(module) == names
    np.testing.assert_array_equal(run_function(module, None, [X])[0], expected)
    DetectModulesPass(max_depth).apply(CONTEXT, module)
    assert str(module) == detected


@pytest.mark.parametrize("fused", [False, True], ids=["layers", "fused"])
@pytest.mark.parametrize("name", NAMES)
def test_known_networks(name: str, fused: bool) -> None:
    """The modules are those that the networks name, whether activations are fused or not."""
    model = build(name, **TINY[name])
    module = import_model(model.SerializeToString(), name=name, base_dir=None)
    if fused:
        FuseConvReluPoolPass("none").apply(CONTEXT, module)
    DetectModulesPass().apply(CONTEXT, module)
    module.verify()
    found = modules_of(module)
    assert [name_of(op) for op in found if op.depth == 1] == NAMES[name]
    nested = [name_of(op) for op in found if op.depth == 2]
    assert nested == [
        f"{outer}/{branch}"
        for outer in NAMES[name]
        if outer.startswith("inception_c")
        for branch in ("branch3x3", "branch3x3dbl")
    ]
    assert len(found) == len(NAMES[name]) + len(nested)
    assert not any(NO_MODULE.is_on(op) for op in module.walk())
    source = image(model, 1)
    (ours,) = run_function(module, None, [source])
    np.testing.assert_allclose(ours, run(model, source)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("max_depth", "count"), [(1, 0), (3, 4), (4, 7), (5, 11), (1000, 11)])
def test_depths_of_inception_v3(max_depth: int, count: int) -> None:
    """With any limit of five layers or more, eleven modules are found."""
    model = build("inception_v3", **TINY["inception_v3"])
    module = import_model(model.SerializeToString(), name="inception_v3", base_dir=None)
    DetectModulesPass(max_depth).apply(CONTEXT, module)
    assert sum(name_of(op) in INCEPTION_V3 for op in modules_of(module)) == count


def test_branches_of_inception_c() -> None:
    """Branches with two, one or more layers, and modules in the second and third."""
    model = build("inception_v3", **TINY["inception_v3"])
    module = import_model(model.SerializeToString(), name="inception_v3", base_dir=None)
    FuseConvReluPoolPass("none").apply(CONTEXT, module)
    DetectModulesPass().apply(CONTEXT, module)
    (outer,) = (op for op in modules_of(module) if name_of(op) == "inception_c1")
    shape = [[op.name for op in branch.body.block.ops][:-1] for branch in outer.branches]
    conv, inner, pool = "npu.conv2d", "npu.module", "npu.avg_pool2d"
    assert shape == [[conv], [conv, inner], [conv, conv, inner], [pool, conv]]
    assert [branch.part.value.data for branch in outer.branches] == [0, 1, 2, 3]
