"""Where the layers of a graph stand on the page: Sugiyama's layers, by grandalf.

Positions are pixels. Each node has a box of the same size; edges bend around the boxes of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

from npu_tools.pages.graph import Graph

WIDTH, HEIGHT = 148, 38
"""The size of a node."""
ACROSS, DOWN = 18, 30
"""The space between nodes."""
MARGIN = 16
"""The space around the picture, and around the nodes of a module."""
HEAD = 12
"""The space for the name of a module above its nodes."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """A rectangle around the nodes of a module, or of a group that runs row by row."""

    label: str
    kind: str
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """The size of the picture, the upper left corner of each node, and the paths of the edges."""

    width: float
    height: float
    corners: tuple[Point, ...]
    paths: tuple[str, ...]
    frames: tuple[Frame, ...]


def layout_of(graph: Graph) -> Layout:
    """The layout of a graph; needs grandalf."""
    places, bends = placed(graph)
    left = min(x for x, _ in places) - WIDTH / 2 - 2 * MARGIN
    top = min(y for _, y in places) - HEIGHT / 2 - MARGIN
    right = max([x + WIDTH / 2 for x, _ in places] + [x for path in bends for x, _ in path])
    bottom = max(y for _, y in places) + HEIGHT / 2
    left = min([left, *(x - MARGIN for path in bends for x, _ in path)])
    corners = tuple((x - left - WIDTH / 2, y - top - HEIGHT / 2) for x, y in places)
    paths = tuple(path_text([(x - left, y - top) for x, y in path]) for path in bends)
    return Layout(
        right - left + 2 * MARGIN,
        bottom - top + MARGIN,
        corners,
        paths,
        tuple(frames(graph, corners)),
    )


def placed(graph: Graph) -> tuple[list[Point], list[list[Point]]]:
    """The middle of each node, and the points of each edge from its start to its end."""
    graphs: Any = import_module("grandalf.graphs")
    layouts: Any = import_module("grandalf.layouts")
    vertices = [graphs.Vertex(index) for index in range(len(graph.nodes))]
    for vertex in vertices:
        vertex.view = layouts.VertexViewer(w=WIDTH, h=HEIGHT)
    edges = [graphs.Edge(vertices[start], vertices[end]) for start, end in graph.edges]
    routes: dict[Any, Sequence[Any]] = {}
    shift = 0.0
    for part in graphs.Graph(vertices, edges).C:
        drawing = layouts.SugiyamaLayout(part)
        drawing.xspace, drawing.yspace = ACROSS, DOWN
        drawing.init_all()
        drawing.draw(2)
        views = [vertex.view for vertex in part.V()]
        moved = shift - min(view.xy[0] for view in views)
        for edge in part.E():
            inner = dummies(drawing, edge)
            routes[edge] = [(x + moved, y) for x, y in inner]
        for view in views:
            view.xy = (view.xy[0] + moved, view.xy[1])
        shift = max(view.xy[0] for view in views) + WIDTH + ACROSS
    places: list[Point] = [vertex.view.xy for vertex in vertices]
    return places, list(routed(graph, places, [routes.get(edge, ()) for edge in edges]))


def dummies(drawing: Any, edge: Any) -> list[Point]:
    """The points at which an edge passes the layers between its ends, downwards."""
    ctrls: Mapping[int, Any] = drawing.ctrls.get(edge, {})
    ends = (edge.v[0], edge.v[1])
    return [ctrls[rank].view.xy for rank in sorted(ctrls) if ctrls[rank] not in ends]


def routed(
    graph: Graph, places: Sequence[Point], inner: Sequence[Sequence[Point]]
) -> Iterator[list[Point]]:
    """The points of each edge: from the lower side of a node to the upper side of another one."""
    for (start, end), between in zip(graph.edges, inner, strict=True):
        (x1, y1), (x2, y2) = places[start], places[end]
        passing = [(x, y + side) for x, y in between for side in (-HEIGHT / 2, HEIGHT / 2)]
        yield [(x1, y1 + HEIGHT / 2), *passing, (x2, y2 - HEIGHT / 2)]


def path_text(points: Sequence[Point]) -> str:
    """A smooth SVG path through points, which leaves and reaches each of them vertically."""
    (x, y), *_ = points
    parts = [f"M{x:.0f} {y:.0f}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        bend = (y2 - y1) / 2
        parts.append(f"C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}")
    return "".join(parts)


def frames(graph: Graph, corners: Sequence[Point]) -> Iterator[Frame]:
    """The frames of modules, then of groups that run row by row."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for node, corner in zip(graph.nodes, corners, strict=True):
        if node.module is not None:
            groups.setdefault(("module", node.module), []).append(corner)
    for node, corner in zip(graph.nodes, corners, strict=True):
        if node.rows is not None:
            groups.setdefault(("rows", f"row by row {node.rows}"), []).append(corner)
    for (kind, label), found in groups.items():
        pad = MARGIN / 2 if kind == "module" else MARGIN / 4
        left, top = min(x for x, _ in found) - pad, min(y for _, y in found) - pad
        right, bottom = max(x for x, _ in found) + WIDTH, max(y for _, y in found) + HEIGHT
        head = HEAD if kind == "module" else 0
        yield Frame(label, kind, left, top - head, right + pad - left, bottom + pad - top + head)
