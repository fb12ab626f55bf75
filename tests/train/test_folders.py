"""Data sets of the user's own: image folders, .npz files; CIFAR-100; what is split off."""

from __future__ import annotations

import os
import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.train_files import jpeg, pixels, squares
from npu_tools.shared.errors import UserError
from npu_train.data import Classified, load, with_validation
from npu_train.data.images import Images
from npu_train.loading import Reading, batches, delivered

pillow: Any = import_module("PIL.Image")


def three(folder: Path, count: int = 5) -> None:
    """Three classes of images of one colour; the levels of a class differ by one."""
    for number, name in enumerate(("ant", "bee", "cow")):
        for place in range(count):
            jpeg(folder / name / f"{place}.jpg", (20, 30, 3), 40 * number + place)


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    """A fifth of each class is held out; images are cut and scaled to one size."""
    three(tmp_path)
    (tmp_path / "bee" / "notes.txt").write_text("no image")
    (tmp_path / ".cache").mkdir()
    data = load(f"folder:{tmp_path}", 16)
    assert data.classes == ("ant", "bee", "cow")
    assert (len(data.train), len(data.held_out), data.shape) == (12, 3, (3, 16))
    assert sorted(data.held_out.labels) == [0, 1, 2]
    again = load(f"folder:{tmp_path}", 16)
    assert torch.equal(data.held_out[1][0], again.held_out[1][0])
    levels = [int(data.train.load(index)[0, 0, 0]) // 40 for index in range(12)]
    assert levels == data.train.labels.tolist()
    assert load(f"folder:{tmp_path}").shape == (3, 64)


def test_folders_for_training_and_tests(tmp_path: Path) -> None:
    three(tmp_path / "train", 2)
    three(tmp_path / "val", 1)
    data = load(f"folder:{tmp_path}", 8)
    assert (len(data.train), len(data.held_out), data.validation) == (6, 3, None)
    three(tmp_path / "test", 3)
    data = load(f"folder:{tmp_path}", 8)
    assert (len(data.held_out), len(data.watched)) == (9, 3)


def test_kinds_of_images(tmp_path: Path) -> None:
    """Grey, with a palette, transparent, or with 16 bits: all become three channels of bytes."""
    for place, mode in enumerate(("L", "P", "RGBA", "I;16", "1", "LA")):
        name = tmp_path / "ab"[place % 2]
        name.mkdir(exist_ok=True)
        pillow.new(mode, (9, 5)).save(name / f"{place}.png")
    data = load(f"folder:{tmp_path}", 4)
    assert {data.train.load(index).shape for index in range(len(data.train))} == {(3, 4, 4)}


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none: No such file or directory; expected a folder for"):
        load(f"folder:{tmp_path / 'none'}")
    with pytest.raises(UserError, match="expected a folder for each of at least two classes"):
        load(f"folder:{tmp_path}")
    three(tmp_path / "train")
    (tmp_path / "test" / "dog").mkdir(parents=True)
    with pytest.raises(UserError, match="dog: no such class is trained"):
        load(f"folder:{tmp_path}")
    (tmp_path / "test" / "dog").rmdir()
    with pytest.raises(UserError, match=r"ant: no image; expected files with .bmp"):
        load(f"folder:{tmp_path}")
    with pytest.raises(UserError, match="--image-size 5000: expected at most 4096"):
        load(f"folder:{tmp_path}", 5000)
    with pytest.raises(UserError, match="--image-size 32: only --data folder:FOLDER"):
        load("digits", 32)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_image(tmp_path: Path, workers: int) -> None:
    """The message is one line, also from a worker process; a pipe is no image."""
    three(tmp_path)
    os.mkfifo(tmp_path / "ant" / "pipe.png")
    data = load(f"folder:{tmp_path}", 8)
    (tmp_path / "cow" / "4.jpg").write_bytes((tmp_path / "cow" / "4.jpg").read_bytes()[:200])
    (tmp_path / "cow" / "3.jpg").write_bytes(b"\xff\xd8\xff")
    (tmp_path / "cow" / "2.jpg").write_bytes(b"")
    loader = batches(data.train, range(len(data.train)), 4, Reading(workers))
    with pytest.raises(UserError, match=r"^/[^\n]*cow/\d.jpg: not an image of BMP, [A-Z, ]*$"):
        list(delivered(loader))


def test_workers_give_the_same_batches() -> None:
    images = squares().train
    order = [5, 3, 30, 2, 9]
    for workers in (0, 2):
        found = list(delivered(batches(images, order, 2, Reading(workers))))
        assert [list(np.asarray(batch[2])) for batch in found] == [[5, 3], [30, 2], [9]]
        assert torch.equal(images.normalised(found[1][0])[1], images[2][0])
        assert list(np.asarray(found[0][1])) == [images[5][1], images[3][1]]
    assert len(batches(images, order, 2, whole=True)) == 2


@pytest.mark.parametrize("style", ["{}_images,{}_labels", "x_{},y_{}"])
def test_npz(tmp_path: Path, style: str) -> None:
    """Rows, columns, channels in either order; the names of MedMNIST and of Keras."""
    images, labels = style.split(",")
    generator = np.random.default_rng(0)
    levels = generator.integers(0, 256, (12, 6, 6, 3), np.uint8)
    held = {
        images.format("train"): levels,
        labels.format("train"): np.arange(12)[:, None] % 3,
        images.format("test"): levels[:4].transpose(0, 3, 1, 2),
        labels.format("test"): np.arange(4, dtype=np.uint8) % 3,
    }
    np.savez(tmp_path / "d.npz", **held)  # pyright: ignore[reportArgumentType]
    data = load(f"npz:{tmp_path / 'd.npz'}")
    assert (len(data.train), len(data.held_out), data.shape) == (12, 4, (3, 6))
    assert data.classes == ("0", "1", "2")
    assert torch.equal(data.train[2][0], data.held_out[2][0])
    whole = torch.stack([data.train[index][0] for index in range(12)])
    assert whole.mean((0, 2, 3)).abs().max() < 1e-4
    assert (whole.std((0, 2, 3), correction=0) - 1).abs().max() < 1e-4
    del held[images.format("test")]
    held[images.format("train")] = levels[..., 0] / 255
    np.savez(tmp_path / "d.npz", **held)  # pyright: ignore[reportArgumentType]
    data = load(f"npz:{tmp_path / 'd.npz'}")
    assert (len(data.train), len(data.held_out), data.shape) == (9, 3, (1, 6))
    assert 0 <= float(data.train[0][0].min()) < float(data.train[0][0].max()) <= 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x_train": np.zeros((4, 5, 6), np.uint8)}, r"x_train is \[4, 5, 6\], expected square"),
        ({"x_train": np.zeros((4, 5, 5), np.int64)}, "x_train is int64, expected uint8 or finite"),
        ({"x_train": np.full((4, 5, 5), np.nan)}, "expected uint8 or finite floats"),
        ({"x_train": np.zeros((0, 5, 5), np.uint8)}, "expected square images"),
        ({"y_train": np.zeros(3, int)}, r"y_train is int64 \[3\], expected 4 integers"),
        ({"y_train": np.zeros(4)}, r"y_train is float64 \[4\], expected 4 integers"),
        ({"y_train": np.array([0, 1, -1, 0])}, "expected labels from 0"),
        ({"y_train": np.array([0, 1, 2**40, 0])}, "expected labels from 0"),
        ({"y_test": np.array([5])}, "expected images and labels for tests as those for training"),
        ({"x_train": np.array([None])}, "expected an .npz file of numbers"),
    ],
)
def test_npz_with_other_contents(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    held = {"x_train": np.zeros((4, 5, 5), np.uint8), "y_train": np.array([0, 1, 0, 1])}
    held |= {"x_test": np.zeros((1, 5, 5), np.uint8), "y_test": np.array([0])}
    np.savez(tmp_path / "d.npz", **(held | changed))  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match=f"d.npz: .*{message}"):
        load(f"npz:{tmp_path / 'd.npz'}")


