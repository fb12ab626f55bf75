r"""What a tiling of a convolution moves between external and on-chip memory. No IR in here.

Paper 004 is L. Cecconi et al., *Optimal Tiling Strategy for Memory Bandwidth Reduction for CNNs*,
ACIVS 2017. Its symbols, spelled out once:

- sigma_s, sigma_t: rows and columns of an input tile; of outputs, it is sigma_s/str, sigma_t/str;
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
"""The tile loops in the order of listing 1.1, outermost first: rows, columns, inputs, outputs."""


@dataclass(frozen=True)
class DmaCosts:
    """C, p and t in the same unit of the caller's choice. The paper publishes no values."""

    start: float
    jump: float
    element: float

    def __post_init__(self) -> None:
        """Check that more traffic does not cost less: the search relies on it."""
        if min(self.start, self.jump, self.element) < 0:
            raise TilingError(f"costs of a transfer must not be negative: {self}")


@dataclass(frozen=True)
class Tile:
    """Outputs of a tile: rows, columns, channels; and the input channels that it takes at once."""

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
    """What the transfers of one operand add up to. A jump is a contiguous run of addresses."""

    transfers: int
    jumps: int
    elements: int
    bytes: int

    def cost(self, dma: DmaCosts) -> float:
        """Equation (1), summed: T = C + s p + n t for each transfer."""
        return self.transfers * dma.start + self.jumps * dma.jump + self.elements * dma.element


@dataclass(frozen=True)
class TileTraffic:
    """Everything that a tiled layer moves; biases travel with their weights."""

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
    """Where the traffic differs from listing 1.1, one freedom each; all are on by default.

    Without `halo`, tiles are the paper's: sigma_s by sigma_t inputs, and where they do not divide
    the map, every tile is charged as a whole one.
    """

    halo: bool = True
    """Inputs of a tile reach into its neighbours, and end at the map's border."""
    skip_first_read: bool = True
    """Outputs are not read before something has been accumulated into them."""
    reload_changed_only: bool = True
    """An operand stays on chip while its tile is the same from one step to the next."""
    merge_runs: bool = True
    """Full-width rows are one run of addresses, and so are whole maps and whole kernel stacks."""


PAPER = Conventions(False, False, False, False)
"""The conventions of paper 004."""


def check_order(order: str) -> None:
    """Check that `order` names each of the four loops once."""
    if sorted(order) != sorted(LOOPS):
        raise TilingError(f"a loop order is a permutation of {LOOPS}, got {order!r}")
