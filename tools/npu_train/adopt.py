"""The state of a shrunk network into a network that was just built: how training resumes.

A state has tensors and no layers, so the layers take the shapes of the tensors first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from torch import Tensor, nn

from npu_tools.importers.torch import reason
from npu_tools.shared.errors import UserError
from npu_train.constants import is_depthwise
from npu_train.zebra import Zebra


def adopt(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Load the state of a network that was built like this one, and maybe shrunk.

    The layers get the numbers of channels of the state, so optimisers must be made anew.

    Raises: UserError if the state is of another network.
    """
    modules = cast(Iterable[tuple[str, nn.Module]], model.named_modules())
    for name, layer in modules:
        weight, bias = state.get(f"{name}.weight"), state.get(f"{name}.bias")
        if weight is not None and isinstance(layer, nn.Conv2d | nn.Linear | nn.BatchNorm2d):
            take_shapes(layer, weight, bias)
        if isinstance(layer, Zebra) and f"{name}.network.bias" in state:
            layer.channels = len(state[f"{name}.network.bias"])
    try:
        model.load_state_dict(dict(state))
    except RuntimeError as error:
        raise UserError(f"the state is of another network: {reason(error)}") from error


def take_shapes(
    layer: nn.Conv2d | nn.Linear | nn.BatchNorm2d, weight: Tensor, bias: Tensor | None
) -> None:
    """Give a layer the numbers of channels of a state's tensors; a wrong rank changes nothing."""
    if weight.dim() != layer.weight.dim():
        return
    old, outputs = layer.weight, len(weight)
    if isinstance(layer, nn.BatchNorm2d):
        layer.num_features = outputs
        layer.running_mean, layer.running_var = old.new_zeros(outputs), old.new_ones(outputs)
    elif isinstance(layer, nn.Linear):
        layer.out_features, layer.in_features = weight.shape
    elif layer.groups > 1 and is_depthwise(layer):
        layer.groups = layer.in_channels = layer.out_channels = outputs
    else:
        layer.in_channels, layer.out_channels = weight.shape[1] * layer.groups, outputs
    layer.weight = nn.Parameter(old.new_zeros(weight.shape))
    if bias is not None:
        layer.bias = nn.Parameter(old.new_zeros(bias.shape))
