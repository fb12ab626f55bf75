"""Reads external data: tensors whose bytes lie in files beside the model.

The file's name comes from the model, so it is not trusted. Only regular files inside the model's
folder are read, and only as many bytes as the tensor's shape needs.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from onnx import TensorProto

from npu_tools.importers.onnx.errors import ModelError
from npu_tools.importers.onnx.tensors import expected_bytes

LARGEST_TOTAL = 2**31 - 1
"""Most bytes of all external tensors together, which one ONNX message can hold."""


class ExternalData:
    """Reads external tensors from files in `base_dir` into their messages.

    `total` is how many bytes it has read so far.
    """

    def __init__(self, base_dir: Path | None) -> None:
        self.base_dir = base_dir
        self.total = 0

    def resolve(self, tensor: TensorProto) -> None:
        """Read a tensor's external bytes into its message; do nothing if it has none.

        Raises: ModelError if the file is missing, too short or outside the folder, if the length
        does not fit the shape, or if all tensors together exceed `LARGEST_TOTAL`.
        """
        if tensor.data_location != TensorProto.EXTERNAL:
            return
        fields = {entry.key: entry.value for entry in tensor.external_data}
        size = expected_bytes(tensor)
        offset = number(tensor, fields, "offset", 0)
        length = number(tensor, fields, "length", size)
        if length != size:
            raise ModelError(
                f"tensor '{tensor.name}' has {length} bytes of external data; "
                f"expected {size} for its shape {list(tensor.dims)}"
            )
        self.total += size
        if self.total > LARGEST_TOTAL:
            raise ModelError("the external tensors take more than 2 GiB; expected a smaller model")
        tensor.raw_data = self.read(tensor, fields.get("location", ""), offset, size)
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]

    def read(self, tensor: TensorProto, location: str, offset: int, size: int) -> bytes:
        """Read `size` bytes at `offset` of a file.

        Raises: ModelError if that is not possible.
        """
        path = self.path(tensor, location)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read(size)
        except (OSError, OverflowError, ValueError) as error:  # an offset beyond 2^63
            raise ModelError(
                f"tensor '{tensor.name}': external file '{location}' cannot be read: {error}"
            ) from error
        if len(data) != size:
            raise ModelError(
                f"tensor '{tensor.name}': external file '{location}' is too short: "
                f"expected {size} bytes at offset {offset}, got {len(data)}"
            )
        return data

    def path(self, tensor: TensorProto, location: str) -> Path:
        """The path of an external file, after the checks that it lies inside the folder.

        Raises: ModelError if it does not, if it is missing, or if it is no regular file.
        """
        where = f"tensor '{tensor.name}': external file '{location}'"
        if self.base_dir is None:
            raise ModelError(f"{where} has no folder to lie in; expected the model as a file")
        parts = PurePosixPath(location).parts
        absolute = PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor
        if not parts or absolute or ".." in PureWindowsPath(location).parts or "\0" in location:
            raise ModelError(f"{where}: expected a path inside the folder of the model")
        try:
            base = self.base_dir.resolve(strict=True)
            path = (base / location).resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise ModelError(
                f"{where} does not exist; expected it in the folder of the model"
            ) from error
        if not path.is_relative_to(base):
            raise ModelError(f"{where} leads outside the folder of the model")
        if not path.is_file():
            raise ModelError(f"{where} is not a regular file")
        return path


def number(tensor: TensorProto, fields: dict[str, str], key: str, default: int) -> int:
    """A field of an external tensor as an integer of at least 0; `default` if it is missing.

    Raises: ModelError for any other text.
    """
    text = fields.get(key, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ModelError(f"tensor '{tensor.name}' has external {key} '{text}'; expected a number")
    return int(text)
