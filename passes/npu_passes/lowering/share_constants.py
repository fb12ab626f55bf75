"""`npu-share-constants`: keep one of several constant globals with the same values.

    memref.global "private" constant @a : memref<3xi8, #npu.flash> = dense<[1, 2, 3]>
    memref.global "private" constant @b : memref<3xi8, #npu.flash> = dense<[1, 2, 3]>
    %b = memref.get_global @b
becomes
    memref.global "private" constant @a : memref<3xi8, #npu.flash> = dense<[1, 2, 3]>
    %b = memref.get_global @a

Lowering packs the weights of a layer in the order in which its loops read them. Layers for rows at
the border of a map, and for those between, read the same order, so one table serves all. The global
that comes first in the IR is kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.rewriter import Rewriter

from npu_dialect.walking import walk_kind
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class ShareConstantsPass(RefusingPass):
    """Keep one of several equal constants; see the module."""

    name = "npu-share-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Find equal globals, and let all ops read the first one."""
        first: dict[Hashable, str] = {}
        kept: dict[str, str] = {}
        for each in list(op.ops):
            if not isinstance(each, memref.GlobalOp) or not is_private_constant(each):
                continue
            values = tuple(item for item in each.properties.items() if item[0] != "sym_name")
            name = each.sym_name.data
            kept[name] = first.setdefault((values, tuple(each.attributes.items())), name)
            if kept[name] != name:
                Rewriter.erase_op(each)
        others = {name: SymbolRefAttr(other) for name, other in kept.items() if other != name}
        if not others:
            return
        for get in walk_kind(op, memref.GetGlobalOp):
            if (other := others.get(get.name_.string_value())) is not None:
                get.name_ = other


def is_private_constant(op: memref.GlobalOp) -> bool:
    """Whether nothing but the module reads a global, and nothing writes it."""
    return op.constant is not None and op.sym_visibility == StringAttr("private")
