"""Converts `torch.export` files (.pt2) to ONNX with torch's own exporter.

torch and onnxscript are imported on first use, so .onnx files need neither.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

from npu_tools.shared.errors import UserError


def exported_onnx(path: Path) -> bytes:
    """The bytes of an ONNX model for a program that `torch.export.save` wrote.

    `torch.export.load` reads the file and unpickles parts of it. A .pt2 file can so run code: only
    load files that you trust.

    Raises: UserError if the file, torch or onnxscript is missing, if the file is no exported
    program, or if torch cannot export it.
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
    """Suppress the exporter's output, warnings and log messages up to WARNING."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def loaded(torch: Any, path: Path) -> Any:
    """Load the exported program of a file.

    Raises: UserError if the file is no exported program.
    """
    try:
        return torch.export.load(str(path))
    except Exception as error:  # zip, pickle and schema errors of any kind
        text = reason(error)
        # torch logs why a damaged archive cannot be read, and points to that; `quiet` drops it.
        why = "" if re.search(r"\b(warnings?|logs?|above)\b", text, re.IGNORECASE) else f": {text}"
        raise UserError(
            f"{path}: not a torch.export program, or a damaged one{why}; "
            "expected a file written by torch.export.save"
        ) from error


def reason(error: Exception) -> str:
    """The first line of an exception's text, or its class if it has no text."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def required(package: str, task: str) -> Any:
    """Import an optional package that a task needs.

    Raises: UserError that says how to install it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise UserError(f"{package} is needed to {task}; install npu-dialect[train]") from error
