"""Reads the graph of a network by torch.fx."""

from __future__ import annotations

from torch import fx, nn

from npu_train.models.parts import Activation


class Layers(fx.Tracer):
    """A tracer for which each `Activation` is one node."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether a module is one node of the graph."""
        return isinstance(m, Activation) or super().is_leaf_module(m, module_qualified_name)
