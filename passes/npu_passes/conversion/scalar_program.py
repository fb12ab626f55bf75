"""The body of a `linalg.generic` becomes layers: each op on numbers an op on whole tensors.

    %m = arith.minimumf %in, %six : f32
    %r = arith.maximumf %m, %zero : f32
    linalg.yield %r : f32

A number of the body is a tensor over the loops (`Stored`, axis i is loop i), or it is known: an
array that does not depend on any tensor, such as a constant or the index of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.interpreters.windows import averaged_taps
from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.layers import AvgPool2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.conversion.builder import LayerBuilder, element_of
from npu_passes.conversion.elementwise import BINARY, added, clamped, mapped, pairwise
from npu_passes.conversion.foreign import Array, Foreign, NoEquivalent, attribute_of, name_of
from npu_passes.conversion.stored import Stored

Term = Stored | Array
"""A number of a body: a tensor over the loops, or an array that broadcasts to them."""

KNOWN: Mapping[str, Callable[..., Any]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.index_cast": np.array,
    "arith.extsi": np.array,
    "arith.extui": np.array,
    "arith.trunci": np.array,
    "arith.sitofp": np.float32,
    "arith.uitofp": np.float32,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
}
"""What ops compute of known numbers."""

ONE: Mapping[str, str] = {
    "arith.negf": "neg",
    "math.absf": "abs",
    "math.ceil": "ceil",
    "math.cos": "cos",
    "math.erf": "erf",
    "math.exp": "exp",
    "math.floor": "floor",
    "math.log": "log",
    "math.sin": "sin",
    "math.sqrt": "sqrt",
    "math.tanh": "tanh",
}
"""Functions of a tensor, by the name of the op."""

TWO: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.subf": "sub",
    "arith.mulf": "mul",
    "arith.divf": "div",
    "arith.maximumf": "max",
    "arith.maxnumf": "max",
    "arith.maxsi": "max",
    "arith.minimumf": "min",
    "arith.minnumf": "min",
    "arith.minsi": "min",
    "math.powf": "pow",
}
"""Functions of two tensors, by the name of the op."""

GREATER = ("gt", "ge")
"""The ends of the words of comparisons that a greater left number passes."""
FLOATS = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
INTEGERS = "eq ne slt sle sgt sge ult ule ugt uge".split()
"""The words of comparisons, by their numbers."""


@dataclass
class Program:
    """The body of an op: `shape` is that of the loops, `terms` what its arguments are."""

    op: Foreign
    builder: LayerBuilder
    shape: tuple[int, ...]
    terms: dict[SSAValue, Term]

    def term(self, value: SSAValue) -> Term:
        """What a number of the body is.

        Raises: NoEquivalent if it is something that no layer computes.
        """
        if value not in self.terms:
            self.terms[value] = self.computed(value)
        return self.terms[value]

    def computed(self, value: SSAValue) -> Term:
        """What an op of the body gives; or an op before the loops, whose result is known."""
        op = value.owner
        if isinstance(value, BlockArgument) or isinstance(op, Block):
            raise NoEquivalent("a number of its body comes from outside")
        name = name_of(op)
        if name == "arith.constant":
            found = attribute_of(op, "value")
            if not isa(found, IntegerAttr) and not isa(found, FloatAttr):
                raise NoEquivalent(f"expected a number as a constant, got {found}")
            return np.array(found.value.data)
        if name == "linalg.index":
            return self.index(op)
        if name == "tensor.dim":
            return self.extent(op)
        if name == "arith.select":
            return self.select(op)
        if not op.operands or len(op.operands) > 2:
            raise NoEquivalent(f"no layer computes `{name}` of its body")
        args = [self.term(operand) for operand in op.operands]
        known = [arg for arg in args if not isinstance(arg, Stored)]
        if len(known) == len(args):
            if name not in KNOWN:
                raise NoEquivalent(f"no layer computes `{name}` of its body")
            return np.asarray(KNOWN[name](*known))
        return self.layer(name, args, op)

    def index(self, op: Operation) -> Array:
        """The index of a loop, as an array over the loops."""
        found = attribute_of(op, "dim")
        if not isa(found, IntegerAttr) or not 0 <= found.value.data < len(self.shape):
            raise NoEquivalent("expected the index of a loop")
        dim = found.value.data
        shape = [extent if axis == dim else 1 for axis, extent in enumerate(self.shape)]
        return np.arange(self.shape[dim]).reshape(shape)

    def extent(self, op: Operation) -> Array:
        """The extent of a tensor along an axis that is known."""
        axis, shape = self.term(op.operands[1]), shape_of(op.operands[0])
        if isinstance(axis, Stored) or axis.size != 1 or not 0 <= int(axis) < len(shape):
            raise NoEquivalent("expected the extent of a tensor along one of its axes")
        return np.array(shape[int(axis)])

    def layer(self, name: str, args: list[Term], op: Operation) -> Stored:
        """A layer for an op of which an operand is a tensor."""
        first = args[0]
        if len(args) == 1 and name in ONE and isinstance(first, Stored):
            return mapped(self.builder, first, ONE[name])
        if len(args) != 2 or name not in TWO:
            raise NoEquivalent(f"no layer computes `{name}` of its body")
        kind, second = TWO[name], args[1]
        if isinstance(first, Stored) and not isinstance(second, Stored):
            if (found := self.by_number(kind, first, second)) is not None:
                return found
        elif isinstance(second, Stored) and not isinstance(first, Stored):
            turned = None if kind in ("sub", "div", "pow") else self.by_number(kind, second, first)
            if turned is not None:
                return turned
        operands = [self.tensor(arg, args) for arg in args]
        if kind == "add":
            once = [self.is_read_once(operand) for operand in op.operands]
            return added(self.builder, operands, self.shape, once)
        return pairwise(self.builder, operands, self.shape, BINARY[kind])

    def is_read_once(self, value: SSAValue) -> bool:
        """Whether one op reads a number of the body, and the operand that it is an element of."""
        if not isinstance(value, BlockArgument):
            return value.has_one_use()
        return value.has_one_use() and self.op.operands[value.index].has_one_use()

    def by_number(self, kind: str, tensor: Stored, number: Array) -> Stored | None:
        """A layer of a tensor and one known number; None if both are operands of a layer."""
        if kind == "div" and (found := self.averaged(tensor, number)) is not None:
            return found
        if number.size != 1:
            return None
        value = number.reshape(-1)[0].item()
        is_float = not isinstance(element_of(tensor.value), IntegerType)
        match kind:
            case "max":
                return clamped(self.builder, tensor, value, inf)
            case "min":
                return clamped(self.builder, tensor, -inf, value)
            case "mul" if is_float:
                return self.builder.scaled(tensor, value)
            case _:
                return None

    def averaged(self, tensor: Stored, counts: Array) -> Stored | None:
        """Sums over windows, divided by numbers of elements; None if the tensor is something else.

        The numbers are those of all elements of a window, or of those that are not padding.
        """
        source, size = self.builder.factors.get(tensor.value, (tensor.value, 1.0))
        pool = source.owner
        if not isinstance(pool, AvgPool2dOp) or tensor.pads:
            return None
        if np.all(counts == counts.reshape(-1)[0]):
            whole = size / float(counts.reshape(-1)[0])
            return self.builder.scaled(Stored(source, tensor.perm), whole)
        window = pool.window()
        axes = window.axes(*shape_of(pool.input)[2:])
        taps = np.multiply.outer(*(averaged_taps(axis, include_pad=False) for axis in axes))
        wanted = taps[np.newaxis, np.newaxis].transpose(tensor.perm)
        if size != np.prod(window.kernel.get_values()) or not np.array_equal(
            np.broadcast_to(wanted, self.shape), np.broadcast_to(counts, self.shape)
        ):
            return None
        lists = (window.kernel, window.strides, window.pads, window.dilations)
        kernel, strides, pads, dilations = (each.get_values() for each in lists)
        own = PoolAttr.of("avg", kernel, strides, pads, dilations)
        made = self.builder.emit(lambda out: AvgPool2dOp(pool.input, own, out))
        return Stored(made, tensor.perm)

    def tensor(self, term: Term, beside: list[Term]) -> Stored:
        """A term as a tensor; a known one becomes a constant with the elements of another."""
        if isinstance(term, Stored):
            return term
        lead = next(each for each in beside if isinstance(each, Stored))
        array = term.reshape((1,) * (len(self.shape) - term.ndim) + term.shape)
        return Stored.plain(self.builder.numbers(array, element_of(lead.value)))

    def select(self, op: Operation) -> Term:
        """A choice between two numbers that are compared: their maximum or minimum."""
        test = op.operands[0].owner
        if not isinstance(test, Operation) or name_of(test) not in ("arith.cmpf", "arith.cmpi"):
            raise NoEquivalent("no layer computes `arith.select` of its body")
        words = FLOATS if name_of(test) == "arith.cmpf" else INTEGERS
        found = attribute_of(test, "predicate")
        place = found.value.data if isa(found, IntegerAttr) else -1
        word = words[place] if 0 <= place < len(words) else ""
        compared = [self.term(value) for value in test.operands]
        chosen = [self.term(value) for value in op.operands[1:]]
        if word[-2:] not in ("gt", "ge", "lt", "le") or (words is INTEGERS and word[0] == "u"):
            raise NoEquivalent(f"no layer computes a choice by `{word}`")
        is_max = word[-2:] in GREATER
        if all(map(same, compared, reversed(chosen))):
            is_max = not is_max
        elif not all(map(same, compared, chosen)):
            raise NoEquivalent("no layer computes a choice between other numbers than compared")
        if all(not isinstance(each, Stored) for each in compared):
            raise NoEquivalent("expected a choice between numbers of tensors")
        return self.layer("arith.maximumf" if is_max else "arith.minimumf", compared, op)


def same(one: Term, two: Term) -> bool:
    """Whether two terms are the same tensor or the same known numbers."""
    if isinstance(one, Stored) or isinstance(two, Stored):
        return one is two
    return bool(np.array_equal(one, two))
