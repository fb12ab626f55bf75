"""Networks from users' files: each ReLU becomes an activation, and what cannot be is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from npu_tools.shared.errors import UserError
from npu_train.loop import seeded
from npu_train.models import ZebraOptions, add_zebra, build, check_activations
from npu_train.models.parts import Activation, activations
from npu_train.weights import fill
from npu_train.zebra import zebras

SOURCE = """
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self, classes, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.act = nn.ReLU()
        self.six = nn.ReLU6()
        self.head = nn.Linear(4, classes)
        self.unused = nn.ReLU()

    def forward(self, x):
        x = self.act(self.first(x))
        y = self.act(self.norm(self.second(x)))
        y = 20 * y + torch.relu(x - 0.1) + (x - 0.2).relu()
        y = self.six(y)
        y = F.dropout(y.mean((2, 3)), 0.25, training=self.training)
        return self.head(F.relu(y))

class InPlace(Net):
    def forward(self, x):
        x = self.first(x)
        y = x + 1
        F.relu(x, inplace=True)
        return self.head((x * y - x).mean((2, 3)))

class Smooth(Net):
    def forward(self, x):
        return self.head(F.silu(self.first(x)).relu().mean((2, 3)))

class SmoothLayer(Net):
    def __init__(self, classes, channels):
        super().__init__(classes, channels)
        self.act = nn.Sequential(nn.Hardswish())

class Flow(Net):
    def forward(self, x):
        return super().forward(x if x.sum() > 0 else 2 * x)

class Modes(Net):
    def forward(self, x):
        return super().forward(2 * x if self.training else x)

class View(Net):
    def forward(self, x):
        y = x * 1
        part = y[:, :1]
        y.relu_()
        return self.head((self.first(y) * part).mean((2, 3)))

class Bare(Net):
    def forward(self, x):
        return self.head(self.first(x).mean((2, 3)))

def fails(): raise RuntimeError("no such\\nthing")
def needs(depth): return None
def nothing(): return 3
def empty(): return nn.ReLU()
def wide(channels): return Net(7, channels)
def old(classes): return Net(classes, 1)
instance = Net(3, 3)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of networks."""
    found = tmp_path_factory.mktemp("modules") / "nets.py"
    found.write_text(SOURCE)
    return found


def network(path: Path, name: str, seed: int = 0) -> nn.Module:
    seeded(seed)
    return build(f"{path}:{name}", classes=3, channels=3, size=8, zebra=None)


def original(name: str) -> nn.Module:
    """The network as its file has it, with the same weights."""
    names: dict[str, Any] = {}
    seeded(0)
    exec(SOURCE, names)  # draws weights, as for `instance`
    return names[name](3, 3)


@pytest.mark.parametrize(("name", "count"), [("Net", 6), ("InPlace", 1)])
def test_each_relu_is_an_activation(path: Path, name: str, count: int) -> None:
    """Modules that are called twice, functions and methods; results and names stay."""
    found, plain = network(path, name).eval(), original(name).eval()
    assert len(activations(found)) == count
    sixes = [place for place in activations(found) if isinstance(place.relu, nn.ReLU6)]
    assert len(sixes) == (name == "Net")
    images = 3 * torch.randn(5, 3, 8, 8)
    assert torch.equal(found(images), plain(images))
    assert set(found.state_dict()) <= set(plain.state_dict())
    assert found.train().training


def test_dropout_knows_its_mode(path: Path) -> None:
    model, images = network(path, "Net"), torch.rand(2, 3, 8, 8)
    (drop,) = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    assert drop.p == 0.25
    assert torch.equal(model.eval()(images), model(images))


def test_zebra_is_behind_maps_only(path: Path) -> None:
    """The ReLU of the classifier has no rows and columns."""
    model = network(path, "Net")
    add_zebra(model, ZebraOptions(4, 0.5), channels=3, size=8)
    assert len(zebras(model)) == 5
    assert all(place.zebra is not None for place in activations(model)[:5])
    low = Activation(nn.ReLU6())
    assert low(torch.tensor([-1.0, 7.0])).tolist() == [0.0, 6.0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Smooth", "value silu is silu, whose results are hardly ever zero: --block needs ReLU"),
        ("SmoothLayer", "layer act.0 is Hardswish, whose results are hardly ever zero"),
        ("Bare", "the network has no ReLU and no ReLU6"),
    ],
)
def test_networks_without_zeros(path: Path, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_activations(network(path, name))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Flow", "torch.fx cannot read this network: TraceError: "),
        ("Modes", "forward does something else in training than in evaluation"),
        ("View", "torch.fx reads a network with other results"),
        ("fails", "RuntimeError: no such$"),
        ("needs", "TypeError: .*depth"),
        ("nothing", "expected an nn.Module, got int"),
        ("empty", "the network has no weights"),
        ("wide", r"expected logits \[N, 3\] of images \[N, 3, 8, 8\], got \[2, 7\]"),
        ("old", r"on images \[2, 3, 8, 8\]: RuntimeError: "),
        ("instance", "expected a function or class instance in "),
        ("torch", "expected a function or class torch in "),
        ("missing", "expected a function or class missing in "),
        ("a b", "expected FILE.py:FACTORY"),
    ],
)
def test_modules_that_cannot_be(path: Path, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        network(path, name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("def (", "SyntaxError: "),
        ("import nowhere_to_be_found", "ModuleNotFoundError: "),
        (None, "no file "),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "nets.py").write_text(content)
    with pytest.raises(UserError, match=message):
        network(tmp_path / "nets.py", "Net")


def test_weights(path: Path, tmp_path: Path) -> None:
    """All weights are read; a classifier for other classes stays, any other shape is an error."""
    library: Any = pytest.importorskip("safetensors.torch")
    model, other = network(path, "Net"), network(path, "Net", seed=1)
    state = dict(other.state_dict())
    file = tmp_path / "w.safetensors"
    library.save_file({n: v for n, v in state.items() if "tracked" not in n}, file)
    assert fill(model, file) == ()
    assert all(torch.equal(model.state_dict()[name], state[name]) for name in state)
    head = {"head.weight": torch.zeros(9, 4), "head.bias": torch.zeros(9)}
    library.save_file(state | head, file)
    model = network(path, "Net")
    assert fill(model, file) == ("head.weight", "head.bias")
    assert torch.equal(model.state_dict()["first.weight"], state["first.weight"])
    for changed, message in (
        ({"first.bias": torch.zeros(5)}, r"first.bias is \[5\], expected \[4\]"),
        ({"more": torch.zeros(5)}, "the network has no more"),
        ({"first.bias": torch.full((4,), torch.nan)}, "first.bias has elements that are not fin"),
    ):
        library.save_file(state | changed, file)
        with pytest.raises(UserError, match=message):
            fill(model, file)
    library.save_file({}, file)
    with pytest.raises(UserError, match=r"it has no tensor first.weight"):
        fill(model, file)
    for content in (b"", b"\xff" * 64, (2**40).to_bytes(8, "little") + b"{}"):
        file.write_bytes(content)
        with pytest.raises(UserError, match=r"not a .safetensors file"):
            fill(model, file)
    with pytest.raises(UserError, match="no such file"):
        fill(model, tmp_path / "none")
