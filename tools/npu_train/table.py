"""The table of kept networks: accuracy, zero blocks, and the bytes that they move.

A network that is trained with Zebra gives a row for its threshold. One that is trained without
gives a row for each threshold of the others, put on it afterwards: what training saves beyond them.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from npu_plans.zero_blocks.model import index_bytes
from npu_tools.shared.errors import UserError
from npu_train import checkpoint
from npu_train.data import Classified, load, together, with_validation
from npu_train.distributed import Worker
from npu_train.export import export
from npu_train.loop import evaluate
from npu_train.measure import bytes_as_they_are, moved
from npu_train.models import ZebraOptions, add_zebra
from npu_train.pruning import finish
from npu_train.running import silent
from npu_train.stretches import Session, Settings, finished, plain
from npu_train.zebra import Zebra, zebras

ELEMENT_BYTES = 4
"""Networks are trained, exported and measured in float32."""


@dataclass(frozen=True)
class Measuring:
    """How rows are made.

    `data`: the images, as `load` takes them. `thresholds`: those that networks without Zebra get,
    in blocks of `block`. `images`: how many test images the C runs on; with 0 no C is made. `sram`:
    bytes of SRAM of its machine.
    """

    data: str
    thresholds: tuple[float, ...]
    block: int
    images: int
    sram: int


@dataclass(frozen=True)
class Row:
    """The results of one network with one threshold.

    `channels`, `weights`: the shares that were pruned. `trained`: whether it was trained with the
    threshold. `accuracy`, `validation`: the shares of right answers on all test and on all
    validation images. `zero_share`: of the elements behind ReLUs, on all test images. `once`: the
    share of bytes that these maps save if each moves once, with its index, as the paper counts.
    `reduced`: the share of bytes that the C saves in all its transfers, the mean of some test
    images. Both are against the maps of the unpruned network as they are. `differing`: the number
    of images for which C and torch find different classes.
    """

    seed: int
    channels: float
    weights: float
    threshold: float
    trained: bool
    accuracy: float
    validation: float | None
    zero_share: float
    once: float
    reduced: float | None
    differing: int


def line(row: Row) -> str:
    """A row in one line."""
    less = "" if row.reduced is None else f"{100 * row.reduced:.1f} % less is moved, "
    return (
        f"threshold {row.threshold:g}{' put on it' * (not row.trained)}: accuracy "
        f"{100 * row.accuracy:.2f} %, zero blocks {100 * row.zero_share:.1f} %, {less}each map "
        f"once {100 * row.once:.1f} %"
    )


@dataclass
class Table:
    """Makes rows; `most` holds the bytes of unpruned networks, by what they depend on."""

    measuring: Measuring
    place: Worker
    most: dict[tuple[str, float, int], int] = field(default_factory=dict[Any, int])

    def rows(self, network: Path) -> Iterator[Row]:
        """The rows of a network that npu-train has trained into a folder.

        Raises: UserError if it is not finished, or of other images; see `moved` for what the C
        raises.
        """
        settings = settings_in(network)
        data = with_validation(load(self.measuring.data), settings.validation, settings.recipe.seed)
        if (data.name, len(data.train)) != (settings.data, settings.images):
            raise UserError(
                f"{network}: trained on {settings.images} images of {settings.data}, not on "
                f"{len(data.train)} of {data.name}: expected another --data"
            )
        model = Session(settings, data, network, self.place, silent).run(resume=True)
        if settings.block is not None:
            file = network / "model.onnx" if self.measuring.images else None
            yield self.row(finished(model, data), file, settings, data)
            return
        finish(model)  # masks of pruned weights cannot be copied
        for threshold in self.measuring.thresholds:
            options = ZebraOptions(self.measuring.block, threshold)
            pruned = finished(with_zebra(model, options, data), data)
            at = replace(settings, threshold=threshold)
            if not self.measuring.images:
                yield self.row(pruned, None, at, data)
                continue
            with exported(pruned, data) as path:
                yield self.row(pruned, path, at, data)

    def row(
        self, model: nn.Module, exported_at: Path | None, settings: Settings, data: Classified
    ) -> Row:
        """The row of a finished network with Zebra modules; without its ONNX file, no C is run."""
        found = evaluate(model, data.held_out, self.place)
        watched = None if data.validation is None else evaluate(model, data.validation, self.place)
        assert found.zero_share is not None
        whole = self.whole(settings, data)
        maps, most = maps_of(model, data), maps_of(whole, data)
        elements = sum(prod(shape) for shape, _ in maps)
        index = sum(index_bytes(shape, block) for shape, block in maps)
        kept = (1 - found.zero_share) * elements * ELEMENT_BYTES + index
        reduced, differing = None, 0
        if exported_at is not None:
            less, differing = self.run(model, exported_at, settings, data)
            reduced = 1 - less / self.bytes(settings, whole, data)
        return Row(
            settings.recipe.seed,
            settings.prune_channels,
            settings.prune_weights,
            settings.threshold,
            settings.block is not None,
            found.accuracy,
            None if watched is None else watched.accuracy,
            found.zero_share,
            1 - kept / (sum(prod(shape) for shape, _ in most) * ELEMENT_BYTES),
            reduced,
            differing,
        )

    def run(
        self, model: nn.Module, path: Path, settings: Settings, data: Classified
    ) -> tuple[float, int]:
        """The bytes that the C of a network moves, and how many of its answers differ."""
        images, _ = together(data.held_out, range(min(self.measuring.images, len(data.held_out))))
        block = settings.block or self.measuring.block
        found = moved(path, block, self.measuring.sram, np.asarray(images))
        with torch.no_grad():
            answers = model.eval()(images.to(self.place.device)).argmax(1)
        differing = sum(int(one) != two for one, two in zip(answers, found.answers, strict=True))
        return found.bytes, differing

    def whole(self, settings: Settings, data: Classified) -> nn.Module:
        """The unpruned network, with a Zebra module for each map."""
        block = settings.block or self.measuring.block
        return with_zebra(plain(settings, data), ZebraOptions(block, 0.0), data).eval()

    def bytes(self, settings: Settings, whole: nn.Module, data: Classified) -> int:
        """The bytes that the unpruned network moves without compression, for any weights."""
        block = settings.block or self.measuring.block
        key = settings.model, settings.width, block
        if key not in self.most:
            with exported(whole, data) as path:
                self.most[key] = bytes_as_they_are(path, block, self.measuring.sram)
        return self.most[key]


def with_zebra(model: nn.Module, options: ZebraOptions, data: Classified) -> nn.Module:
    """A copy of a network with a Zebra module behind each ReLU."""
    channels, size = data.shape
    pruned = copy.deepcopy(model)
    add_zebra(pruned, options, channels=channels, size=size)
    return pruned


def settings_in(network: Path) -> Settings:
    """The settings of a finished training.

    Raises: UserError if it is not finished.
    """
    found = checkpoint.parsed(network / checkpoint.NAME)
    settings = Settings.of(found.settings)
    if not found.stretch or found.done < settings.recipe.epochs:
        raise UserError(
            f"{network}: {found.done} of {settings.recipe.epochs} epochs are done: npu-train "
            "--resume goes on"
        )
    return settings


def maps_of(model: nn.Module, data: Classified) -> list[tuple[tuple[int, ...], int]]:
    """The shape [C, H, W] and the block of each map that passes a Zebra module."""
    maps: list[tuple[tuple[int, ...], int]] = []

    def note(module: nn.Module, _: object, output: Tensor) -> None:
        assert isinstance(module, Zebra)
        maps.append((tuple(output.shape[1:]), module.block))

    hooks = [zebra.register_forward_hook(note) for zebra in zebras(model)]
    image, _ = data.held_out[0]
    with torch.no_grad():
        model.eval()(image[None].to(next(model.parameters()).device))
    for hook in hooks:
        hook.remove()
    return maps


@contextmanager
def exported(model: nn.Module, data: Classified) -> Generator[Path]:
    """Export a network to a temporary ONNX file, removed at the end."""
    channels, size = data.shape
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        path = Path(folder) / "network.onnx"
        export(model, path, channels, size)
        yield path
