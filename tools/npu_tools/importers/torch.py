"""Converts `torch.export` files (.pt2) to ONNX with torch's own exporter.

torch and onnxscript are imported on first use, so .onnx files need neither.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Generator, Iterator
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
            found = converted(torch, program)
            return bytes(found.model_proto.SerializeToString())
        except Exception as error:  # the exporter raises its own and Python's exceptions
            raise UserError(
                f"{path}: torch.onnx.export cannot export this program: {cause(error)}"
            ) from error


def converted(torch: Any, program: Any) -> Any:
    """torch's own conversion of a program to ONNX.

    An operator that torch converts in some forms only, such as attention without heads, is first
    replaced by those that torch defines it by.
    """
    replaced: set[Any] = set()
    while True:
        try:
            return torch.onnx.export(program, dynamo=True, verbose=False)
        except Exception as error:  # the exporter raises its own and Python's exceptions
            operator = refused(program, error)
            definitions = torch.export.default_decompositions()
            if operator not in definitions or operator in replaced:
                raise
            program = program.run_decompositions({operator: definitions[operator]})
            replaced.add(operator)


def refused(program: Any, error: Exception) -> Any:
    """The operator of the node that torch could not convert; None if it names no node."""
    name = named_node(error)
    return next((node.target for node in program.graph.nodes if node.name == name), None)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, that which caused it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__


def named_node(error: Exception) -> str | None:
    """The node whose translation failed, as torch's exceptions name it."""
    matches = (re.search(r"translating node %(\w+)", str(each)) for each in chain(error))
    return next((match[1] for match in matches if match), None)


def cause(error: Exception) -> str:
    """The node that torch could not convert, if it names one, and the first cause."""
    *_, first = chain(error)
    name = named_node(error)
    return f"node '{name}': {reason(first)}" if name else reason(first)


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


def reason(error: BaseException) -> str:
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
