"""Equations (1) to (6) of paper 004 as printed, and its constraint on memory.

The paper charges tiles without halo, reads outputs on every pass, and moves all operands again in
each step of listing 1.1. `npu_plans/tiles/cost_model.py` explains its symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from npu_plans.tiles.closed_forms import PHYSICAL, Stationary, axes_of_tile, footprint_arrays
from npu_plans.tiles.cost_model import LOOPS, Conventions, DmaCosts, Tile, check_order
from npu_plans.tiles.layer_shape import ConvShape


@dataclass(frozen=True)
class PaperCost:
    """T and the DMA calls of each operand as the paper prints them, as exact fractions."""

    t_in: Fraction
    t_out: Fraction
    t_wb: Fraction
    d_in: Fraction
    d_out: Fraction
    d_wb: Fraction

    @property
    def t_tot(self) -> Fraction:
        """The overall cost: the sum of the T D products (behind equation (6))."""
        return self.t_in * self.d_in + self.t_out * self.d_out + self.t_wb * self.d_wb


def paper_cost(layer: ConvShape, sigmas: tuple[int, int, int, int], dma: DmaCosts) -> PaperCost:
    """Equations (1) to (6), as printed; str^2, Ks^2 are products where rows and columns differ."""
    s, t, k, z = sigmas
    rows, columns = layer.rows, layer.columns
    c, p, per_element = Fraction(dma.start), Fraction(dma.jump), Fraction(dma.element)
    outputs = Fraction(s * t * z, rows.stride * columns.stride)
    d_in = Fraction(layer.input_elements, s * t * k)
    d_out = d_in * Fraction(layer.channels_out, z)
    return PaperCost(
        t_in=c + s * k * p + s * t * k * per_element,
        t_out=2 * (c + Fraction(s * z, rows.stride) * p + outputs * per_element),
        t_wb=c + (z + 1) * p + (k * z * layer.kernel_elements + z) * per_element,
        d_in=d_in,
        d_out=d_out,
        d_wb=d_out,
    )


def paper_ocm_elements(layer: ConvShape, sigmas: tuple[int, int, int, int]) -> Fraction:
    """The left side of the paper's constraint (section 4.2), in elements: at most half the OCM."""
    s, t, k, z = sigmas
    outputs = Fraction(s * t * z, layer.rows.stride * layer.columns.stride)
    return s * t * k + outputs + k * z * layer.kernel_elements + z


def footprint_of(
    layer: ConvShape,
    tile: Tile,
    order: str = LOOPS,
    conventions: Conventions = PHYSICAL,
    stationary: Stationary = "double-buffered",
) -> int:
    """Bytes on chip that the buffers of one tile take."""
    check_order(order)
    axes = axes_of_tile(layer, tile, conventions)
    return int(footprint_arrays(layer, axes, order, stationary).item())


def parameter_elements(layer: ConvShape) -> int:
    """Weights and biases of a layer, in elements."""
    return layer.channels_out * (layer.channels_in * layer.kernel_elements + 1)
