"""Makers of nodes on float maps: functions, arithmetic, reductions, normalisations, ..."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from helpers.every_operator.network import Network
from helpers.random_onnx import broadcast, broadcasts, window

Maker = Callable[[Network], bool]

PARAMETERS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "Celu": {"alpha": (0.3, 2.0)},
    "Elu": {"alpha": (0.3, 2.0)},
    "HardSigmoid": {"alpha": (0.1, 0.5), "beta": (0.2, 0.7)},
    "LeakyRelu": {"alpha": (-0.5, 0.9)},
    "Selu": {"alpha": (0.5, 2.0), "gamma": (0.5, 2.0)},
    "Shrink": {"lambd": (0.1, 0.8), "bias": (0.0, 0.5)},
    "Swish": {"alpha": (0.5, 2.0)},
    "ThresholdedRelu": {"alpha": (0.1, 1.0)},
}
"""The attributes of functions, and their ranges."""

BEFORE: Mapping[str, str] = {
    **dict.fromkeys(("Acos", "Asin", "Atanh", "Tan"), "Tanh"),
    **dict.fromkeys(("Acosh", "Log", "Reciprocal", "Sqrt"), "Softplus"),
    **dict.fromkeys(("Cosh", "Exp", "Sinh"), "Tanh"),
}
"""What keeps the operand of a function in its domain, or its result small."""


def function(kind: str, net: Network) -> bool:
    """A function of one number, with its attributes or without."""
    if (x := net.pick_of("float32")) is None:
        return False
    if kind in BEFORE and net.random.random() < 0.8:
        if not net.add(BEFORE[kind], [x]):
            return False
        x = net.last
    attributes: dict[str, Any] = {}
    if net.random.random() < 0.6:
        attributes = {n: net.random.uniform(*ends) for n, ends in PARAMETERS.get(kind, {}).items()}
    domain = ""
    if kind == "Gelu":
        if net.random.random() < 0.5:
            domain = "com.microsoft"
        else:
            attributes["approximate"] = net.random.choice(("none", "tanh"))
    return net.add(kind, [x], domain=domain, **attributes)


def foreign_function(kind: str, net: Network) -> bool:
    """A function of onnxruntime's own domain."""
    if (x := net.pick()) is None:
        return False
    inputs = [x]
    if kind == "FastGelu" and net.random.random() < 0.3:
        inputs.append(net.normal(net.shape(x)[-1] if net.shape(x) else 1))
    return net.add(kind, inputs, domain="com.microsoft")


def fitting(net: Network, x: str, kind: str = "float32") -> list[str]:
    """The values that broadcast with one, of one type of elements."""
    return [
        name
        for name, array in net.data.items()
        if array.dtype.name == kind and broadcasts(array.shape, net.shape(x))
    ]


def operand(net: Network, x: str, kind: str = "float32") -> str:
    """A second operand: another map, a constant map, or a number."""
    chance, shape = net.random.random(), net.shape(x)
    if chance < 0.55:
        return net.random.choice(fitting(net, x, kind))
    extents = broadcast(net, shape) if shape and chance < 0.85 else ()
    if kind == "bool":
        return net.constant(net.numbers.random(extents) < 0.5)
    if kind != "float32":
        return net.constant(net.numbers.integers(1, 9, extents).astype(kind))
    return net.constant(np.asarray(net.numbers.standard_normal(extents), np.float32))


def pair(kind: str, net: Network) -> bool:
    """A function of two maps of floats, or now and then of int32."""
    element = "int32" if net.random.random() < 0.15 else "float32"
    if (x := net.pick_of(element)) is None:
        return False
    y = operand(net, x, element)
    if kind in ("Div", "Mod", "Pow"):
        y = net.positive(*broadcast(net, net.shape(x))) if net.shape(x) else net.positive()
        if element == "int32":
            y = net.constant(
                np.array(net.random.choice((1, 2, 3) if kind == "Pow" else (1, 2, 3, 7)), np.int32)
            )
    operands = [x, y]
    if kind == "Pow":
        if net.random.random() < 0.5:
            exponent = net.random.choice(
                (1.0, 2.0, 3.0, 0.5, 4.0)[: 5 if element == "float32" else 3]
            )
            operands[1] = net.constant(np.array(exponent, "float32"))
        elif element == "float32" and net.add("Abs", [x]):
            operands[0] = net.last
    elif kind != "Div" and net.random.random() < 0.4:
        operands.reverse()
    modulus = {"fmod": 1 if element == "float32" else net.random.randint(0, 1)}
    return net.add(kind, operands, **(modulus if kind == "Mod" else {}))


