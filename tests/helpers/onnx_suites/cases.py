"""The tests that the onnx package brings: a model, inputs, and the outputs that ONNX expects."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.loader import DATA_DIR, load_model_tests

Array = npt.NDArray[Any]

NODE, CONVERTED, OPERATOR = "node", "pytorch-converted", "pytorch-operator"
SUITES = (NODE, CONVERTED, OPERATOR)
"""The suites, by the names that the package gives them."""


@dataclass(frozen=True)
class Case:
    """One test; `inputs` and `outputs` are arrays by the names that the model has for them.

    `inputs` lacks those that are no tensors, such as sequences.
    """

    suite: str
    name: str
    model: ModelProto
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    rtol: float
    atol: float

    @property
    def operator(self) -> str:
        """The operator that the test is about: that of its first node."""
        return self.model.graph.node[0].op_type


def cases(suite: str) -> list[Case]:
    """The tests of a suite, sorted by name."""
    found = node_cases() if suite == NODE else stored_cases(suite)
    return sorted(found, key=lambda case: case.name)


def node_cases() -> Iterator[Case]:
    """The tests of single operators. The package computes them when it is asked for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package casts and divides beyond what numpy likes
        tests = load_model_tests(kind=NODE)
    for test in tests:
        assert test.model is not None
        assert test.data_sets is not None
        inputs, outputs = test.data_sets[0]
        yield case_of(test.name, NODE, test.model, inputs, outputs, test.rtol, test.atol)


def stored_cases(suite: str) -> Iterator[Case]:
    """The tests of a suite whose models and data are files of the package."""
    for folder in sorted((Path(DATA_DIR) / suite).iterdir()):
        if not (folder / "model.onnx").is_file():
            continue
        limits = folder / "data.json"
        said: dict[str, float] = json.loads(limits.read_text()) if limits.is_file() else {}
        model = ModelProto.FromString((folder / "model.onnx").read_bytes())
        data = folder / "test_data_set_0"
        inputs, outputs = (tensors_of(data, kind) for kind in ("input", "output"))
        rtol, atol = said.get("rtol", 1e-3), said.get("atol", 1e-7)
        yield case_of(folder.name, suite, model, inputs, outputs, rtol, atol)


def tensors_of(folder: Path, kind: str) -> list[TensorProto]:
    """The tensors of the files `kind_0.pb`, `kind_1.pb`, ... of a folder."""
    count = len(list(folder.glob(f"{kind}_*.pb")))
    files = (folder / f"{kind}_{index}.pb" for index in range(count))
    return [TensorProto.FromString(file.read_bytes()) for file in files]


def case_of(
    name: str,
    suite: str,
    model: ModelProto,
    inputs: Iterable[Any],
    outputs: Iterable[Any],
    rtol: float,
    atol: float,
) -> Case:
    """A test from the package's data, which are in the order of the model's ports."""
    weights = {tensor.name for tensor in model.graph.initializer}
    given = [value.name for value in model.graph.input if value.name not in weights]
    wanted = [value.name for value in model.graph.output]
    ins, outs = arrays(given, inputs), arrays(wanted, outputs)
    return Case(suite, name, model, ins, outs, rtol, atol)


def arrays(names: Sequence[str], values: Iterable[Any]) -> dict[str, Array]:
    """The arrays among some values, by name."""
    found: dict[str, Array] = {}
    for name, value in zip(names, values):
        if isinstance(value, TensorProto):
            found[name] = numpy_helper.to_array(value)
        elif hasattr(value, "dtype"):  # sequences and what is left out have none
            found[name] = np.asarray(value)
    return found


def with_parameters(case: Case) -> Case:
    """The test with parameters as initialisers, which hold the test's data.

    Parameters are all inputs but the first, and the first as well if it is a list of integers of 64
    bits, such as a shape.
    """
    model = ModelProto()
    model.CopyFrom(case.model)
    first, *others = case.inputs
    kind = case.inputs[first]
    parameters = [first, *others] if kind.dtype == np.int64 and kind.ndim < 2 else others
    kept = [value for value in model.graph.input if value.name not in parameters]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for name in parameters:
        model.graph.initializer.append(numpy_helper.from_array(case.inputs[name], name))
    inputs = {name: array for name, array in case.inputs.items() if name not in parameters}
    return replace(case, model=model, inputs=inputs)
