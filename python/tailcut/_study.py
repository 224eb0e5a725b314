"""Studies: tables and figures of papers, measured again, and tests of drives."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, NamedTuple

from . import _tailcut
from ._progress import Progress, told
from ._table import Table, markup

_KINDS = {
    "case": str,
    "quantity": str,
    "unit": str,
    "paper": float,
    "sense": str,
    "effect": bool,
    "reading": str,
    "counted": bool,
    "basis": str,
    "measured": float,
    "ratio": float,
    "holds": bool,
    "limit": float,
    "note": str,
}


class StudyTitle(NamedTuple):
    """What a study is called, what it shows, and where the paper does."""

    id: str
    title: str
    source: str


def studies() -> list[StudyTitle]:
    """Every study: of papers, and the tests of drives behind them."""
    return [StudyTitle(one["study"], one["title"], one["source"]) for one in json.loads(_tailcut.studies())]


def study(
    id: str,  # what the command calls it
    *,
    quick: bool = False,
    seed: int = 1,
    traces: str | PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> StudyResult:
    """Measures a table or figure of a paper again, on all cores; or tests a simulated drive (``pts-lat`` and others).

    :param id: its name; see :func:`studies`.
    :param quick: fewer cases and shorter runs: seconds instead of minutes.
    :param seed: seed of every random stream.
    :param traces: the folder of recorded traces, for studies that can use them.
    :param jobs: how many runs at a time; one for each core when left out.
    :param progress: as in :func:`run`, in runs; for the test of a drive in loads.
    :raises ScenarioError: a study that there is not; the text has the names of all.
    """
    with told(progress, id, "runs") as tell:
        return StudyResult(_tailcut.study(id, quick, seed, traces, jobs, tell))


class StudyResult:
    """A finished study."""

    def __init__(self, inner: _tailcut.Study) -> None:
        self._inner = inner
        self._data: dict[str, Any] = json.loads(inner.json())

    @property
    def id(self) -> str:
        """Its name."""
        return str(self._data["study"])

    @property
    def data(self) -> dict[str, Any]:
        """All that ``tailcut study run --json`` writes."""
        return self._data

    @property
    def notes(self) -> list[str]:
        """What a reader should know of all rows: of a test of a drive, how it was carried out."""
        return list(self._data.get("notes", []))

    @property
    def rows(self) -> Table:
        """A row for each figure: case, quantity, unit (``B/s``, ``1/s``, ``B``, ``s``, ``us``, ``share``, ``x``), the
        figure of the paper (``basis``: ``derived`` if not printed, ``input`` if the scenario was made from it) and
        ours, ours over the paper's (``ratio``), what physics allows (``limit``), and
        a note where they differ; None where there is none. A figure of the paper is a claim: ``sense`` (``equal``
        within a quarter (±25 %), ``at-least``, ``at-most``, ``order``), ``effect`` (it is a change, and is compared as
        one), ``reading`` (``main``, or the name of another reading of the paper), ``counted`` (not an input, and
        of the main reading) and ``holds``."""
        return Table.of(self._data["rows"], _KINDS)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Writes the figures as a page of HTML that loads nothing (``.html``), and their data as JSON beside
        it."""
        self._inner.to_html(path)

    def __repr__(self) -> str:
        return f"<tailcut.StudyResult: {self.id}, {len(self._data['rows'])} figures>"

    def _repr_html_(self) -> str:
        head = ["case", "quantity", "unit", "paper", "measured", "ratio", "limit"]
        return markup(self.id, head, ([row[name] for name in head] for row in self._data["rows"]))