def several(kind: str, net: Network) -> bool:
    """Max, Mean, Min or Sum of one to four maps."""
    if (x := net.pick_of("float32")) is None:
        return False
    operands = [x, *(operand(net, x) for _ in range(net.random.choice((0, 1, 1, 2, 3))))]
    net.random.shuffle(operands)
    return net.add(kind, operands)


def compare(kind: str, net: Network) -> bool:
    """A comparison, whose result is a map of bool."""
    element = net.random.choice(("float32", "float32", "int32", "int8", "uint8"))
    if (x := net.pick_of(element)) is None:
        return False
    return net.add(kind, [x, operand(net, x, element)])


def logic(kind: str, net: Network) -> bool:
    """And, Or or Xor of two maps of bool; Not of one."""
    if (x := net.pick_of("bool")) is None:
        source = compare(net.random.choice(("Greater", "LessOrEqual")), net)
        return source and logic(kind, net)
    return net.add(kind, [x] if kind == "Not" else [x, operand(net, x, "bool")])


def where(net: Network) -> bool:
    """One of two numbers, as flags say."""
    if (flags := net.pick_of("bool")) is None:
        return compare("Greater", net) and where(net)
    element = net.random.choice(("float32", "float32", "int32"))
    options = fitting(net, flags, element)
    if not options:
        return False
    x = net.random.choice(options)
    both = [x, operand(net, x, element)]
    net.random.shuffle(both)
    return net.add("Where", [flags, *both])


def reduction(kind: str, net: Network) -> bool:
    """A reduction over some axes, all, or none."""
    if (x := net.pick_of("float32")) is None:
        return False
    if kind.startswith("ReduceLogSum") and kind != "ReduceLogSumExp":
        if not net.add("Softplus", [x]):
            return False
        x = net.last
    rank, random = len(net.shape(x)), net.random
    axes = [axis for axis in range(rank) if random.random() < 0.5]
    axes = [axis - rank if random.random() < 0.3 else axis for axis in axes]
    attributes: dict[str, Any] = {}
    if random.random() < 0.6:
        attributes["keepdims"] = random.randint(0, 1)
    inputs = [x]
    by_input = net.opset >= (13 if kind == "ReduceSum" else 18)
    if by_input:
        if random.random() < 0.8:
            inputs.append(net.ints(axes))
        if random.random() < 0.3:
            attributes["noop_with_empty_axes"] = random.randint(0, 1)
    elif axes:
        attributes["axes"] = axes
    return net.add(kind, inputs, **attributes)


def index(kind: str, net: Network) -> bool:
    """ArgMax or ArgMin, cast to another type."""
    if (x := net.pick()) is None or not net.shape(x):
        return False
    rank = len(net.shape(x))
    attributes: dict[str, Any] = {"axis": net.random.randint(-rank, rank - 1)}
    for name in ("keepdims", "select_last_index"):
        if net.random.random() < 0.5:
            attributes[name] = net.random.randint(0, 1)
    return net.add(kind, [x], **attributes) and net.add(
        "Cast", [net.last], to=net.random.choice((1, 6))
    )


def cast(net: Network) -> bool:
    """A map of other elements: floats, integers or flags."""
    x = net.pick_of(*net.random.choice((("bool",), ("int32",), ("float32",), ("int8", "uint8"))))
    return x is not None and net.add("Cast", [x], to=net.random.choice((1, 6)))


def along_axis(kind: str, net: Network) -> bool:
    """Softmax, LogSoftmax or LpNormalization along an axis."""
    if (x := net.pick()) is None or not net.shape(x):
        return False
    rank = len(net.shape(x))
    attributes: dict[str, Any] = {"axis": net.random.randint(-rank, rank - 1)}
    if kind == "LpNormalization":
        attributes["p"] = net.random.choice((1, 2))
    return net.add(kind, [x], **attributes)


def layer_norm(kind: str, net: Network) -> bool:
    """LayerNormalization, or by the root mean square, over the last axes."""
    if (x := net.pick()) is None or not net.shape(x):
        return False
    shape, random = net.shape(x), net.random
    axis = random.randint(0, len(shape) - 1) if random.random() < 0.4 else len(shape) - 1
    inputs, outputs = [x, net.positive(*shape[axis:])], 1
    if kind == "LayerNormalization":
        if random.random() < 0.7:
            inputs.append(net.normal(*shape[axis:]))
        outputs = random.choice((1, 1, 1, 3))
    given = axis - len(shape) if random.random() < 0.5 else axis
    return net.add(kind, inputs, axis=given, epsilon=random.choice((1e-5, 0.1)), outputs=outputs)


