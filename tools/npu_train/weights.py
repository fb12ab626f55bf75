"""Reads trained weights from a .safetensors file into a network. Such files hold no code."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from npu_tools.shared.errors import UserError
from npu_train.data.images import needs
from npu_train.models.parts import named_modules


def read(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, by name.

    Raises: UserError if it is no .safetensors file, or if safetensors is not installed.
    """
    try:
        library: Any = import_module("safetensors.torch")
    except ImportError:
        raise needs("safetensors", "--weights") from None
    if not path.is_file():
        raise UserError(f"--weights {path}: no such file; expected a .safetensors file")
    try:
        return library.load_file(path)
    except Exception as error:  # of the library, and for types that torch lacks
        reason = str(error).partition("\n")[0]
        raise UserError(f"--weights {path}: not a .safetensors file: {reason}") from None


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file.

    Raises: UserError if it cannot be read.
    """
    if not path.is_file():
        raise UserError(f"--weights {path}: no such file; expected a .safetensors file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fill(model: nn.Module, path: Path) -> tuple[str, ...]:
    """Read the weights of a network; returns the names of those that stay as they are.

    Only the weights of the last fully connected layer or convolution may have another shape in the
    file, as for a network that was trained for other classes. They stay.

    Raises: UserError if the file is of another network; it names the first tensor.
    """
    held, state = read(path), model.state_dict()
    heads = [name for name, part in named_modules(model) if isinstance(part, nn.Conv2d | nn.Linear)]
    head = f"{heads[-1]}." if heads else ""
    stay: list[str] = []
    for name, value in state.items():
        if name not in held:
            if name.endswith("num_batches_tracked"):  # many files lack it, and it has no effect
                continue
            raise UserError(f"--weights {path}: it has no tensor {name}")
        if held[name].shape != value.shape:
            if not head or not name.startswith(head):
                raise UserError(
                    f"--weights {path}: {name} is {list(held[name].shape)}, expected "
                    f"{list(value.shape)}"
                )
            stay.append(name)
        elif not torch.isfinite(held[name]).all():
            raise UserError(f"--weights {path}: {name} has elements that are not finite")
    if unknown := [name for name in held if name not in state]:
        raise UserError(f"--weights {path}: the network has no {unknown[0]}")
    model.load_state_dict({n: v for n, v in held.items() if n not in stay}, strict=False)
    return tuple(stay)
