"""The page of a sweep: all points and the front in the plane of two objectives, with Plotly.

Each point shows its row when the mouse is over it. A click opens its report if that is there, and
shows the command that writes it.
"""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npu_tools.exploring.columns import RESULT_COLUMNS
from npu_tools.exploring.front import Objective, front_of
from npu_tools.exploring.packages import Frame, package
from npu_tools.exploring.point_report import report_path
from npu_tools.exploring.tables import shown_columns, text_of
from npu_tools.shared.files import write_file
from npu_tools.shared.text import printable

MORE = ("arena_bytes", "off_chip.bytes", "cycles", "energy_pj", "not_timed")
"""Results that are shown beside the objectives."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 1rem auto; max-width: 72rem;
  padding: 0 1rem; background: Canvas; color: CanvasText; }}
#plot {{ height: 70vh; min-height: 24rem; max-width: 100%; overflow: hidden; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
td, th {{ padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8884; }}
td:first-child, th:first-child {{ text-align: left; }}
.wide {{ overflow-x: auto; }}
code {{ overflow-wrap: anywhere; }}
</style></head><body>
<h1>{title}</h1>
<p>{summary}</p>
{plot}
<p id="picked">Click on a point for its report.</p>
<h2>The front</h2>
<div class="wide"><table>{table}</table></div>
</body></html>
"""

CONFIG = {"responsive": True, "displaylogo": False}

CLICKS = """
const plot = document.getElementById('{plot_id}');
const dark = matchMedia('(prefers-color-scheme: dark)');
const paint = () => Plotly.relayout(plot, {
  'font.color': dark.matches ? '#ddd' : '#222',
  'xaxis.gridcolor': dark.matches ? '#444' : '#ddd',
  'yaxis.gridcolor': dark.matches ? '#444' : '#ddd',
});
dark.addEventListener('change', paint);
paint();
plot.on('plotly_click', (event) => {
  const [key, path] = event.points[0].customdata;
  const picked = document.getElementById('picked');
  picked.replaceChildren();
  const link = document.createElement('a');
  link.href = path;
  link.textContent = 'The report of point ' + key.slice(0, 8);
  const command = document.createElement('code');
  command.textContent = 'npu-explore MODEL --target TARGET --report ' + key.slice(0, 8);
  picked.append(link, ', once this has written it, with the options of the sweep: ', command);
});
"""


def write_page(
    path: Path, rows: Frame, aims: Sequence[Objective], varied: Sequence[str], store: Path
) -> None:
    """Draw a sweep; the file opens without a network.

    Raises: UserError if Plotly is missing, or if the file cannot be written.
    """
    here = path.absolute().parent
    write_file(path, page_of(rows, aims, varied, Path(os.path.relpath(store, here))))


def page_of(rows: Frame, aims: Sequence[Objective], varied: Sequence[str], store: Path) -> str:
    """The text of the page; `store` is the folder of the store as seen from the page."""
    front = front_of(rows, aims)
    names = shown_columns(rows, aims, varied)
    models = ", ".join(sorted({Path(model).name for model in rows["model"]}))
    failed = int((rows["status"] == "failed").sum())
    figure = figure_of(rows, front, aims, names, store)
    plot: str = figure.to_html(
        full_html=False, include_plotlyjs=True, div_id="plot", post_script=CLICKS, config=CONFIG
    )
    return PAGE.format(
        title=safe(f"Sweep of {models}"),
        summary=safe(f"{len(rows)} points, {len(front)} on the front, {failed} failed"),
        plot=plot,
        table=table_of(front, names, store),
    )


def figure_of(
    rows: Frame,
    front: Frame,
    aims: Sequence[Objective],
    names: Sequence[str],
    store: Path,
) -> Any:
    """All points and the front. The second objective is the vertical axis, a third the colour."""
    down, across = aims[min(1, len(aims) - 1)].name, aims[0].name
    known = rows[(rows["status"] == "ok") & rows[[across, down]].notna().all(axis=1)]
    rest = known[~known["key"].isin(front["key"])]
    figure = package("plotly.graph_objects").Figure()
    for name, part, size in (("beaten", rest, 8), ("front", front, 12)):
        marker: dict[str, Any] = {"size": size, "opacity": 0.5 if name == "beaten" else 1.0}
        if len(aims) > 2 and name == "front":
            third = aims[2].name
            marker |= {"color": part[third].astype(float), "colorscale": "Viridis"}
            marker |= {"colorbar": {"title": {"text": third}}}
        figure.add_scatter(
            x=part[across].astype(float),
            y=part[down].astype(float),
            mode="markers",
            name=name,
            marker=marker,
            text=[hover_of(row, names) for _, row in part.iterrows()],
            customdata=[[key, report_path(store, key).as_posix()] for key in part["key"]],
            hovertemplate="%{text}<extra></extra>",
        )
    figure.update_layout(
        xaxis_title=across,
        yaxis_title=down,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        margin={"l": 60, "r": 20, "t": 60, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    return figure


def hover_of(row: Any, names: Sequence[str]) -> str:
    """What is shown of a point when the mouse is over it."""
    shown = dict.fromkeys(("target", *names, *(each for each in MORE if each in RESULT_COLUMNS)))
    lines = [f"{name}: {text_of(row[name])}" for name in shown if row[name] is not None]
    return "<br>".join(safe(line) for line in lines)


def table_of(front: Frame, names: Sequence[str], store: Path) -> str:
    """The rows of the front as a table, with links to their reports."""
    lines = ["<tr>" + "".join(f"<th>{safe(name)}</th>" for name in ("point", *names)) + "</tr>"]
    for _, row in front.iterrows():
        key = str(row["key"])
        link = f'<a href="{safe(report_path(store, key).as_posix())}">{key[:8]}</a>'
        cells = "".join(f"<td>{safe(text_of(row[name]))}</td>" for name in names)
        lines.append(f"<tr><td>{link}</td>{cells}</tr>")
    return "\n".join(lines)


def safe(text: str) -> str:
    """A text for HTML: names of models may hold anything."""
    return html.escape(printable(text))
