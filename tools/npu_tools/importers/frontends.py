"""From a model's file to a module, for npu-opt and npu-compile; .mlir is the parser's business.

The importers are loaded only when a model of their kind comes along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from npu_tools.shared.errors import UserError

if TYPE_CHECKING:
    from onnx import ModelProto


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


def load(path: Path, input_dims: Mapping[str, int]) -> tuple[ModelProto, ModuleOp]:
    """A model's file as onnxruntime can run it, and as a module.

    Raises: UserError for an extension without a front end, and for what the importer finds.
    """
    if path.suffix.removeprefix(".") not in MODELS:
        known = " or ".join(f".{name}" for name in MODELS)
        raise UserError(f"{path}: unknown file extension: expected {known}")
    from npu_tools.importers.onnx import build_module, load_file

    model = load_file(path, input_dims=input_dims)
    return model, build_module(model, name=path.stem, source=str(path))


def parse_onnx(data: bytes, path: str | None, input_dims: Mapping[str, int]) -> ModuleOp:
    """The module of an ONNX model's bytes; `path` is where they come from, None for standard input.

    Raises: UserError for what the importer finds.
    """
    from npu_tools.importers.onnx import build_module, load_model

    source = path or "stdin"
    folder = Path(path).parent if path else None
    model = load_model(data, name=source, base_dir=folder, input_dims=input_dims)
    return build_module(model, name=Path(path).stem if path else "model", source=source)


def parse_torch(data: bytes, path: str | None, input_dims: Mapping[str, int]) -> ModuleOp:
    """The module of a PyTorch export, which torch reads from its file.

    Raises: UserError for what the importer finds, or without a file.
    """
    if path is None:
        raise UserError("a .pt2 model cannot come from standard input: expected its path")
    return load(Path(path), input_dims)[1]


def parse_pl330(data: bytes, path: str | None, input_dims: Mapping[str, int]) -> ModuleOp:
    """The module of microcode of a PL-330, as bytes or as lines of hex.

    Raises: UserError for what is no microcode.
    """
    from npu_tools.importers.pl330 import read_programs

    try:
        return read_programs(data, Path(path).stem if path else "program")
    except UserError as error:
        raise UserError(f"{path or 'stdin'}: {error}") from None


FrontEnd: TypeAlias = Callable[[bytes, str | None, dict[str, int]], ModuleOp]

MODELS: dict[str, FrontEnd] = {"onnx": parse_onnx, "pt2": parse_torch}
"""Front ends of models by file extension: ONNX, and PyTorch's `torch.export.save`."""

FRONTENDS: dict[str, FrontEnd] = {**MODELS, "pl330": parse_pl330}
"""All front ends by file extension: models, and microcode."""
