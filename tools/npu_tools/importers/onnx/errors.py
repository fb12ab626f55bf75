"""What can be wrong with a model, and how it reaches the person who gave it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from google.protobuf.message import DecodeError, EncodeError

from npu_tools.shared.errors import UserError


class ModelError(Exception):
    """The model is wrong: what is wrong, what would be right (without the file's name)."""


class NodeError(Exception):
    """One node is wrong or unsupported: why, and what would be right (without the node's name)."""


@contextmanager
def diagnosed(source: str) -> Generator[None]:
    """Turn what a bad model causes into one `UserError` that starts with the file's name.

    Protocol buffers check text only when it is read, so a damaged name shows up late.
    """
    try:
        yield
    except ModelError as error:
        raise UserError(f"{source}: {error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{source}: damaged ONNX model: a name is not UTF-8 text") from error
    except (DecodeError, EncodeError, RecursionError) as error:
        raise UserError(
            f"{source}: not an ONNX model, or a damaged or truncated one: {first_line(error)}"
        ) from error
    except MemoryError as error:
        raise UserError(f"{source}: not enough memory for the tensors of this model") from error


def first_line(error: Exception) -> str:
    """The first line of an exception's text that says something, or its class."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)
