"""Networks from users' Python files, with an `Activation` in place of each ReLU.

    --module net.py:Net     calls Net(classes=..., channels=..., size=...), with those that it takes

The file is run: it is the user's program. torch.fx then reads the network's graph, and each ReLU or
ReLU6, be it a module, a function or a method, becomes an `Activation` of its own. Zebra modules can
be added behind these.

    before   def forward(self, x): return self.head(F.relu(self.conv(x)).mean((2, 3)))
    after    the same graph with relu_0 = Activation() behind conv; names of weights stay
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn

from npu_tools.shared.errors import UserError
from npu_train.models.parts import Activation, named_modules
from npu_train.models.tracing import Layers

NAME = "npu_train_module"
functions: Any = F  # the types of both are incomplete
random: Any = torch.random

RELUS: Mapping[object, type[nn.Module]] = MappingProxyType(
    {
        F.relu: nn.ReLU,
        functions.relu_: nn.ReLU,
        F.relu6: nn.ReLU6,
        torch.relu: nn.ReLU,
        torch.relu_: nn.ReLU,
        "relu": nn.ReLU,
        "relu_": nn.ReLU,
    }
)
"""The layer that a function or method is."""
IN_PLACE = (functions.relu_, torch.relu_, "relu_")
DROPOUTS: Mapping[object, type[nn.Module]] = MappingProxyType(
    {F.dropout: nn.Dropout, F.dropout2d: nn.Dropout2d}
)
SMOOTH = frozenset(
    "silu gelu hardswish mish elu selu celu leakyrelu prelu rrelu softplus logsigmoid".split()
)
"""Activations whose results are hardly ever zero."""


def from_file(spec: str, *, classes: int, channels: int, size: int) -> nn.Module:
    """The network that a factory makes, given as FILE.py:FACTORY.

    Raises: UserError if the file cannot be run, if the factory makes no network, or if the network
    does not work on images [N, channels, size, size].
    """
    path, _, name = spec.rpartition(":")
    factory = found(spec, Path(path), name)
    given = {"classes": classes, "channels": channels, "size": size}
    try:
        takes = inspect.signature(factory).parameters
        model: object = factory(**{key: given[key] for key in given if key in takes})
    except Exception as error:  # it is the user's code
        raise UserError(f"--module {spec}: {said(error)}") from None
    if not isinstance(model, nn.Module):
        raise UserError(f"--module {spec}: expected an nn.Module, got {type(model).__name__}")
    if not list(model.parameters()):
        raise UserError(f"--module {spec}: the network has no weights")
    images = torch.randn(2, channels, size, size, generator=torch.Generator().manual_seed(0))
    return opened(model, spec, classes, 3 * images)


def found(spec: str, path: Path, name: str) -> Callable[..., object]:
    """The factory of a name in a file, which is run.

    Raises: UserError if there is no such file or name, or if the file fails.
    """
    if path.suffix != ".py" or not name.isidentifier():
        raise UserError(f"--module {spec}: expected FILE.py:FACTORY")
    if not path.is_file():
        raise UserError(f"--module {spec}: no file {path}")
    sys.path.insert(0, str(path.parent.resolve()))  # for modules beside it
    try:
        source = importlib.util.spec_from_file_location(NAME, path)
        assert source is not None
        assert source.loader is not None
        module = importlib.util.module_from_spec(source)
        sys.modules[NAME] = module
        source.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # it is the user's code
        raise UserError(f"--module {spec}: {said(error)}") from None
    factory = getattr(module, name, None)
    if not callable(factory) or isinstance(factory, nn.Module):
        raise UserError(f"--module {spec}: expected a function or class {name} in {path}")
    return factory


def opened(model: nn.Module, spec: str, classes: int, images: Tensor) -> nn.Module:
    """The network with an `Activation` for each ReLU; `images` [2, C, H, W] are to check it.

    Raises: UserError if torch.fx cannot read the network, or if it gives other results then.
    """
    with torch.no_grad(), random.fork_rng(devices=[]):
        want = logits(model, spec, classes, images)
        made = with_activations(model, spec)
        got = logits(made, spec, classes, images)
    if not torch.allclose(got, want, rtol=1e-4, atol=1e-5, equal_nan=True):
        raise UserError(
            f"--module {spec}: torch.fx reads a network with other results: expected a forward "
            "that does the same for all images and changes no value in place"
        )
    return made.train()


def logits(model: nn.Module, spec: str, classes: int, images: Tensor) -> Tensor:
    """The results of a network in evaluation mode, [N, classes].

    Raises: UserError if it fails, or if the results are others.
    """
    shape = ", ".join(str(extent) for extent in images.shape[1:])
    try:
        result: object = model.eval()(images)
    except Exception as error:  # it is the user's code
        raise UserError(f"--module {spec}: on images [2, {shape}]: {said(error)}") from None
    if not isinstance(result, Tensor) or result.shape != (len(images), classes):
        got = list(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise UserError(
            f"--module {spec}: expected logits [N, {classes}] of images [N, {shape}], got {got}"
        )
    return result


def with_activations(model: nn.Module, spec: str) -> nn.Module:
    """The network as torch.fx reads it, with an `Activation` for each ReLU.

    Raises: UserError if torch.fx cannot read it, or if it has other layers in training.
    """
    learning, evaluating = (traced(model.train(mode), spec) for mode in (True, False))
    model.train()
    one, two = ([layer(node) for node in graph.nodes] for graph in (learning, evaluating))
    if one != two:
        differing = next((a for a, b in zip(one, two, strict=False) if a != b), one[-1])
        raise UserError(
            f"--module {spec}: forward does something else in training than in evaluation "
            f"({differing[1]}): expected layers that know their mode, such as nn.Dropout"
        )
    made = fx.GraphModule(model, learning)
    places = {node: place for place, node in enumerate(learning.nodes)}
    for node in places:
        if (kind := DROPOUTS.get(node.target)) is not None:
            share = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
            replace(made, node, kind(share), f"dropout_{places[node]}")
        elif (activation := activation_of(node, model)) is not None:
            new = replace(made, node, activation, f"relu_{places[node]}")
            if in_place(node, model):  # what reads the argument afterwards, reads the result
                (source,) = new.all_input_nodes
                later = {user for user in source.users if places.get(user, 0) > places[node]}
                source.replace_all_uses_with(new, later.__contains__)
    made.delete_all_unused_submodules()
    made.recompile()
    return made


def traced(model: nn.Module, spec: str) -> fx.Graph:
    """The graph of a network.

    Raises: UserError if torch.fx cannot read it.
    """
    try:
        return Layers().trace(model)
    except Exception as error:  # tracing runs the user's code
        raise UserError(
            f"--module {spec}: torch.fx cannot read this network: {said(error)}"
        ) from None


def layer(node: fx.Node) -> tuple[str, str, str, str]:
    """What a node does, to compare graphs; a dropout knows its mode after it is replaced."""
    if node.target in DROPOUTS:
        return node.op, str(node.target), str(node.args[:2]), ""
    return node.op, str(node.target), str(node.args), str(node.kwargs)


def activation_of(node: fx.Node, model: nn.Module) -> Activation | None:
    """A new activation for a node that is a ReLU; None for others."""
    if node.op == "call_module":
        module = model.get_submodule(str(node.target))
        kinds = [kind for kind in (nn.ReLU, nn.ReLU6) if type(module) is kind]
        return Activation(kinds[0]()) if kinds else None
    kind = RELUS.get(node.target) if node.op in ("call_function", "call_method") else None
    return None if kind is None else Activation(kind())


def in_place(node: fx.Node, model: nn.Module) -> bool:
    """Whether a ReLU changes its argument."""
    if node.op == "call_module":
        return bool(getattr(model.get_submodule(str(node.target)), "inplace", False))
    given = node.kwargs.get("inplace", node.args[1] if len(node.args) > 1 else False)
    return node.target in IN_PLACE or bool(given)


def replace(made: fx.GraphModule, node: fx.Node, module: nn.Module, name: str) -> fx.Node:
    """Replace a node by a layer of its own; returns the layer's node."""
    while hasattr(made, name):
        name += "_"
    made.add_submodule(name, module)
    with made.graph.inserting_after(node):
        new = made.graph.call_module(name, tuple(node.all_input_nodes[:1]))
    node.replace_all_uses_with(new)
    made.graph.erase_node(node)
    return new


def check_activations(model: nn.Module) -> None:
    """Check that zero blocks can be trained in a network from a file.

    Raises: UserError if it has an activation that has no zeros, which it names, or no ReLU.
    """
    for name, module in named_modules(model):
        if type(module).__name__.lower() in SMOOTH:
            raise smooth(f"layer {name}", type(module).__name__)
    for node in model.graph.nodes if isinstance(model, fx.GraphModule) else ():
        name = getattr(node.target, "__name__", "").replace("_", "")
        if node.op == "call_function" and name in SMOOTH:
            raise smooth(f"value {node.name}", name)
    if not any(isinstance(module, Activation) for module in model.modules()):
        raise UserError("the network has no ReLU and no ReLU6: nothing for --block")


def smooth(where: str, kind: str) -> UserError:
    """The error for an activation without zeros."""
    return UserError(
        f"{where} is {kind}, whose results are hardly ever zero: --block needs ReLU or ReLU6"
    )


def said(error: BaseException) -> str:
    """The type and the first line of an exception's text."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
