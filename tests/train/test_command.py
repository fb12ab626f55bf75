"""The command npu-train: its files, several processes, and users' mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from helpers.train_files import cifar_binary
from npu_tools.commands import compile
from npu_train import main
from npu_train.checkpoint import NAME
from npu_train.data import load
from npu_train.stretches import LOG

SMALL = ["--model", "resnet18", "--width", "0.03125", "--batch", "10"]
ZEBRA = ["--block", "4", "--threshold", "0.05", "--regularisation", "0.5"]
PRUNED = ["--pretrain", "1", "--slimming", "1e-3", "--prune-channels", "0.2"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A CIFAR-10 with twenty images to train on."""
    folder = tmp_path_factory.mktemp("cifar")
    cifar_binary(folder)
    return f"cifar10:{folder}"


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The message of a run that fails."""
    assert main.main(arguments) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("npu-train: error: ")
    return error.removeprefix("npu-train: error: ").strip()


def test_from_images_to_c(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All files are written, and npu-compile accepts the network."""
    out = tmp_path / "out"
    options = ["--data", data, *SMALL, *ZEBRA, *PRUNED, "--epochs", "1", "--out", str(out)]
    assert main.main([*options, "--prune-weights", "0.2"]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "pre-training epoch 1/1, loss " in said
    assert f"wrote {out / 'model.onnx'}" in said
    names = ["calibration.npz", NAME, LOG, "model.onnx"]
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    entries = [json.loads(line) for line in (out / LOG).read_text().splitlines()]
    assert [(entry["stretch"], entry["epoch"]) for entry in entries] == [(0, 1), (1, 1)]
    images = np.load(out / "calibration.npz")["input"]
    assert (images.shape, images.dtype) == ((16, 3, 32, 32), np.float32)
    np.testing.assert_array_equal(images[3], np.asarray(load(data).train[3][0]))
    model = [str(out / "model.onnx"), "--target", "exynos-npu", "-o", str(tmp_path / "c")]
    calibrated = ["--pipeline", "zero-blocks", "--calibrate", str(out / "calibration.npz")]
    assert compile.main([*model, *calibrated]) == 0, capsys.readouterr().err


def test_resumed(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs give the same network, and a finished run with --resume exports it again."""
    options = ["--data", data, *SMALL, "--epochs", "2", "--out"]
    assert main.main([*options, str(tmp_path / "a")]) == 0
    assert main.main([*options, str(tmp_path / "b")]) == 0
    networks = [(tmp_path / name / "model.onnx").read_bytes() for name in "ab"]
    assert networks[0] == networks[1]
    assert "is there already" in failing([*options, str(tmp_path / "b")], capsys)
    (tmp_path / "b" / "model.onnx").unlink()
    assert main.main([*options, str(tmp_path / "b"), "--resume"]) == 0
    assert (tmp_path / "b" / "model.onnx").read_bytes() == networks[0]
    other = [*options, str(tmp_path / "b"), "--momentum", "0.5", "--resume"]
    assert "made with momentum 0.9, not 0.5" in failing(other, capsys)
    other = ["--data", data, *SMALL, "--epochs", "1", "--out", str(tmp_path / "b"), "--resume"]
    assert "trained for 2 epochs: expected --epochs of at least that, not 1" in failing(
        other, capsys
    )


def two_processes(*arguments: str) -> str:
    """The output of two processes that torchrun starts."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


SPREAD = [*SMALL, *ZEBRA, *PRUNED, "--epochs", "1", "--resume=auto"]

THREADS = """
import sys
from pathlib import Path
from npu_train import main
assert main.main(sys.argv[1:]) == 0
print("threads:", *(file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")))
"""


@pytest.fixture(scope="module")
def undisturbed(data: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A training in two processes: its folder, and what it prints."""
    folder = tmp_path_factory.mktemp("spread")
    script = folder / "threads.py"
    script.write_text(THREADS)
    out = folder / "out"
    return out, two_processes(str(script), "--data", data, *SPREAD, "--out", str(out))


def test_two_processes(undisturbed: tuple[Path, str]) -> None:
    """With torchrun only the first process writes files and prints."""
    out, said = undisturbed
    assert said.count("epoch 1/1") == 2
    assert said.count("exported: ") == 1
    entries = [json.loads(line) for line in (out / LOG).read_text().splitlines()]
    assert [(entry["stretch"], entry["epoch"]) for entry in entries] == [(0, 1), (1, 1)]
    assert all(0 <= entry["accuracy"] <= 1 for entry in entries)
    assert (out / "model.onnx").stat().st_size > 10000


def test_no_thread_of_gloo_is_left(undisturbed: tuple[Path, str]) -> None:
    """A thread that outlives the group can abort the process when the interpreter ends."""
    threads = [line for line in undisturbed[1].splitlines() if line.startswith("threads: ")]
    assert len(threads) == 2
    assert not any("gloo" in line for line in threads)


KILLED = """
import os, signal, sys
from pathlib import Path
from npu_train import main
from npu_train.loop import Training

mark, *arguments = sys.argv[1:]
whole = Training.epoch

def epoch(self, rate):
    if self.offset == 1 and os.environ["RANK"] == "1" and not Path(mark).exists():
        Path(mark).write_text("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(self, rate)

Training.epoch = epoch
sys.exit(main.main(arguments))
"""


def test_torchrun_restarts(data: str, tmp_path: Path, undisturbed: tuple[Path, str]) -> None:
    """One of two processes is killed; torchrun starts both again, and the weights are the same."""
    script, mark, out = (tmp_path / name for name in ("killed.py", "mark", "out"))
    script.write_text(KILLED)
    options = ["--data", data, *SPREAD, "--out", str(out)]
    said = two_processes("--max-restarts=1", str(script), str(mark), *options)
    assert mark.read_text() == "killed"
    assert said.count("epoch 1/1") == 2
    assert (out / "model.onnx").read_bytes() == (undisturbed[0] / "model.onnx").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--data", "mnist"],
            "--data mnist: expected digits, cifar10:FOLDER, cifar100:FOLDER, tiny",
        ),
        (["--data", "cifar10:/nowhere"], "/nowhere: not CIFAR-10: expected data_batch_1"),
        (["--data", "tiny-imagenet:/nowhere"], "/nowhere: not Tiny-ImageNet: no train/*/images"),
        (["--model", "lenet"], "network 'lenet': expected vgg16, resnet18, resnet56, mobilenet"),
        (["--width", "0"], "width 0.0: expected a finite number above 0"),
        (["--width", "0.001"], "a layer of 64 channels would have none"),
        (["--block", "0"], "argument --block: expected an integer of at least 1, got '0'"),
        (["--block", "64", "--pretrain", "9"], "block size 64: expected at most the image's 32"),
        (["--block", "4", "--threshold", "-1"], "threshold -1.0: expected a finite number"),
        (["--block", "4", "--threshold", "nan"], "threshold nan: expected a finite number"),
        (["--block", "4", "--regularisation", "inf"], "--regularisation inf: expected a finite"),
        (["--threshold", "0.2"], "--threshold is for Zebra: expected --block too"),
        (["--regularisation", "1"], "--regularisation is for Zebra: expected --block too"),
        (["--tuning-rate", "0.1"], "--tuning-rate is for the epochs after --pretrain"),
        (["--tuning-rate", "-1", "--pretrain", "1"], "--tuning-rate -1.0: expected a finite"),
        (["--clip", "nan"], "--clip nan: expected a finite number of at least 0"),
        (["--precision", "int8"], "--precision int8: expected float32, bfloat16, float16"),
        (["--validation", "1"], "--validation 1.0: expected at least 0 and less than 1"),
        (["--image-size", "8"], "--image-size 8: only --data folder:FOLDER scales its images"),
        (["--module", "a.py:b"], "argument --module: not allowed with argument --model"),
        (["--weights", "/nowhere"], "--weights /nowhere: no such file; expected a .safetensors"),
        (["--sync-batch-norm"], "--sync-batch-norm: expected several processes on GPUs"),
        (["--resume=often"], "argument --resume: invalid choice: 'often'"),
        (["--prune-weights", "0.5"], "pruning needs a trained network: expected --pretrain"),
        (["--prune-channels", "2"], "share 2.0: expected at least 0 and less than 1"),
        (["--epochs", "0"], "argument --epochs: expected an integer of at least 1"),
        (["--resume"], "no checkpoint.pt: nothing to --resume"),
        (["--seed", str(2**63)], f"--seed {2**63}: expected less than 2 to the 63"),
        (["--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_what_users_get_wrong(
    data: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    common = ["--data", data, *SMALL, "--epochs", "1", "--out", str(tmp_path / "out")]
    assert message in failing([*common, *options], capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--module", "net"], "--module net: expected FILE.py:FACTORY"),
        (["--module", "n.py:N", "--width", "1"], "--width is for --model: a module has its own"),
        (["--model", "n.py:N"], "--model n.py:N: expected --module n.py:N"),
        (["--module", "n.py:N"], "--module n.py:N: no file n.py"),
        ([], "one of the arguments --model --module is required"),
    ],
)
def test_networks_that_cannot_be(
    data: str, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert message in failing(["--data", data, *options, "--out", "/nowhere/out"], capsys)


NET = """
from torch import nn

class Net(nn.Sequential):
    def __init__(self, classes, channels):
        super().__init__(
            nn.Conv2d(channels, 4, 3), nn.ReLU6(), nn.Dropout(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(4, classes),
        )
"""


def test_a_module_and_validation(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A network and images of one's own become C; the test images are read once, at the end."""
    (tmp_path / "net.py").write_text(NET)
    out = tmp_path / "out"
    module = ["--module", f"{tmp_path / 'net.py'}:Net", "--block", "4", "--epochs", "2"]
    options = ["--data", data, *module, "--batch", "5", "--out", str(out), "--validation", "0.3"]
    assert main.main([*options, "--resume=auto"]) == 0, capsys.readouterr().err
    first = (out / "model.onnx").read_bytes()
    assert "on test images that are read once, now" in capsys.readouterr().out
    assert main.main([*options, "--resume=auto"]) == 0, capsys.readouterr().err
    assert (out / "model.onnx").read_bytes() == first
    *epochs, last = [json.loads(line) for line in (out / LOG).read_text().splitlines()]
    assert [entry["epoch"] for entry in epochs] == [1, 2]
    assert list(last) == ["test"]
    model = [str(out / "model.onnx"), "--target", "exynos-npu", "-o", str(tmp_path / "c")]
    assert compile.main([*model, "--pipeline", "zero-blocks"]) == 0, capsys.readouterr().err


def test_a_module_that_cannot_be_exported(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused before the first epoch, and nothing is written."""
    (tmp_path / "net.py").write_text(NET.replace("nn.Dropout()", "nn.FractionalMaxPool2d(2, 5)"))
    options = ["--data", data, "--module", f"{tmp_path / 'net.py'}:Net"]
    message = failing([*options, "--out", str(tmp_path / "out")], capsys)
    assert "torch.onnx.export cannot export this network" in message or "other results" in message
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("mine")
    options = ["--data", data, *SMALL, "--epochs", "1", "--out", str(tmp_path / "out")]
    assert f"cannot write into {tmp_path / 'out'}" in failing(options, capsys)
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("arguments", [["sweep", "--out", "x"], ["--data", "digits"]])
def test_without_torch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Without torch, there is one message that names the extra."""

    def found(name: str) -> object:
        return None if name == "torch" else find_spec(name)

    monkeypatch.setattr(main, "find_spec", found)
    options = arguments if arguments[0] == "sweep" else [*arguments, *SMALL, "--out", "x"]
    message = failing(options, capsys)
    assert message == "npu-train needs torch: pip install 'npu-dialect[train]'"


@pytest.mark.parametrize(
    ("package", "data", "named"),
    [("sklearn.datasets", "digits", "scikit-learn"), ("PIL.Image", "tiny-imagenet", "Pillow")],
)
def test_without_what_reads_the_data(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    package: str,
    data: str,
    named: str,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    if data != "digits":
        from helpers.train_files import tiny_imagenet

        monkeypatch.undo()
        tiny_imagenet(tmp_path)
        monkeypatch.setitem(sys.modules, package, None)
        data = f"{data}:{tmp_path}"
    options = ["--data", data, *SMALL, "--out", str(tmp_path / "out")]
    assert f"needs {named}: pip install 'npu-dialect[train]'" in failing(options, capsys)


def test_no_torch_is_imported_for_help() -> None:
    """`--help` and wrong options answer at once, with or without torch."""
    code = (
        "import sys; from npu_train.main import main; code = main(['--data', 'digits']);"
        "print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "1 False\n"
    assert "the following arguments are required: --out" in done.stderr
