"""Data sets in their published layouts, and folders with wrong contents."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.train_files import cifar_binary, cifar_python, jpeg, pixels, tiny_imagenet
from npu_tools.shared.errors import UserError
from npu_train.data import load
from npu_train.data.cifar import TEN
from npu_train.data.digits import enlarged
from npu_train.data.pickles import byte_array, plain_pickle


def test_digits() -> None:
    """Black is 0, white is 1, and the split is always the same."""
    data = load("digits")
    again = load("digits")
    assert (len(data.train), len(data.held_out), data.shape) == (1350, 447, (1, 32))
    assert len(data.classes) == 10
    image, label = data.train[7]
    assert image.dtype == torch.float32
    assert torch.equal(image, again.train[7][0])
    assert label == again.train[7][1]
    images = torch.stack([data.train[index][0] for index in range(200)])
    assert (images.min(), images.max()) == (0, 1)
    assert set(data.train.labels) == set(data.held_out.labels) == set(range(10))


def test_digits_do_not_share_images() -> None:
    data = load("digits")
    held_out = {data.held_out[index][0].numpy().tobytes() for index in range(447)}
    train = {data.train[index][0].numpy().tobytes() for index in range(1350)}
    assert not held_out & train


def test_enlarged() -> None:
    """Interpolation is linear between centres of pixels, constant beyond the outer centres."""
    small = np.array([[[0.0, 4.0], [0.0, 4.0]]])
    assert enlarged(small, 4)[0].tolist() == [[0.0, 1.0, 3.0, 4.0]] * 4


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_cifar10_python(tmp_path: Path, protocol: int) -> None:
    cifar_python(tmp_path, protocol=protocol)
    data = load(f"cifar10:{tmp_path}")
    assert (len(data.train), len(data.held_out), data.shape) == (20, 4, (3, 32))
    image, label = data.train[5]  # the second of the second batch
    assert label == 2
    want = pixels(4, 1)[1].reshape(3, 32, 32) / 255
    want = (want - np.array(TEN.mean)[:, None, None]) / np.array(TEN.deviation)[:, None, None]
    np.testing.assert_allclose(image.numpy(), want, rtol=0, atol=1e-6)


def test_cifar10_of_python_2(tmp_path: Path) -> None:
    """Pickles of Python 2 have strings where those of Python 3 have bytes."""
    cifar_python(tmp_path)
    array = pixels(2).tobytes()
    head = b"\x80\x02}(U\x06labels](K\x03K\x04eU\x04data"  # {'labels': [3, 4], 'data': ...
    made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
    none = b"J\xff\xff\xff\xff"
    kind = b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNN" + none * 2 + b"K\x00tb"
    state = b"(K\x01K\x02M\x00\x0c\x86" + kind + b"\x89T" + len(array).to_bytes(4, "little")
    text = head + made + state + array + b"tbu."
    (tmp_path / "test_batch").write_bytes(text)
    data = load(f"cifar10:{tmp_path}")
    assert [data.held_out[index][1] for index in range(2)] == [3, 4]
    level = data.held_out[1][0][2, 31, 31] * TEN.deviation[2] + TEN.mean[2]
    assert round(float(level) * 255) == pixels(2)[1, -1]


@pytest.mark.parametrize("inside", ["cifar-10-batches-bin", "."])
def test_cifar10_binary_is_the_same(tmp_path: Path, inside: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b" / inside).mkdir(parents=True)
    cifar_python(tmp_path / "a")
    cifar_binary(tmp_path / "b" / inside)
    one, two = load(f"cifar10:{tmp_path / 'a'}"), load(f"cifar10:{tmp_path / 'b'}")
    assert torch.equal(one.train[13][0], two.train[13][0])
    assert list(one.train.labels) == list(two.train.labels)


class Runs:
    """A pickle of it evaluates an expression."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return eval, (self.text,)


