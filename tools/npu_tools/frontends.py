"""From a file's bytes to a module: ONNX models and PyTorch exports; .mlir is the parser's business.

The importers are loaded only when a model of their kind comes along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from npu_tools.errors import UserError

if TYPE_CHECKING:
    from onnx import ModelProto

STDIN = "stdin"
"""Name of a model that has no file."""


def parse_input_dims(texts: Sequence[str]) -> dict[str, int]:
    """The values of `--input-dim name=N`.

    Raises: UserError for text of another form, or a size below one.
    """
    dims: dict[str, int] = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not size.isdecimal() or int(size) < 1:
            raise UserError(f"--input-dim {text}: expected name=N with N of at least 1")
        dims[name] = int(size)
    return dims


def import_onnx(data: bytes, path: str | None, input_dims: dict[str, int]) -> ModuleOp:
    """The module of an ONNX model; `path` is where its external data is looked for."""
    from npu_tools.onnx_import import import_model

    return import_model(
        data,
        name=Path(path).name if path else STDIN,
        base_dir=Path(path).parent if path else None,
        input_dims=input_dims,
    )


def import_torch(data: bytes, path: str | None, input_dims: dict[str, int]) -> ModuleOp:
    """The module of a PyTorch export (`torch.export.save`)."""
    from npu_tools.torch_import import import_exported

    return import_exported(data, name=Path(path).name if path else STDIN, input_dims=input_dims)


def reference_model(model: Path, input_dims: dict[str, int]) -> ModelProto:
    """The ONNX model behind a file, complete and with pinned dims: what onnxruntime can run."""
    if model.suffix == ".pt2":
        from npu_tools.torch_import import exported_model

        return exported_model(model.read_bytes(), name=model.name, input_dims=input_dims)
    from npu_tools.onnx_import import load_file

    return load_file(model, input_dims=input_dims)


FRONTENDS: dict[str, Callable[[bytes, str | None, dict[str, int]], ModuleOp]] = {
    "onnx": import_onnx,
    "pt2": import_torch,
}
"""Front ends by file extension."""
