"""The rule for Attention: products of queries and keys, a mask, Softmax, a product with values.

What is known about the mask while importing (a constant mask, causal order, a window of positions,
the lengths of sequences) becomes one constant that is added to the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod, sqrt

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import AddOp, ConcatOp, MapOp, MatmulOp, MulOp, SoftmaxOp, TransposeOp
from npu_dialect.npu.enums import Function
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.linear import times
from npu_tools.importers.onnx.tensors import LARGEST_FOLDED, Array

MASK, PAST_KEY, PAST_VALUE, LENGTHS = 3, 4, 5, 6
"""Numbers of the optional operands."""


def attention(node: Node, graph: Builder) -> list[Value]:
    """Attention: the result, present keys and values, and the scores that the node asks for."""
    source = graph.map(node, 0)
    query, key, value = (heads(node, graph, index) for index in range(3))
    past = 0
    if node.operand(PAST_KEY) or node.operand(PAST_VALUE):
        own = shape_of(key)[2]
        key = behind(graph, graph.map(node, PAST_KEY), key)
        value = behind(graph, graph.map(node, PAST_VALUE), value)
        past = shape_of(key)[2] - own
    sizes = Sizes.of(query, key, value, past)
    scale = np.float32(node.float("scale", 1 / sqrt(sizes.depth)))
    scaled = times(graph, query, scale, "scale")
    rows = (sizes.batch, sizes.key_heads, sizes.repeats * sizes.queries)
    grouped = graph.reshape(scaled, (*rows, sizes.depth))
    raw = graph.emit(lambda out: MatmulOp(grouped, key, out, transposed_rhs=True))
    raw = graph.reshape(raw, sizes.scores)
    capped = with_cap(graph, raw, node.float("softcap", 0.0))
    masked, kept = with_mask(node, graph, capped, sizes)
    weights = graph.emit(lambda out: SoftmaxOp(masked, 3, out))
    if kept is not None:
        keep = graph.parameter(kept, "kept")
        full = weights
        weights = graph.emit(lambda out: MulOp(full, keep, out))
    mode = node.int("qk_matmul_output_mode", 0)
    if mode not in range(4):
        raise NodeError(f"qk_matmul_output_mode {mode}; expected 0 to 3")
    folded = graph.reshape(weights, (*rows, sizes.keys))
    mixed = graph.emit(lambda out: MatmulOp(folded, value, out))
    result = graph.reshape(mixed, (*sizes.scores[:3], shape_of(value)[3]))
    if len(shape_of(source)) == 3:
        inner = result
        result = graph.emit(lambda out: TransposeOp(inner, (0, 2, 1, 3), out))
        result = graph.reshape(result, (sizes.batch, sizes.queries, prod(shape_of(result)[2:])))
    return [result, key, value, (raw, capped, masked, weights)[mode]]


@dataclass(frozen=True)
class Sizes:
    """The extents of an attention: `past` keys come before those of the node itself."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    depth: int
    past: int

    @staticmethod
    def of(query: SSAValue, key: SSAValue, value: SSAValue, past: int) -> Sizes:
        """The extents of maps [B, heads, sequence, depth].

        Raises: NodeError if they do not fit each other.
        """
        q, k, v = (shape_of(map) for map in (query, key, value))
        if (q[0], q[3]) != (k[0], k[3]) or k[:3] != v[:3] or q[1] % k[1]:
            raise NodeError(
                f"queries {list(q)}, keys {list(k)}, values {list(v)}; expected [B, H, S, D], "
                "[B, G, T, D] and [B, G, T, V] with a number G of heads that divides H"
            )
        return Sizes(q[0], q[1], k[1], q[2], k[2], q[3], past)

    @property
    def repeats(self) -> int:
        """How many heads of queries share a head of keys."""
        return self.heads // self.key_heads

    @property
    def scores(self) -> tuple[int, int, int, int]:
        """The shape of the scores."""
        return self.batch, self.heads, self.queries, self.keys