def test_a_pickle_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    cifar_python(tmp_path, changed={b"data": Runs(f"open({str(mark)!r}, 'w')")})
    with pytest.raises(UserError, match=r"test_batch: not a batch .* names \w+\.eval"):
        load(f"cifar10:{tmp_path}")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({b"labels": [0, 1, 2, 10]}, "expected labels of 0 to 9"),
        ({b"labels": [0, 1, 2]}, r"expected 3072 bytes for each label, got \[4, 3072\] for 3"),
        ({b"labels": [0, 1, 2, "x"]}, "expected labels, a list of integers"),
        ({b"labels": None}, "expected labels, a list of integers"),
        ({b"data": np.zeros((4, 3072), np.float32)}, "no array of bytes"),
        ({b"data": np.zeros((4, 3071), np.uint8)}, "expected 3072 bytes"),
        ({b"data": b"bytes"}, "no array of bytes"),
    ],
)
def test_cifar10_with_other_contents(
    tmp_path: Path, changed: dict[bytes, Any], message: str
) -> None:
    cifar_python(tmp_path, changed=changed)
    with pytest.raises(UserError, match=f"test_batch: not a batch of CIFAR-10: .*{message}"):
        load(f"cifar10:{tmp_path}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no pickle of plain data"),
        (b"\x80\x02", "no pickle of plain data"),
        (b"\xff" * 40, "no pickle of plain data"),
        (pickle.dumps([1, 2]), "expected a dictionary"),
        (pickle.dumps(Path("x")), r"it names pathlib"),
    ],
)
def test_other_pickles(tmp_path: Path, content: bytes, message: str) -> None:
    cifar_python(tmp_path)
    (tmp_path / "data_batch_3").write_bytes(content)
    with pytest.raises(UserError, match=f"data_batch_3: not a batch of CIFAR-10: .*{message}"):
        load(f"cifar10:{tmp_path}")


def test_an_array_that_lies_about_its_shape() -> None:
    """The pickled state of an array is checked before numpy gets it."""
    content = pickle.dumps(np.zeros(16, np.uint8), protocol=2)
    assert byte_array(plain_pickle(content)).tolist() == [0] * 16
    with pytest.raises(ValueError, match="bytes do not fit its shape"):
        byte_array(plain_pickle(content.replace(b"K\x10\x85", b"K\x7f\x85")))


def test_cifar10_binary_of_another_size(tmp_path: Path) -> None:
    cifar_binary(tmp_path)
    (tmp_path / "test_batch.bin").write_bytes(bytes(3074))
    with pytest.raises(UserError, match="3074 bytes, expected a multiple of 3073"):
        load(f"cifar10:{tmp_path}")
    (tmp_path / "test_batch.bin").unlink()
    with pytest.raises(UserError, match=r"not CIFAR-10: no test_batch.bin; expected data_batch_1"):
        load(f"cifar10:{tmp_path}")


def test_tiny_imagenet(tmp_path: Path) -> None:
    tiny_imagenet(tmp_path)
    data = load(f"tiny-imagenet:{tmp_path}")
    assert (data.classes, data.shape) == (("n01", "n02"), (3, 64))
    assert list(data.train.labels) == [0, 0, 1]
    assert list(data.held_out.labels) == [1]
    levels = [float(data.train[index][0].mean(dim=(1, 2))[0]) for index in range(3)]
    np.testing.assert_allclose(levels, [(v / 255 - 0.485) / 0.229 for v in (10, 20, 30)], atol=0.01)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("val_0.JPEG\tn03\t0", r"val_annotations.txt:1: expected the name of a file .* 'val_0"),
        ("val_1.JPEG\tn02\t0", r"val_annotations.txt:1: expected the name of a file"),
        ("", "val/val_annotations.txt is empty"),
        (None, "not Tiny-ImageNet: no val/val_annotations.txt"),
    ],
)
def test_tiny_imagenet_with_other_annotations(
    tmp_path: Path, line: str | None, message: str
) -> None:
    tiny_imagenet(tmp_path)
    path = tmp_path / "val" / "val_annotations.txt"
    path.unlink()
    if line is not None:
        path.write_text(line)
    with pytest.raises(UserError, match=message):
        load(f"tiny-imagenet:{tmp_path}")


def test_tiny_imagenet_with_other_images(tmp_path: Path) -> None:
    tiny_imagenet(tmp_path)
    jpeg(tmp_path / "train/n01/images/n01_1.JPEG", (32, 64, 3))
    (tmp_path / "train/n02/images/n02_0.JPEG").write_bytes(b"GIF89a")
    data = load(f"tiny-imagenet:{tmp_path}")
    with pytest.raises(UserError, match=r"n01_1.JPEG: expected 64 x 64 pixels .* got 32 x 64"):
        data.train[1]
    with pytest.raises(UserError, match=r"n02_0.JPEG: not a JPEG image"):
        data.train[2]


@pytest.mark.parametrize("name", ["cifar10", "tiny-imagenet"])
@pytest.mark.parametrize("exists", [True, False])
def test_another_folder(tmp_path: Path, name: str, exists: bool) -> None:
    folder = tmp_path if exists else tmp_path / "none"
    with pytest.raises(UserError, match=rf"^{re.escape(str(folder))}: not .*; expected|: expected"):
        load(f"{name}:{folder}")


@pytest.mark.parametrize("text", ["mnist", "cifar10", "cifar10:", "digits:x", "", ":x"])
def test_unknown_data(text: str) -> None:
    with pytest.raises(UserError, match="expected digits, cifar10:FOLDER, cifar100:FOLDER, tiny"):
        load(text)
