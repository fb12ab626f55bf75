"""The image pipeline in C, compared with the same in numpy."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.paths import LENET5_FOLDER

HERE = LENET5_FOLDER
WARNINGS = "-O2 -Wall -Wextra -Werror -pedantic".split()
EVERY_GREY = np.arange(256, dtype=np.uint8)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("image") / "image.so"
    command = ["cc", "-std=c99", *WARNINGS, "-shared", "-fPIC", str(HERE / "image.c")]
    subprocess.run([*command, "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def in_numpy(camera: NDArray[np.uint8]) -> NDArray[np.float32]:
    ink = 255 - camera.astype(np.int64)
    return np.where(ink < 100, 0, ink).astype(np.float32) / np.float32(255)


def in_c(library: ctypes.CDLL, camera: NDArray[np.uint8]) -> NDArray[np.float32]:
    output = np.full(len(camera), np.nan, dtype=np.float32)
    library.image_to_input(
        ctypes.c_void_p(camera.ctypes.data),
        ctypes.c_void_p(output.ctypes.data),
        ctypes.c_size_t(len(camera)),
    )
    return output


def test_every_grey_value(pipeline: ctypes.CDLL) -> None:
    np.testing.assert_array_equal(in_c(pipeline, EVERY_GREY), in_numpy(EVERY_GREY))


@pytest.mark.parametrize(
    ("camera", "expected"),
    [(0, 255 / 255), (99, 156 / 255), (100, 155 / 255), (155, 100 / 255), (156, 0), (255, 0)],
)
def test_the_cut_is_behind_the_inversion(
    pipeline: ctypes.CDLL, camera: int, expected: float
) -> None:
    assert in_c(pipeline, np.array([camera], dtype=np.uint8))[0] == np.float32(expected)


def test_in_place(pipeline: ctypes.CDLL) -> None:
    camera = np.random.default_rng(0).permutation(np.repeat(EVERY_GREY, 4))
    memory = np.zeros(4 * len(camera), dtype=np.uint8)
    memory[: len(camera)] = camera
    place = ctypes.c_void_p(memory.ctypes.data)
    pipeline.image_to_input(place, place, ctypes.c_size_t(len(camera)))
    np.testing.assert_array_equal(memory.view(np.float32), in_numpy(camera))


def test_no_pixels(pipeline: ctypes.CDLL) -> None:
    assert len(in_c(pipeline, np.zeros(0, dtype=np.uint8))) == 0


def test_it_is_cpp_too(tmp_path: Path) -> None:
    command = ["c++", "-std=c++17", *WARNINGS, "-x", "c++", "-c", str(HERE / "image.c")]
    subprocess.run([*command, "-o", str(tmp_path / "image.o")], check=True)
