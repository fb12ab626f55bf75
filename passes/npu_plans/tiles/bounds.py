"""What no tiling can go below. No IR in here."""

from __future__ import annotations

from math import isqrt

from npu_plans.tiles.layer_shape import ConvShape


def multiplications(layer: ConvShape) -> int:
    """Multiply-accumulates of the layer, those with padding left out."""
    taps = len(layer.rows.taps()) * len(layer.columns.taps())
    return taps * layer.channels_in * layer.channels_out


def compulsory_bytes(layer: ConvShape) -> int:
    """Bytes if each input that is used, each weight, bias and output moves once, unless held."""
    used = len(set(layer.rows.taps())) * len(set(layer.columns.taps())) * layer.channels_in
    kernels = layer.channels_in * layer.channels_out * layer.kernel_elements
    widths = layer.element_bytes
    return (
        used * widths.input * layer.moves("input")
        + kernels * widths.weight * layer.moves("weight")
        + layer.channels_out * widths.bias * layer.moves("bias")
        + layer.output_elements * widths.output * layer.moves("output")
    )


def lower_bound_bytes(layer: ConvShape, ocm_bytes: int) -> int:
    """Bytes that every schedule moves that computes each product once, whatever its tiles.

    The phase argument of Irony, Toledo and Tiskin (2004). With S elements on chip, a phase of X
    moved elements touches at most 2 S + X: S that are there at its start, S results that are there
    at its end, and X. By Loomis and Whitney, I inputs, W weights and O outputs take part in at most
    sqrt(R I W O) products, where R is how many windows an input is in. The best X is 4 S: each
    phase has at most sqrt(R (2 S)^3) products. All phases but the last move 4 S elements. The
    result is at least `compulsory_bytes`, and no more than that if a map or the weights are held.
    """
    if layer.held - {"bias"}:
        return compulsory_bytes(layer)
    width = layer.element_bytes.smallest
    on_chip = max(1, ocm_bytes // width)
    reuse = layer.rows.reuse * layer.columns.reuse
    products = isqrt(reuse * (2 * on_chip) ** 3)
    full_phases = (multiplications(layer) - 1) // max(1, products)
    return max(compulsory_bytes(layer), 4 * on_chip * full_phases * width)
