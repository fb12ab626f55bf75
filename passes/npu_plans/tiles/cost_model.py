r"""Traffic of a tiled convolution between external and on-chip memory. No IR in here.

Paper 004 is L. Cecconi et al., *Optimal Tiling Strategy for Memory Bandwidth Reduction for CNNs*,
ACIVS 2017. Its symbols, spelled out once:

- sigma_s, sigma_t: rows and columns of an input tile; an output tile has sigma_s/str rows and
  sigma_t/str columns, with the stride str;
- sigma_k, sigma_z: input channels and output channels of a tile;
- C: the cost of starting a DMA transfer; p: of an address jump in it; t: of an element.

The paper's equations (1) to (6) charge tiles without halo, read outputs on every pass, and move
everything again in each step of listing 1.1. `traffic_of` in `closed_forms.py` counts what a DMA
engine has to move. Each way in which the two differ is one of `Conventions`; with all of them off
`traffic_of` counts what the paper's sum T_tot charges.
"""

from __future__ import annotations

from dataclasses import dataclass

from npu_plans.tiles.layer_shape import ConvShape, TilingError

LOOPS = "stkz"
"""The tile loops in the order of listing 1.1, outermost first.

They run over rows, columns, input channels and output channels."""


@dataclass(frozen=True)
class DmaCosts:
    """C, p and t in the same unit of the caller's choice. The paper publishes no values."""

    start: float
    jump: float
    element: float

    def __post_init__(self) -> None:
        """Check that more traffic does not cost less, as the search relies on it.

        Raises: TilingError if a cost is negative.
        """
        if min(self.start, self.jump, self.element) < 0:
            raise TilingError(f"costs of a transfer must not be negative: {self}")


@dataclass(frozen=True)
class Tile:
    """The size of a tile: output rows, output columns, input channels and output channels."""

    rows: int
    columns: int
    channels_in: int
    channels_out: int

    def sigmas(self, layer: ConvShape) -> tuple[int, int, int, int]:
        """sigma_s, sigma_t, sigma_k, sigma_z of the paper."""
        s, t = self.rows * layer.rows.stride, self.columns * layer.columns.stride
        return s, t, self.channels_in, self.channels_out


@dataclass(frozen=True)
class OperandTraffic:
    """The sums over all transfers of one operand; `jumps` counts contiguous runs of addresses."""

    transfers: int
    jumps: int
    elements: int
    bytes: int

    def cost(self, dma: DmaCosts) -> float:
        """Equation (1), T = C + s p + n t for a transfer of s jumps and n elements, summed up."""
        return self.transfers * dma.start + self.jumps * dma.jump + self.elements * dma.element


@dataclass(frozen=True)
class TileTraffic:
    """Everything that a tiled layer moves; biases are counted with the weights."""

    inputs: OperandTraffic
    weights: OperandTraffic
    outputs_read: OperandTraffic
    outputs_written: OperandTraffic

    @property
    def total(self) -> OperandTraffic:
        """The sum of the operands."""
        parts = (self.inputs, self.weights, self.outputs_read, self.outputs_written)
        return OperandTraffic(
            sum(part.transfers for part in parts),
            sum(part.jumps for part in parts),
            sum(part.elements for part in parts),
            sum(part.bytes for part in parts),
        )

    def cost(self, dma: DmaCosts) -> float:
        """T of the whole layer."""
        return self.total.cost(dma)


@dataclass(frozen=True)
class Conventions:
    """Differences of the traffic model from listing 1.1; all are on by default.

    Without `halo`, tiles are those of the paper: sigma_s by sigma_t inputs. If these do not divide
    the map, every tile is charged as a whole one.
    """

    halo: bool = True
    """The inputs of a tile reach into neighbouring tiles, and end at the map's border."""
    skip_first_read: bool = True
    """Outputs are not read on the first pass, when nothing has been accumulated into them."""
    reload_changed_only: bool = True
    """An operand stays on chip while its tile is the same from one step to the next."""
    merge_runs: bool = True
    """Contiguous data counts as one run: full-width rows, whole maps and whole kernel stacks."""


PAPER = Conventions(False, False, False, False)
"""The conventions of paper 004."""


def check_order(order: str) -> None:
    """Check that `order` names each of the four loops once.

    Raises: TilingError if it does not.
    """
    if sorted(order) != sorted(LOOPS):
        raise TilingError(f"a loop order is a permutation of {LOOPS}, got {order!r}")
