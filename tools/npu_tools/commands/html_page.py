"""`npu-compile --html`: the page that shows a compiled network, as a part of compiling it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npu_tools.shared.errors import UserError

if TYPE_CHECKING:
    from npu_tools.compiling.driver import Compiled, Job
    from npu_tools.compiling.stops import Observer
    from npu_tools.pages.page import PageStops


def add_html_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the page."""
    page = "show the network, its plan, its time and the IR after each pass as one HTML page"
    parser.add_argument("--html", type=Path, metavar="report.html", help=page)
    add_against(parser)


def add_against(parser: argparse.ArgumentParser) -> None:
    """Add the option that compares with another build."""
    other = "with the page: show the numbers of another build beside these"
    parser.add_argument("--against", type=Path, metavar="other/report.json", help=other)


class HtmlPage:
    """The page of a run of npu-compile: its observers, its file; nothing without --html."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Check the options before the work begins.

        Raises: UserError if a package is missing, or if --against is no report.json or stands
        without --html.
        """
        self.path: Path | None = options.html
        self.against: Path | None = options.against
        self.other: dict[str, Any] | None = None
        self.watching: PageStops | None = None
        if self.path is None:
            if self.against is not None:
                raise UserError("--against is for --html: expected both")
            return
        from npu_tools.pages.packing import need_report_extra

        need_report_extra("--html")
        self.other = other_report(self.against)

    def stops(self, model: str) -> tuple[Observer, ...]:
        """The observers that read the IR."""
        if self.path is None:
            return ()
        from npu_tools.pages.page import PageStops

        self.watching = PageStops(model)
        return self.watching.observers()

    def entry(self) -> dict[str, Any]:
        """The entry for report.json: the memory map, with which a page can be compared."""
        from npu_tools.pages.memory import map_entry

        return {} if self.watching is None else map_entry(self.watching.memory.found)

    def files(self, job: Job, compiled: Compiled, report: dict[str, Any]) -> dict[Path, str]:
        """The page; `report` are the contents of report.json."""
        if self.path is None or self.watching is None:
            return {}
        from npu_dialect.machine import Machine
        from npu_tools.pages.page import Build, paper_of
        from npu_tools.pages.render import page_of

        machine = Machine.load(job.target)
        paper = paper_of(job, machine)
        build = Build(self.watching, machine, compiled, report, paper=paper)
        return {self.path: page_of(build, self.other, str(self.against))}


def other_report(path: Path | None) -> dict[str, Any] | None:
    """The report.json of --against; None without it. Raises as `read_report`."""
    if path is None:
        return None
    from npu_tools.pages.against import read_report

    return read_report(path)
