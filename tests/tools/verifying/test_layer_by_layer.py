"""--verify judges layers of quantised networks on the same inputs: no false alarm, no fault missed.

In the network `amplifying`, half of the first layer's sums are ties, and the second layer makes ten
steps of each step.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from helpers.quantized.build import Graph, rng
from helpers.quantized.networks import residual
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.verifying.harness import built
from npu_tools.verifying.layer_by_layer import shifted
from npu_tools.verifying.outcome import Verified
from npu_tools.verifying.samples import input_kinds, random_samples
from npu_tools.verifying.verify import Comparison, compare, verify

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")


def amplifying(kind: str = "uint8") -> ModelProto:
    """From float32 [1, 32, 6, 6] to [1, 4, 6, 6] in steps of 0.002."""
    graph, generator = Graph(), rng(1)
    zero = 128 if kind == "uint8" else 0
    x = graph.dequantize(graph.quantize("x", 0.1, zero, kind), 0.1, zero, kind)
    graph.constant("w1", generator.integers(-3, 4, (8, 32, 1, 1)).astype(np.int8))
    a = graph.add("Conv", [x, graph.dequantize("w1", 0.1, 0, "int8")], "c1")
    a = graph.dequantize(graph.quantize(a, 0.02, zero, kind), 0.02, zero, kind)
    graph.constant("w2", generator.integers(-100, 101, (4, 8, 1, 1)).astype(np.int8))
    b = graph.add("Conv", [a, graph.dequantize("w2", 0.01, 0, "int8")], "c2")
    b = graph.dequantize(graph.quantize(b, 0.02, zero, kind), 0.02, zero, kind)
    graph.constant("w3", generator.integers(90, 101, (4, 4, 1, 1)).astype(np.int8))
    c = graph.add("Conv", [b, graph.dequantize("w3", 0.01, 0, "int8")], "c3")
    out = graph.dequantize(graph.quantize(c, 0.02, zero, kind), 0.02, zero, kind)
    feeds = {"x": np.zeros((1, 32, 6, 6), np.float32)}
    return graph.model(feeds, out, np.float32, 13)


def compiled(model: ModelProto, folder: Path, **options: str) -> Compiled:
    """The C of a model."""
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return compile_model(Job(path, "host", **options))  # pyright: ignore[reportArgumentType]


def off_by(model: ModelProto, name: str, factor: float) -> ModelProto:
    """The model with one initialiser times a factor."""
    changed = ModelProto()
    changed.CopyFrom(model)
    for tensor in changed.graph.initializer:
        if tensor.name == name:
            array = (numpy_helper.to_array(tensor) * np.float32(factor)).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, name))
            return changed
    raise KeyError(name)


def over_seeds(made: Compiled, seeds: range) -> list[Verified]:
    """The comparisons on random inputs of several seeds, with one build."""
    kinds = input_kinds(made.reference)
    with built(made.name, made.files, made.report) as harness:
        return [
            compare(harness, made.reference, random_samples(made.report, s, kinds)) for s in seeds
        ]


def test_ties_that_later_layers_amplify_are_no_alarm(tmp_path: Path) -> None:
    found = over_seeds(compiled(amplifying(), tmp_path), range(3))
    assert all(each.agrees for each in found), [each.complaint for each in found]
    assert max(each.outputs[0].steps or 0 for each in found) > 2  # the outputs themselves differ
    assert all(each.layers is not None and each.layers.compared >= 4 for each in found)
    assert sum(each.layers.ties for each in found if each.layers) > 0
    assert "all layers agree on the same inputs" in "".join(found[0].lines)
    assert "with onnxruntime's optimiser" in found[0].lines[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "scale", "layer"),
    [("int8", "c1_w_scale", "c1"), ("uint8", "c2_w_scale", "c2"), ("int8", "c3_w_scale", "c3")],
)
def test_a_scale_that_is_one_percent_off_is_found(
    tmp_path: Path, kind: str, scale: str, layer: str
) -> None:
    right = residual(inner=kind)
    made = compiled(off_by(right, scale, 1.01), tmp_path)
    found = verify(replace(made, source=right), None, 0)
    assert not found.agrees
    assert found.first_layer is not None
    assert layer in found.first_layer
    assert found.complaint.startswith("--verify: differs from onnxruntime by more than ties")


@pytest.mark.parametrize("scale", ["w1_scale", "w3_scale"])
def test_it_is_found_where_ties_are_amplified_too(tmp_path: Path, scale: str) -> None:
    right = amplifying()
    made = compiled(off_by(right, scale, 1.01), tmp_path)
    assert not verify(replace(made, source=right), None, 0).agrees


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_a_right_network_agrees_in_all_layers(tmp_path: Path, kind: str) -> None:
    for softmax in (False, True):
        found = verify(compiled(residual(inner=kind, softmax=softmax), tmp_path), None, 3)
        assert found.agrees, found.complaint
        assert found.layers is not None
        assert found.as_dict()["layers"]["first_wrong"] is None


@pytest.mark.slow
def test_fixed_multipliers(tmp_path: Path) -> None:
    """Integers change scales in other arithmetic here, but a wrong scale is still found."""
    right = residual()
    assert verify(compiled(right, tmp_path, requantize="fixed"), None, 0).agrees
    made = compiled(off_by(right, "c2_w_scale", 1.01), tmp_path, requantize="fixed")
    assert not verify(replace(made, source=right), None, 0).agrees


def test_several_samples(tmp_path: Path) -> None:
    made = compiled(amplifying(), tmp_path)
    values = np.random.default_rng(0).standard_normal((5, 32, 6, 6)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=values)
    assert verify(made, str(tmp_path / "x.npz"), 0).agrees


def test_maps_that_are_not_known_allow_what_ties_become(tmp_path: Path) -> None:
    """Without the OFMs of layers, the outputs may be off as far as onnxruntime is from itself."""
    made = compiled(amplifying(), tmp_path)
    kinds = input_kinds(made.reference)
    with built(made.name, made.files, made.report) as harness:
        blind = replace(harness, transfers=True)
        far = 0
        for seed in range(3):
            samples = random_samples(made.report, seed, kinds)
            got = harness.run(samples)
            found = Comparison(blind, made.reference, samples, got, True)
            assert found.judgements() is None
            whole = found.of_outputs()
            far += not whole.close
            (error,) = found.within_spread(whole.outputs)
            assert error.close
            wrong = replace(found, got=[value + np.float32(10) for value in got])
            (error,) = wrong.within_spread(wrong.of_outputs().outputs)
            assert not error.close
    assert far > 0


def test_shifts_are_in_steps_of_each_scale() -> None:
    graph = Graph()
    both = graph.add("Add", [graph.quantize("x", 0.5, 0, "int8")] * 2, "s")
    feeds = {"x": np.zeros((1, 4), np.float32)}
    moved = shifted(graph.model(feeds, both, np.int8, 14), 0.25)
    by = {tensor.name: numpy_helper.to_array(tensor) for tensor in moved.graph.initializer}
    assert [node.op_type for node in moved.graph.node] == ["Add", "QuantizeLinear", "Add"]
    assert by[moved.graph.node[0].input[1]] == np.float32(0.125)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_sums_of_integers_that_lose_their_fraction(tmp_path: Path, kind: str) -> None:
    """Resize of integers truncates: sums that are integers but for rounding may be one less."""
    graph = Graph()
    graph.constant("sizes", np.array([1, 8, 31, 29], np.int64))
    more = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    out = graph.add("Resize", ["x", "", "", "sizes"], "y", **more)
    x = np.zeros((1, 8, 9, 8), kind)
    made = compiled(graph.model({"x": x}, out, kind, 13), tmp_path)
    found = verify(made, None, 0)
    assert found.agrees, found.complaint
    assert found.layers is not None
    assert found.layers.ties > 0
    wrong = graph.model({"x": x}, out, kind, 13)
    wrong.graph.node[0].attribute.remove(wrong.graph.node[0].attribute[-1])
    assert not verify(replace(made, source=wrong), None, 0).agrees