def heads(node: Node, graph: Builder, index: int) -> SSAValue:
    """Queries, keys or values as [B, heads, sequence, depth].

    Raises: NodeError if the operand has neither 3 nor 4 axes, or its last one cannot be cut.
    """
    source = graph.map(node, index)
    shape = shape_of(source)
    if len(shape) == 4:
        return source
    count = node.int("q_num_heads" if index == 0 else "kv_num_heads", 0)
    if len(shape) != 3 or count < 1 or shape[2] % count:
        raise NodeError(
            f"input '{node.operand(index)}' of shape {list(shape)} for {count} heads; expected "
            "[B, heads, S, D], or [B, S, heads * D] with the number of heads"
        )
    apart = graph.reshape(source, (shape[0], shape[1], count, shape[2] // count))
    return graph.emit(lambda out: TransposeOp(apart, (0, 2, 1, 3), out))


def behind(graph: Builder, past: SSAValue, present: SSAValue) -> SSAValue:
    """Build keys or values of the past with the present ones behind them."""
    return graph.emit(lambda out: ConcatOp([past, present], 2, out))


def with_cap(graph: Builder, scores: SSAValue, cap: float) -> SSAValue:
    """Build cap * tanh(scores / cap), which stays between the caps; 0: no cap.

    Raises: NodeError if the cap is no positive, finite number.
    """
    if cap == 0:
        return scores
    if not 0 < cap < inf:
        raise NodeError(f"softcap {cap}; expected a positive number, or 0")
    small = times(graph, scores, np.float32(1 / cap), "softcap")
    bounded = graph.emit(lambda out: MapOp(small, FunctionAttr.of(Function.TANH), out))
    return times(graph, bounded, np.float32(cap), "softcap")


def with_mask(
    node: Node, graph: Builder, scores: SSAValue, sizes: Sizes
) -> tuple[SSAValue, Array | None]:
    """Build the scores with all masks added.

    Returns them, and ones for queries that may see a key and zeros for others; None if all may.
    """
    bias = known_mask(node, graph, sizes)
    if node.operand(MASK) and not isinstance(graph.value(node, MASK), Constant):
        mask = graph.map(node, MASK)
        if shape_of(mask)[-1:] != (sizes.keys,):
            raise NodeError(
                f"a computed mask of shape {list(shape_of(mask))}; expected {sizes.keys} columns"
            )
        plain = scores
        scores = graph.emit(lambda out: AddOp(plain, mask, out))
    if bias is None:
        return scores, None
    blind = np.isneginf(bias).all(axis=-1, keepdims=True)
    known = graph.parameter(np.where(blind, np.float32(0), bias), "mask")
    before = scores
    scores = graph.emit(lambda out: AddOp(before, known, out))
    return scores, np.where(blind, np.float32(0), np.float32(1)) if blind.any() else None


def known_mask(node: Node, graph: Builder, sizes: Sizes) -> Array | None:
    """What is added to the scores as far as it is known: 0 or a bias, minus infinity for hidden.

    Raises: NodeError if it is too large, or a constant has a wrong type or shape.
    """
    if 4 * prod(sizes.scores) > LARGEST_FOLDED:
        raise NodeError(f"scores of shape {list(sizes.scores)}; expected less than 2^27 elements")
    parts: list[Array] = []
    if node.operand(MASK) and isinstance(value := graph.value(node, MASK), Constant):
        parts.append(constant_mask(value, sizes))
    offsets = np.full((1, 1, 1, 1), sizes.past)
    columns = np.arange(sizes.keys)
    if node.operand(LENGTHS):
        lengths = graph.constant(node, LENGTHS).array
        if lengths.shape != (sizes.batch,) or lengths.dtype.kind != "i":
            raise NodeError(f"lengths of shape {list(lengths.shape)}; expected [{sizes.batch}]")
        ends = lengths.reshape(-1, 1, 1, 1)
        parts.append(hidden(columns >= ends))
        offsets = ends - sizes.queries
    distance = np.arange(sizes.queries)[:, None] + offsets - columns
    left, right = node.int("left_window_size", -1), node.int("right_window_size", -1)
    if node.int("is_causal", 0):
        parts.append(hidden(distance < 0))
    if left >= 0:
        parts.append(hidden(distance > left))
    if right >= 0:
        parts.append(hidden(-distance > right))
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return np.broadcast_to(total, (*total.shape[:-1], sizes.keys)).astype(np.float32)


def hidden(where: Array) -> Array:
    """Minus infinity where a condition holds, else 0; leading axes of extent 1 are left out."""
    while where.ndim > 2 and where.shape[0] == 1:
        where = where[0]
    return np.where(where, np.float32(-np.inf), np.float32(0))


def constant_mask(constant: Constant, sizes: Sizes) -> Array:
    """A constant mask as numbers to add; columns that it does not have are hidden.

    Raises: NodeError if it is neither bool nor float32, or does not fit the scores.
    """
    mask = constant.array
    if mask.dtype == np.bool_:
        mask = hidden(~mask)
    missing = sizes.keys - mask.shape[-1] if mask.ndim else 0
    if missing > 0 and mask.shape[-1] != 1 and mask.dtype == np.float32:
        around = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
        mask = np.pad(mask, around, constant_values=-np.inf)
    try:
        fits = np.broadcast_shapes(mask.shape, sizes.scores) == sizes.scores
    except ValueError:
        fits = False
    if mask.dtype != np.float32 or not fits:
        raise NodeError(
            f"mask '{constant.name}' holds {constant.array.dtype} of shape "
            f"{list(constant.array.shape)}; expected bool or float32 that fits scores of shape "
            f"{list(sizes.scores)}"
        )
    return mask
