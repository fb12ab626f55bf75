"""`torch.export` files (.pt2) to ONNX bytes, through torch's own exporter.

Nothing here is needed for .onnx files; torch and onnxscript are imported on first use.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

from npu_tools.shared.errors import UserError


def exported_onnx(path: Path) -> bytes:
    """The ONNX model of a program that `torch.export.save` wrote.

    The file is read by `torch.export.load`, which unpickles parts of it: only load files that you
    trust, a .pt2 file can run code.

    Raises: UserError if the file, torch or onnxscript is missing, or it is no exported program.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    torch = required("torch", f"read {path}")
    required("onnxscript", f"read {path}")
    with quiet():
        program = loaded(torch, path)
        try:
            found = torch.onnx.export(program, dynamo=True, verbose=False)
            return bytes(found.model_proto.SerializeToString())
        except Exception as error:  # the exporter raises its own and Python's exceptions
            raise UserError(
                f"{path}: torch.onnx.export cannot export this program: {reason(error)}"
            ) from error


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Keep the exporter's progress and its warnings about other packages to itself."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def loaded(torch: Any, path: Path) -> Any:
    """The exported program of a file."""
    try:
        return torch.export.load(str(path))
    except Exception as error:  # zip, pickle and schema errors of any kind
        raise UserError(
            f"{path}: not a torch.export program: {reason(error)}; "
            "expected a file written by torch.export.save"
        ) from error


def reason(error: Exception) -> str:
    """The first line of an exception."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def required(package: str, task: str) -> Any:
    """An optional package that a task needs. Raises: UserError that says how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise UserError(f"{package} is needed to {task}; install npu-dialect[train]") from error