def group_norm(net: Network) -> bool:
    """GroupNormalization; its parameters are per group before opset 21."""
    if (x := net.pick(4)) is None:
        return False
    channels = net.shape(x)[1]
    groups = net.random.choice([g for g in range(1, channels + 1) if channels % g == 0])
    count = channels if net.opset >= 21 else groups
    inputs = [x, net.positive(count), net.normal(count)]
    return net.add("GroupNormalization", inputs, num_groups=groups, epsilon=0.01)


def varied(net: Network, x: str, axes: Iterable[int]) -> bool:
    """Whether numbers differ along axes, so that a division by their deviation is exact."""
    return bool(net.data[x].std(tuple(axes)).min() > 0.05)


def instance_norm(net: Network) -> bool:
    """InstanceNormalization."""
    if (x := net.pick(net.random.choice((3, 4, 4)))) is None:
        return False
    channels = net.shape(x)[1]
    if not varied(net, x, range(2, len(net.shape(x)))):
        return False
    return net.add("InstanceNormalization", [x, net.positive(channels), net.normal(channels)])


def mean_variance(net: Network) -> bool:
    """MeanVarianceNormalization."""
    if (x := net.pick(4)) is None:
        return False
    some = net.random.choice(([0, 2, 3], [2, 3], [1], [0, 1, 2, 3]))
    if not varied(net, x, some):
        return False
    return net.add(
        "MeanVarianceNormalization", [x], **({"axes": some} if some != [0, 2, 3] else {})
    )


def conv_transpose(net: Network) -> bool:
    """A transposed convolution over one or two axes."""
    if (x := net.pick(net.random.choice((3, 4, 4)))) is None:
        return False
    random, channels = net.random, net.shape(x)[1]
    groups = random.choice([1, *(g for g in range(1, channels + 1) if channels % g == 0)])
    axes = len(net.shape(x)) - 2
    kernel = [random.randint(1, 4) for _ in range(axes)]
    attributes: dict[str, Any] = {"strides": [random.randint(1, 3) for _ in range(axes)]}
    if random.random() < 0.3:
        attributes["dilations"] = [random.randint(1, 2) for _ in range(axes)]
    chance = random.random()
    if chance < 0.2:
        attributes["auto_pad"] = random.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif chance < 0.6:
        attributes["pads"] = [random.randint(0, 2) for _ in range(2 * axes)]
    if random.random() < 0.3 and "auto_pad" not in attributes:
        attributes["output_padding"] = [random.randint(0, s - 1) for s in attributes["strides"]]
    filters = random.randint(1, 3)
    inputs = [x, net.normal(channels, filters, *kernel)]
    if random.random() < 0.6:
        inputs.append(net.normal(filters * groups))
    return net.add("ConvTranspose", inputs, group=groups, **attributes)


def conv_1d(net: Network) -> bool:
    """A convolution over one axis."""
    if (x := net.pick(3)) is None:
        return False
    width, channels = net.random.randint(1, 4), net.shape(x)[1]
    weight = net.normal(net.random.randint(1, 4), channels, width)
    return net.add("Conv", [x, weight], pads=[net.random.randint(0, 2), net.random.randint(0, 2)])


def overhangs(attributes: Mapping[str, Any], shape: Sequence[int]) -> bool:
    """Whether a window is larger than its padded map, which onnxruntime takes now and then."""
    extents = shape[2:]
    rims = attributes.get("pads", [0] * 2 * len(extents))
    holes = attributes.get("dilations", [1] * len(extents))
    padded = [n + a + b for n, a, b in zip(extents, rims, rims[len(extents) :])]
    reach = [(k - 1) * d + 1 for k, d in zip(attributes["kernel_shape"], holes, strict=True)]
    if attributes.get("auto_pad", "VALID") != "VALID":
        return False
    return any(n < r for n, r in zip(padded, reach, strict=True))


def pool_1d(net: Network) -> bool:
    """A pool over one axis."""
    if (x := net.pick(3)) is None:
        return False
    attributes = window(net, conv=False)
    shorter: dict[str, Any] = {
        k: v[:1] if isinstance(v, list) else v for k, v in attributes.items()
    }
    shorter.pop("pads", None)
    kind = net.random.choice(("MaxPool", "AveragePool"))
    if kind == "AveragePool":
        shorter.pop("dilations", None)
    return not overhangs(shorter, net.shape(x)) and net.add(kind, [x], **shorter)


