"""All networks of examples/networks: sizes, determinism, scale of the numbers, import."""

import subprocess
import sys
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from onnx import ModelProto

from helpers.networks.zoo import (
    FOLDER,
    NETWORKS,
    TINY,
    build,
    check,
    image,
    parameters,
    run,
    script,
)
from npu_dialect.interpreters import run_function
from npu_tools.importers.onnx import import_model

TORCHVISION = {
    "efficientnet": (5_288_548, True),
    "inception_v3": (23_834_568, True),
    "mobilenet_v2": (3_504_872, True),
    "resnet18": (11_689_512, True),
    "resnet50": (25_557_032, True),
    "squeezenet1_1": (1_235_496, False),
}
"""Parameters in torchvision; True if they include a scale and a shift per filter, not one bias."""

FLOWNET_S = 24_050_752
"""Weights and biases of the contracting part."""


WEIGHTS_OF_SEED_0 = 1_042_377_298
"""CRC-32 of all parameters of inception_small."""


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: pytest.FixtureRequest) -> tuple[str, ModelProto]:
    """Each network at full size."""
    return request.param, build(request.param)


def filters(model: ModelProto) -> int:
    """The number of filters of all convolutions that torchvision normalises: no gates."""
    dims = {tensor.name: tensor.dims for tensor in model.graph.initializer}
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    return sum(
        dims[node.input[1]][0]
        for node in convolutions
        if not node.name.endswith(("/squeeze", "/excite"))
    )


def command(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_full_size(network: tuple[str, ModelProto]) -> None:
    """ONNX's checker accepts the model; the number of parameters and all scales are right."""
    name, model = network
    check(model)
    count = sum(parameters(model).values())
    if name in TORCHVISION:
        known, normalised = TORCHVISION[name]
        assert count == known - (filters(model) if normalised else 0)
    if name == "flownet_s":
        assert count == FLOWNET_S
    names = [node.name for node in model.graph.node]
    assert all(names)
    assert len(set(names)) == len(names)
    kinds = ("Relu", "Clip", "Add")
    inner = [node.output[0] for node in model.graph.node[:-1] if node.op_type in kinds]
    output, *maps = run(model, image(model, 1), inner)
    for value, numbers in zip(inner, maps, strict=True):
        assert 0.1 < np.sqrt(np.mean(numbers**2)) < 3, value
    assert np.isfinite(output).all()
    assert 0.1 < output.std() < 3


@pytest.mark.parametrize("name", NETWORKS)
def test_output_depends_on_the_image(name: str) -> None:
    model = build(name, **TINY[name])
    first, second = (run(model, image(model, seed))[0] for seed in (1, 2))
    assert (first - second).std() > 0.01 * first.std()


@pytest.mark.parametrize("name", NETWORKS)
def test_import(name: str) -> None:
    """The importer accepts each network, and its layers compute what onnxruntime computes."""
    model = build(name, **TINY[name])
    module = import_model(model.SerializeToString(), name=name, base_dir=None)
    module.verify()
    convolutions = [op for op in module.walk() if op.name == "npu.conv2d"]
    assert len(convolutions) == sum(node.op_type == "Conv" for node in model.graph.node)
    source = image(model, 1)
    (ours,) = run_function(module, None, [source])
    np.testing.assert_allclose(ours, run(model, source)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NETWORKS)
def test_without_bias(name: str) -> None:
    plain, biased = build(name, bias=False, **TINY[name]), build(name, **TINY[name])
    kept = {tensor.name: tensor.raw_data for tensor in plain.graph.initializer}
    assert not any(name.endswith(".bias") for name in kept)
    for tensor in biased.graph.initializer:
        assert tensor.name.endswith(".bias") or kept[tensor.name] == tensor.raw_data
    check(plain)


def test_same_seed_same_bytes() -> None:
    first, second, other = (
        build("inception_small", seed=seed).SerializeToString(deterministic=True)
        for seed in (3, 3, 4)
    )
    assert first == second
    assert first != other


def test_numbers_stay_the_same_over_the_years() -> None:
    """The weights of seed 0 must be the same with all numpy versions and on all machines."""
    model = build("inception_small")
    weights = b"".join(tensor.raw_data for tensor in model.graph.initializer)
    assert crc32(weights) == WEIGHTS_OF_SEED_0


def test_a_weight_depends_on_nothing_but_its_name_and_shape() -> None:
    small = script("inception_small")
    one, two = (small.build(small.OWN, modules=(1, count, 1)) for count in (1, 2))
    kept = {tensor.name: tensor.raw_data for tensor in two.graph.initializer}
    same = [tensor.name for tensor in one.graph.initializer if tensor.raw_data == kept[tensor.name]]
    assert {"conv1.weight", "inception_b1/branch7x7_3.weight"} <= set(same)


def test_command_line_writes_what_build_gives(tmp_path: Path) -> None:
    path = tmp_path / "small.onnx"
    arguments = ["--seed", "7", "--no-bias", "--width", "0.125", "--size", "15x19", "--classes"]
    done = command("inception_small", "-o", path, *arguments, "5")
    assert (done.returncode, done.stderr) == (0, "")
    expected = build("inception_small", seed=7, bias=False, width=1 / 8, size=(15, 19), classes=5)
    assert path.read_bytes() == expected.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "6"], "'reduction_b/branch3x3_2' has a 3x3 window on a 2x2 map"),
        (["--size", "7x"], "--size"),
        (["--width", "0"], "width 0.0; expected a factor above 0"),
        (["--width", "10000"], "a file holds at most"),
        (["--seed", "-1"], "seed -1; expected 0 or more"),
        (["--classes", "0"], "sizes, classes and multiples must be 1 or more"),
    ],
)
def test_bad_options(arguments: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    done = command("inception_small", "-o", path, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not path.exists()
