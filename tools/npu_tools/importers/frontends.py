"""The front ends by file extension: each turns a model's file into a module of IR.

npu-opt, npu-compile and the other commands use them. `load` also reads MLIR text. An importer and
its packages are loaded when the first model of its kind is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from npu_tools.shared.errors import UserError

if TYPE_CHECKING:
    from onnx import ModelProto


def parse_input_dims(texts: Sequence[str]) -> dict[str, int]:
    """Parse the values of `--input-dim name=N` into sizes by name.

    Raises: UserError if a text has another form, or if N is below 1.
    """
    dims: dict[str, int] = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not size.isdecimal() or int(size) < 1:
            raise UserError(f"--input-dim {text}: expected name=N with N of at least 1")
        dims[name] = int(size)
    return dims


class Loaded(NamedTuple):
    """What a model's file holds."""

    model: ModelProto | None
    """The model in a form that onnxruntime can run; None for MLIR text."""
    module: ModuleOp
    is_elided: bool = False
    """Whether weights are ones because their numbers were left out of the text."""


def load(path: Path, input_dims: Mapping[str, int], functions: Path | None = None) -> Loaded:
    """Read a model's file, or MLIR text.

    `functions` is a table of further operators (`importers/onnx/functions.py`).

    Raises: UserError if no front end has the extension, or if the model or the table cannot be
    imported; for MLIR text also what `read_mlir` raises.
    """
    if path.suffix == ".mlir":
        from npu_tools.importers.mlir import read_mlir

        module, is_elided = read_mlir(path)
        return Loaded(None, module, is_elided)
    if path.suffix.removeprefix(".") not in MODELS:
        known = " or ".join(f".{name}" for name in (*MODELS, "mlir"))
        raise UserError(f"{path}: unknown file extension: expected {known}")
    from npu_tools.importers.onnx import build_module, load_file, read_table

    table = () if functions is None else read_table(functions)
    model = load_file(path, input_dims=input_dims, functions=table)
    return Loaded(model, build_module(model, name=path.stem, source=str(path)))


def parse_onnx(data: bytes, path: str | None, input_dims: Mapping[str, int]) -> ModuleOp:
    """Import an ONNX model from its bytes; `path` is its file, None for standard input.

    Raises: UserError if the model cannot be imported.
    """
    from npu_tools.importers.onnx import build_module, load_model

    source = path or "stdin"
    folder = Path(path).parent if path else None
    model = load_model(data, name=source, base_dir=folder, input_dims=input_dims)
    return build_module(model, name=Path(path).stem if path else "model", source=source)


def parse_torch(data: bytes, path: str | None, input_dims: Mapping[str, int]) -> ModuleOp:
    """Import a PyTorch export. torch reads it from its file; `data` is not used.

    Raises: UserError without a file, or if the model cannot be imported.
    """
    if path is None:
        raise UserError("a .pt2 model cannot come from standard input: expected its path")
    return load(Path(path), input_dims).module


def parse_pl330(data: bytes, path: str | None, input_dims: Mapping[str, int]) -> ModuleOp:
    """Import microcode of a PL-330, given as bytes or as lines of hex.

    Raises: UserError if it is no microcode, or none that the dialect can express.
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