def test_other_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", a=np.zeros(3))
    with pytest.raises(UserError, match=r"expected the arrays x_train and y_train, .* got a"):
        load(f"npz:{tmp_path / 'd.npz'}")
    (tmp_path / "d.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(UserError, match=r"expected an .npz file"):
        load(f"npz:{tmp_path / 'd.npz'}")
    with pytest.raises(UserError, match="no such file"):
        load(f"npz:{tmp_path}")


@pytest.mark.parametrize("inside", [".", "cifar-100-python", "cifar-100-binary"])
def test_cifar100(tmp_path: Path, inside: str) -> None:
    """Of the two labels the fine one counts, in both versions."""
    place = tmp_path / inside
    place.mkdir(exist_ok=True)
    for seed, name in enumerate(("train", "test")):
        fine, coarse, rows = [99, 3, 42], [1, 2, 3], pixels(3, seed)
        if inside == "cifar-100-binary":
            labels = np.array([coarse, fine], np.uint8).T
            (place / f"{name}.bin").write_bytes(np.concatenate([labels, rows], 1).tobytes())
        else:
            batch = {b"fine_labels": fine, b"coarse_labels": coarse, b"data": rows}
            (place / name).write_bytes(pickle.dumps(batch, protocol=2))
    data = load(f"cifar100:{tmp_path}")
    assert (len(data.classes), data.train.labels.tolist()) == (100, [99, 3, 42])
    assert data.flips
    assert data.held_out.load(2).reshape(-1).tolist() == pixels(3, 1)[2].tolist()
    with pytest.raises(UserError, match="not CIFAR-10: expected data_batch_1"):
        load(f"cifar10:{tmp_path}")


def test_validation() -> None:
    """A share of each class is set apart, by the seed; the test images stay as they are."""
    data = squares()
    found, again, other = (with_validation(data, 0.25, seed) for seed in (0, 0, 1))
    assert found.validation is found.watched
    assert data.watched is data.held_out is found.held_out
    assert sorted(found.watched.labels) == [0] * 4 + [1] * 4
    assert (found.watched.labels.tolist(), len(found.train)) == (again.watched.labels.tolist(), 24)
    parts = [keys(found.train), keys(found.watched)]
    assert not parts[0] & parts[1]
    assert parts[0] | parts[1] == keys(data.train)
    assert keys(other.watched) != parts[1] == keys(again.watched)
    assert with_validation(data, 0.0, 0) is data


def keys(images: Images) -> set[bytes]:
    """The images by their bytes."""
    return {images[index][0].numpy().tobytes() for index in range(len(images))}


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (1.0, "--validation 1.0: expected at least 0 and less than 1"),
        (float("nan"), "--validation nan"),
        (0.001, "32 images are too few to set a share of 0.001 apart"),
    ],
)
def test_validation_that_cannot_be(share: float, message: str) -> None:
    data: Classified = squares()
    with pytest.raises(UserError, match=message):
        with_validation(data, share, 0)
