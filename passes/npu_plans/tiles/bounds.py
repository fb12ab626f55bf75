"""Lower bounds on the traffic of any tiling of a convolution. No IR in here."""

from __future__ import annotations

from math import isqrt

from npu_plans.tiles.layer_shape import ConvShape


def multiplications(layer: ConvShape) -> int:
    """Multiply-accumulates of the layer, without those on padding."""
    taps = len(layer.rows.taps()) * len(layer.columns.taps())
    return taps * layer.channels_in * layer.channels_out


def compulsory_bytes(layer: ConvShape) -> int:
    """Bytes moved if each used input, weight, bias and output moves once; held operands move 0."""
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
    """A lower bound on the bytes moved by any schedule that computes each product once.

    It uses the phase argument of Irony, Toledo and Tiskin (2004). With S elements on chip, a phase
    of X moved elements touches at most 2 S + X elements: S that are on chip at its start, S results
    that are on chip at its end, and X. By Loomis and Whitney, I inputs, W weights and O outputs
    take part in at most sqrt(R I W O) products, where R is the number of windows that an input is
    in. The best X is 4 S: each phase has at most sqrt(R (2 S)^3) products. All phases but the last
    move 4 S elements. The result is at least `compulsory_bytes`, and exactly that if a map or the
    weights are held.
    """
    if layer.held - {"bias"}:
        return compulsory_bytes(layer)
    width = layer.element_bytes.smallest
    on_chip = max(1, ocm_bytes // width)
    reuse = layer.rows.reuse * layer.columns.reuse
    products = isqrt(reuse * (2 * on_chip) ** 3)
    full_phases = (multiplications(layer) - 1) // max(1, products)
    return max(compulsory_bytes(layer), 4 * on_chip * full_phases * width)
