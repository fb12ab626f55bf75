"""The importer's errors, and how they become one message for the user."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from google.protobuf.message import DecodeError, EncodeError

from npu_tools.shared.errors import UserError


class ModelError(Exception):
    """The model is wrong. The message says why and what is expected, not which file it is."""


class NodeError(Exception):
    """A node is wrong or unsupported. The message says why and what is expected, not which node."""


@contextmanager
def diagnosed(source: str) -> Generator[None]:
    """Turn each exception that a bad model causes into a `UserError` that starts with `source`.

    Protocol buffers check text only when it is read, so a damaged name is found late.
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
    """The first line of an exception's text that is not empty, or else its class."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)
