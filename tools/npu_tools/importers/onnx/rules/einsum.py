"""The rule for Einsum of one or two maps: transpositions around one matrix product.

bhqd,bhkd->bhqk     b and h are batches, q is left, k is right, d is summed up
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from npu_dialect.npu import MatmulOp, TransposeOp
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node

DOTS = "..."
Labels = tuple[str, ...]
"""One label for each axis: a letter, or `.0`, `.1`, ... for axes behind dots, from the last one."""


def einsum(node: Node, graph: Builder) -> Value:
    """Einsum of one map, whose axes change places, or of two, which are multiplied."""
    sources = [graph.map(node, index) for index in range(len(node.inputs))]
    equation = Equation.of(node.string("equation", ""), [shape_of(source) for source in sources])
    if len(sources) == 1:
        if sorted(equation.inputs[0]) != sorted(equation.output):
            raise NodeError(f"'{equation.text}' sums up axes of one map; expected a ReduceSum")
        return reordered(graph, sources[0], equation.inputs[0], equation.output)
    if len(sources) != 2:
        raise NodeError(f"{len(sources)} inputs; expected 1 or 2")
    return contracted(graph, equation, sources[0], sources[1])


@dataclass(frozen=True)
class Equation:
    """The labels of the axes of all inputs and of the output."""

    text: str
    inputs: tuple[Labels, ...]
    output: Labels

    @staticmethod
    def of(text: str, shapes: Sequence[Sequence[int]]) -> Equation:
        """Read an equation for inputs of these shapes.

        Raises: NodeError if it does not fit them, or if an axis of an input repeats.
        """
        plain = text.replace(" ", "")
        left, arrow, right = plain.partition("->")
        terms = left.split(",")
        if len(terms) != len(shapes):
            raise NodeError(f"'{text}' for {len(shapes)} inputs; expected one term for each")
        inputs = tuple(map(labels_of, terms, map(len, shapes)))
        dots = max((len(hidden(labels)) for labels in inputs), default=0)
        letters = [label for labels in inputs for label in labels if label[0] != "."]
        if not arrow:
            right = DOTS * (dots > 0) + "".join(
                sorted(letter for letter in set(letters) if letters.count(letter) == 1)
            )
        count = len(right.replace(DOTS, ""))
        output = labels_of(right, count + dots if DOTS in right else count)
        if not set(output) <= {label for labels in inputs for label in labels}:
            raise NodeError(f"'{text}' has output axes that no input has")
        return Equation(text, inputs, output)


def hidden(labels: Labels) -> Labels:
    """The labels of axes that stand behind dots."""
    return tuple(label for label in labels if label[0] == ".")


def labels_of(term: str, rank: int) -> Labels:
    """The labels of a map of this rank, from its term of an equation.

    Raises: NodeError if the term has another number of axes, repeats a label, or is no term.
    """
    before, dots, behind = term.partition(DOTS)
    letters = before + behind
    count = rank - len(letters)
    if not all(letter.isascii() and letter.isalpha() for letter in letters):
        raise NodeError(f"term '{term}'; expected letters and one '...'")
    if len(set(letters)) != len(letters):
        raise NodeError(f"term '{term}' repeats an axis; expected each once")
    if count < 0 or (count and not dots):
        raise NodeError(f"term '{term}' for {rank} axes; expected as many labels")
    between = tuple(f".{count - 1 - place}" for place in range(count))
    return (*before, *between, *behind)


def reordered(graph: Builder, source: SSAValue, labels: Labels, wanted: Labels) -> SSAValue:
    """Build a map with its axes in another order; no layer if it is the same."""
    if labels == wanted:
        return source
    perm = [labels.index(label) for label in wanted]
    return graph.emit(lambda out: TransposeOp(source, perm, out))


def contracted(graph: Builder, equation: Equation, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Build a product of two maps, summed up over the axes that the output does not have.

    Raises: NodeError if one map only has such an axis, or if extents do not fit each other.
    """
    (left, right), output = equation.inputs, equation.output
    first, second = (dict(zip(ls, shape_of(m))) for ls, m in ((left, lhs), (right, rhs)))
    shared = [label for label in left if label in right]
    batch = tuple(label for label in output if label in shared or label[0] == ".")
    summed = tuple(label for label in shared if label not in output)
    rows = tuple(label for label in output if label not in right and label not in batch)
    columns = tuple(label for label in output if label not in left and label not in batch)
    alone = {*left, *right} - {*output, *summed}
    wrong = [n for n in shared if first[n] != second[n] and (n in summed or n[0] != ".")]
    if alone or wrong:
        raise NodeError(
            f"'{equation.text}' of shapes {list(shape_of(lhs))} and {list(shape_of(rhs))}; "
            "expected equal extents, and no axis that one input only has and the output has not"
        )
    own = [tuple(label for label in batch if label in labels) for labels in (left, right)]
    a = reordered(graph, lhs, left, (*own[0], *rows, *summed))
    flipped = right == (*own[1], *columns, *summed)
    ends = (*columns, *summed) if flipped else (*summed, *columns)
    b = reordered(graph, rhs, right, (*own[1], *ends))
    depth = prod(first[label] for label in summed)
    height = prod(first[label] for label in rows)
    width = prod(second[label] for label in columns)
    a = graph.reshape(a, (*spread(batch, first), height, depth))
    ends = (width, depth) if flipped else (depth, width)
    b = graph.reshape(b, (*spread(batch, second), *ends))
    result = graph.emit(lambda out: MatmulOp(a, b, out, transposed_rhs=flipped))
    extents = shape_of(result)[: len(batch)]
    apart = (*(first[label] for label in rows), *(second[label] for label in columns))
    result = graph.reshape(result, (*extents, *apart))
    return reordered(graph, result, (*batch, *rows, *columns), output)


def spread(batch: Labels, extents: dict[str, int]) -> list[int]:
    """The extents of a map along all batch axes; it has extent 1 along those that it lacks."""
    return [extents.get(label, 1) for label in batch]
