"""Studies: tables and figures of papers, measured again, and tests of drives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from . import _tailcut
from ._progress import Progress, told
from ._table import Table, markup

if TYPE_CHECKING:
    from distributed import Client

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


@overload
def study(
    id: str,
    *,
    quick: bool = ...,
    seed: int = ...,
    traces: str | PathLike[str] | None = ...,
    jobs: int | None = ...,
    progress: Progress = ...,
    client: Client | None = ...,
) -> StudyResult: ...


@overload
def study(
    id: Sequence[str],
    *,
    quick: bool = ...,
    seed: int = ...,
    traces: str | PathLike[str] | None = ...,
    jobs: int | None = ...,
    progress: Progress = ...,
    client: Client | None = ...,
) -> list[StudyResult]: ...


def study(
    id: str | Sequence[str],  # what the command calls it
    *,
    quick: bool = False,
    seed: int = 1,
    traces: str | PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    client: Client | None = None,
) -> StudyResult | list[StudyResult]:
    """Measures a table or figure of a paper again, on all cores; or tests a simulated drive (``pts-lat`` and others).

    :param id: its name, or a list of names for a list of results; see :func:`studies`.
    :param quick: fewer cases and shorter runs: seconds instead of minutes.
    :param seed: seed of every random stream.
    :param traces: the folder of recorded traces, for studies that can use them.
    :param jobs: how many runs at a time; one for each core when left out, with ``client`` one for each thread of
        a worker.
    :param progress: as in :func:`run`, in runs; for the test of a drive in loads, for a list in studies.
    :param client: a ``Client`` of Dask: each study is done whole by one worker of its cluster, and its result is
        that of this machine to the byte; a worker that has another version of tailcut is refused.
    :raises ScenarioError: a study that there is not; the text has the names of all.
    """
    ids = [id] if isinstance(id, str) else list(id)
    folder = None if traces is None else fspath(traces)
    if client is not None:
        from ._dask import map_on

        jobs_of = [(one, quick, seed, folder, jobs) for one in ids]
        with told(progress, "studies", "studies") as tell:
            found = [_tailcut.Study.of(json) for json in map_on(client, _on_worker, jobs_of, tell)]
    elif isinstance(id, str):
        with told(progress, id, "runs") as tell:
            found = [_tailcut.study(id, quick, seed, folder, jobs, tell)]
    else:
        found = []
        with told(progress, "studies", "studies") as tell:
            for done, one in enumerate(ids):
                found.append(_tailcut.study(one, quick, seed, folder, jobs, None))
                if tell is not None:
                    tell(done + 1, len(ids))
    results = [StudyResult(one) for one in found]
    return results[0] if isinstance(id, str) else results


def _on_worker(version: str, id: str, quick: bool, seed: int, traces: str | None, jobs: int | None) -> str:
    from ._dask import refuse_other, threads

    refuse_other(version)
    return _tailcut.study(id, quick, seed, traces, jobs or threads(), None).json()


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
