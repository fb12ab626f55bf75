"""Removes channels that contribute nothing from a trained network, as network slimming needs it.

`npu_train.channels` decides which channels go. The results of the network in evaluation mode stay
the same.

    before   Conv2d(16, 32) BatchNorm2d(32, of 12 scale and shift are 0) ReLU Conv2d(32, 64)
    after    Conv2d(16, 20) BatchNorm2d(20) ReLU Conv2d(20, 64)
"""

from __future__ import annotations

import copy
from math import sqrt

import torch
from torch import Tensor, fx, nn

from npu_tools.shared.errors import UserError
from npu_train.channels import Channels, find_channels
from npu_train.constants import Dense, contributions, is_dense, is_depthwise
from npu_train.models.parts import Activation
from npu_train.models.tracing import Layers
from npu_train.pruning import check_finished
from npu_train.zebra import Zebra


def shrink(model: nn.Module, example: Tensor) -> nn.Module:
    """A copy of a network, in the same mode, without channels on which no result depends.

    A channel can go if it is 0 everywhere (a batch norm with scale and shift 0), if it is another
    constant that can be added to the next layer's bias, or if the next layer has only zero weights
    for it. All terms of a sum keep the channels that one of them needs. Each layer keeps at least
    one channel. `example` [N, C, H, W] is an input, for the shapes. Parameters are new, so an
    optimiser must be created afterwards.

    Raises: UserError if the network has pruning masks (`npu_train.pruning.finish` removes them), or
    if torch.fx cannot trace it.
    """
    check_finished(model)
    device = next(model.parameters()).device
    small = copy.deepcopy(model).cpu().eval()
    try:
        graph = Layers().trace(small)
    except Exception as error:  # tracing runs the network's own code
        raise UserError(f"torch.fx cannot trace this network: {error}") from error
    channels = find_channels(small, graph, example.cpu())
    with torch.no_grad():
        for node in graph.nodes:
            if node.op == "call_module" and len(node.all_input_nodes) == 1:
                cut(small.get_submodule(str(node.target)), node, channels)
    return small.to(device).train(model.training)


def cut(layer: nn.Module, node: fx.Node, channels: Channels) -> None:
    """Remove the channels from a layer that its input and its output lose."""
    (source,) = node.all_input_nodes
    inputs, outputs = channels.kept(source), channels.kept(node)
    if is_dense(layer, channels.ranks[source.name]):
        cut_dense(layer, inputs, outputs, channels.constants[source.name])
    elif is_depthwise(layer):
        layer.weight = part(layer.weight, outputs)
        layer.bias = None if layer.bias is None else part(layer.bias, outputs)
        layer.groups = layer.in_channels = layer.out_channels = int(outputs.sum())
    elif isinstance(layer, nn.BatchNorm2d):
        cut_norm(layer, outputs)
    elif isinstance(layer, Activation) and layer.zebra is not None:
        cut_zebra(layer.zebra, outputs)


def part(parameter: Tensor, kept: Tensor) -> nn.Parameter:
    """A new parameter with the rows of `parameter` that are kept; `kept` is [rows] of bool."""
    return nn.Parameter(parameter.detach()[kept].clone(), parameter.requires_grad)


def cut_dense(layer: Dense, inputs: Tensor, outputs: Tensor, constants: Tensor) -> None:
    """Cut a layer that mixes channels; what removed inputs contributed is added to its bias."""
    added = contributions(layer, constants)[:, ~inputs].sum(1)
    if added.any():
        bias = added if layer.bias is None else added + layer.bias.double()
        layer.bias = nn.Parameter(bias.to(layer.weight.dtype))
    weights = layer.weight.detach().reshape(len(outputs), len(inputs), -1)[:, inputs]
    shape = layer.weight.shape[2:] if isinstance(layer, nn.Conv2d) else ()
    layer.weight = part(weights.reshape(len(outputs), -1, *shape), outputs)
    if layer.bias is not None:
        layer.bias = part(layer.bias, outputs)
    if isinstance(layer, nn.Conv2d):
        layer.in_channels, layer.out_channels = int(inputs.sum()), int(outputs.sum())
    else:
        layer.out_features, layer.in_features = layer.weight.shape


def cut_norm(layer: nn.BatchNorm2d, kept: Tensor) -> None:
    """Cut the parameters and statistics of a batch norm."""
    if layer.affine:
        layer.weight, layer.bias = part(layer.weight, kept), part(layer.bias, kept)
    for name in ("running_mean", "running_var"):
        statistics = getattr(layer, name)
        if statistics is not None:
            setattr(layer, name, statistics[kept].clone())
    layer.num_features = int(kept.sum())


def cut_zebra(zebra: Zebra, kept: Tensor) -> None:
    """Cut a Zebra module; its weights are rescaled, as the averages are divided by sqrt(C)."""
    before, zebra.channels = zebra.channels, int(kept.sum())
    if zebra.network is not None:
        cut_dense(zebra.network, kept, kept, torch.zeros(before, dtype=torch.float64))
        zebra.network.weight.mul_(sqrt(zebra.channels / before))