def matmul(net: Network) -> bool:
    """A product of two maps, or of a map and a constant of any rank."""
    if (x := net.pick()) is None or not net.shape(x):
        return False
    *front, depth = net.shape(x)
    others = [
        name
        for name, array in net.data.items()
        if array.dtype == np.float32 and array.ndim > 1 and array.shape[-2] == depth
    ]
    if others and net.random.random() < 0.5:
        return net.add("MatMul", [x, net.random.choice(others)])
    if net.random.random() < 0.3:
        turned = list(range(len(front) + 1))
        turned[-2:] = turned[-2:][::-1]
        return net.add("Transpose", [x], perm=turned) and net.add("MatMul", [x, net.last])
    shape = (depth, net.random.randint(1, 5))
    shape = net.random.choice((shape, shape, (depth,), (1, *shape)))
    return net.add("MatMul", [x, net.normal(*shape)])


def einsum(net: Network) -> bool:
    """A product by Einsum."""
    rank = net.random.choice((2, 3, 4))
    if (x := net.pick(rank)) is None:
        return False
    letters = "abcd"[:rank]
    chance = net.random.random()
    if chance < 0.3:
        turned = "".join(net.random.sample(letters, rank))
        return net.add("Einsum", [x], equation=f"{letters}->{turned}")
    if chance < 0.6:
        right = "".join(net.random.sample(letters[1:] + "e", rank))
        extents = dict(zip(letters, net.shape(x), strict=True), e=net.random.randint(1, 4))
        weight = net.normal(*(extents[letter] for letter in right))
        kept = [c for c in letters + "e" if c in "ae" or net.random.random() < 0.5]
        return net.add("Einsum", [x, weight], equation=f"{letters},{right}->{''.join(kept)}")
    last = letters[-1]
    text = f"...{last},{last}e->...e"
    return net.add("Einsum", [x, net.normal(net.shape(x)[-1], 3)], equation=text)


def attention(net: Network) -> bool:
    """Attention of one map of tokens [N, T, width], with itself."""
    if (x := net.pick(3)) is None:
        return False
    width, random = net.shape(x)[2], net.random
    heads = random.choice([h for h in range(1, width + 1) if width % h == 0])
    attributes: dict[str, Any] = {"q_num_heads": heads, "kv_num_heads": heads}
    if random.random() < 0.4:
        attributes["is_causal"] = 1
    if random.random() < 0.3:
        attributes["scale"] = random.uniform(0.1, 1.0)
    if random.random() < 0.3:
        attributes["softcap"] = random.uniform(0.5, 3.0)
    inputs = [x, x, x]
    if random.random() < 0.3 and "is_causal" not in attributes:
        tokens = net.shape(x)[1]
        inputs.append(net.normal(tokens, tokens))
    return net.add("Attention", inputs, **attributes)


FUNCTION_NAMES = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid "
    "HardSwish LeakyRelu Log Mish Neg Reciprocal Round Selu Shrink Sigmoid Sign Sin Sinh Softplus "
    "Softsign Sqrt Swish Tan Tanh ThresholdedRelu"
).split()

FLOATS: Mapping[str, Maker] = {
    **{kind: partial(function, kind) for kind in FUNCTION_NAMES},
    **{kind: partial(foreign_function, kind) for kind in ("FastGelu", "QuickGelu")},
    **{kind: partial(pair, kind) for kind in ("Add", "Div", "Mod", "Mul", "Pow", "Sub")},
    **{kind: partial(several, kind) for kind in ("Max", "Mean", "Min", "Sum")},
    **{
        kind: partial(compare, kind)
        for kind in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
    },
    **{kind: partial(logic, kind) for kind in ("And", "Not", "Or", "Xor")},
    **{
        f"Reduce{kind}": partial(reduction, f"Reduce{kind}")
        for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
    },
    **{kind: partial(index, kind) for kind in ("ArgMax", "ArgMin")},
    **{kind: partial(along_axis, kind) for kind in ("LogSoftmax", "LpNormalization", "Softmax")},
    **{
        kind: partial(layer_norm, kind)
        for kind in ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
    },
    "Attention": attention,
    "Cast": cast,
    "Conv over one axis": conv_1d,
    "ConvTranspose": conv_transpose,
    "Einsum": einsum,
    "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm,
    "MatMul": matmul,
    "MeanVarianceNormalization": mean_variance,
    "Pool over one axis": pool_1d,
    "Where": where,
}
"""Makers by the operator that they add, or by what it is."""
