"""The public functions of the importer. For a bad model, each raises `UserError` only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from onnx import FunctionProto, ModelProto
from xdsl.dialects.builtin import ModuleOp

from npu_tools.importers.onnx.errors import diagnosed, first_line
from npu_tools.importers.onnx.functions import parsed
from npu_tools.importers.onnx.importer import build
from npu_tools.importers.onnx.load import checked_model
from npu_tools.importers.torch import exported_onnx
from npu_tools.shared.errors import UserError

NO_DIMS: Mapping[str, int] = MappingProxyType({})


def read_table(path: Path) -> list[FunctionProto]:
    """The functions of a table of operators (`functions.py`).

    Raises: UserError if the file cannot be read, or is no such table.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {first_line(error)}") from error
    with diagnosed(str(path)):
        return list(parsed(text))


def load_model(
    data: bytes,
    *,
    name: str,
    base_dir: Path | None,
    input_dims: Mapping[str, int] = NO_DIMS,
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    """Read and check a model, for `build_module` and for onnxruntime.

    `name` starts the messages. External data is read from the folder `base_dir` only; None allows
    none. `input_dims` gives dynamic dims their sizes, by name; a dim without a name is called after
    its input and axis, such as `x[0]`. `functions` are operators of a table.

    Raises: UserError if the model is damaged, wrong, or of an unsupported version.
    """
    with diagnosed(name):
        return checked_model(data, base_dir, input_dims, functions)


def build_module(model: ModelProto, *, name: str, source: str | None = None) -> ModuleOp:
    """Import a model from `load_model`: one public function of npu layers, called after `name`.

    `source` starts the messages instead of `name`.

    Raises: UserError that lists the nodes that cannot be imported.
    """
    with diagnosed(source or name):
        return build(model, name)


def import_model(
    data: bytes, *, name: str, base_dir: Path | None, input_dims: Mapping[str, int] = NO_DIMS
) -> ModuleOp:
    """Import a model from its bytes: `load_model`, then `build_module`. Raises as these."""
    model = load_model(data, name=name, base_dir=base_dir, input_dims=input_dims)
    return build_module(model, name=name)


def load_file(
    path: Path,
    *,
    input_dims: Mapping[str, int] = NO_DIMS,
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    """`load_model` for an .onnx file, or for a .pt2 file, which torch exports to ONNX first.

    Raises: UserError also if the file cannot be read.
    """
    read = partial(load_model, name=str(path), input_dims=input_dims, functions=functions)
    if path.suffix == ".pt2":
        return read(exported_onnx(path), base_dir=None)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    return read(data, base_dir=path.parent)


def import_file(path: Path, *, input_dims: Mapping[str, int] = NO_DIMS) -> ModuleOp:
    """Import a file: `load_file`, then `build_module`, called after the file. Raises as these."""
    model = load_file(path, input_dims=input_dims)
    return build_module(model, name=path.stem, source=str(path))
