"""The entrances of the importer. Each raises `UserError`, and nothing else, for a bad model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

from npu_tools.importers.onnx.errors import diagnosed
from npu_tools.importers.onnx.importer import build
from npu_tools.importers.onnx.load import checked_model
from npu_tools.importers.torch import exported_onnx
from npu_tools.shared.errors import UserError

NO_DIMS: Mapping[str, int] = MappingProxyType({})


def load_model(
    data: bytes, *, name: str, base_dir: Path | None, input_dims: Mapping[str, int] = NO_DIMS
) -> ModelProto:
    """A checked model, ready for `build_module` and for onnxruntime.

    `name` stands in messages; `base_dir` is the folder that external data may lie in (None: no
    such data); `input_dims` gives sizes to dynamic dims by name (`batch`; `x[0]` if it has none).

    Raises: UserError.
    """
    with diagnosed(name):
        return checked_model(data, base_dir, input_dims)


def build_module(model: ModelProto, *, name: str, source: str | None = None) -> ModuleOp:
    """The npu layers of a model from `load_model`: one public function, called after `name`.

    `source` stands in messages instead of `name`. Raises: UserError.
    """
    with diagnosed(source or name):
        return build(model, name)


def import_model(
    data: bytes, *, name: str, base_dir: Path | None, input_dims: Mapping[str, int] = NO_DIMS
) -> ModuleOp:
    """Bytes to npu layers: `load_model`, then `build_module`. Raises: UserError."""
    model = load_model(data, name=name, base_dir=base_dir, input_dims=input_dims)
    return build_module(model, name=name)


def load_file(path: Path, *, input_dims: Mapping[str, int] = NO_DIMS) -> ModelProto:
    """`load_model` of an .onnx file, or of a .pt2 file by way of torch's exporter.

    Raises: UserError.
    """
    if path.suffix == ".pt2":
        return load_model(exported_onnx(path), name=str(path), base_dir=None, input_dims=input_dims)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    return load_model(data, name=str(path), base_dir=path.parent, input_dims=input_dims)


def import_file(path: Path, *, input_dims: Mapping[str, int] = NO_DIMS) -> ModuleOp:
    """`load_file`, then `build_module`, named after the file's stem. Raises: UserError."""
    model = load_file(path, input_dims=input_dims)
    return build_module(model, name=path.stem, source=str(path))
