"""Calibrations: a simulated drive, fitted to what was measured on a real one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _tailcut
from ._progress import Progress, told
from ._scenario import flat, spelled
from ._table import Table

if TYPE_CHECKING:
    from distributed import Client

_FILE = str | PathLike[str]


def calibrate(
    data: _FILE | Sequence[_FILE],
    *,
    data_sheet: _FILE | None = None,
    drive: str | None = None,
    scenario: _FILE | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | Sequence[int] = 1,
    evaluations: int | None = None,
    client_ns: int = 6_000,
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress = None,
    client: Client | None = None,
) -> Calibration:
    """Fits a simulated drive to measurements of a real one, as ``tailcut calibrate`` does.

    :param data: files of measurements: CSV, or fio's output (``.json``).
    :param data_sheet: the data sheet of the drive (CSV), for values to start from.
    :param drive: the drive to fit, where the files have several.
    :param scenario: a scenario with the drive to start from.
    :param set: settings of the drive; keys that are not fitted stay as they are.
    :param seed: seed of every random stream; of several, each begins a search of its own, and the best is kept.
    :param evaluations: candidates of each search.
    :param client_ns: what the client that measured adds to every latency, in ns.
    :param quick: fewer candidates and shorter tests.
    :param jobs: how many runs at a time; one for each core when left out, with ``client`` one for each thread of
        a worker.
    :param progress: as in :func:`run`, in trials; for several seeds in searches.
    :param client: a ``Client`` of Dask: each search is done whole by one worker of its cluster, which is sent the
        files; results are those of this machine to the byte.
    :raises ScenarioError: files that cannot be read, or a drive that they do not have.
    """
    files = [data] if isinstance(data, (str, PathLike)) else list(data)
    seeds = [seed] if isinstance(seed, int) else list(seed)
    if not seeds:
        raise _tailcut.ScenarioError("there is no seed; give one or more")
    wanted = {
        "drive": drive,
        "sets": [f"{key}={spelled(value)}" for key, value in flat(set or {})],
        "evaluations": evaluations,
        "client_ns": client_ns,
        "quick": quick,
        "jobs": jobs,
    }
    # Files leave as what they hold: a worker may be on another machine.
    texts = {
        "data": [_content(file) for file in files],
        "data_sheet": None if data_sheet is None else _content(data_sheet),
        "scenario": None if scenario is None else _content(scenario),
    }
    if client is not None:
        from ._dask import map_on

        with told(progress, "calibrate", "searches") as tell:
            found = map_on(client, _on_worker, [(texts, wanted, one) for one in seeds], tell)
    elif len(seeds) == 1:
        with told(progress, "calibrate", "trials") as tell:
            found = [_fit(texts, wanted, seeds[0], tell)]
    else:
        found = []
        with told(progress, "calibrate", "searches") as tell:
            for done, one in enumerate(seeds):
                found.append(_fit(texts, wanted, one, None))
                if tell is not None:
                    tell(done + 1, len(seeds))
    return Calibration([(json.loads(results), scenario) for results, scenario in found])


def _content(file: _FILE) -> tuple[str, str]:
    path = Path(fspath(file))
    try:
        return path.name, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _tailcut.ScenarioError(f"{path}: {error}") from None


def _fit(texts: dict[str, Any], wanted: dict[str, Any], seed: int, tell: Any) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:

        def put(place: str, content: tuple[str, str] | None) -> Path | None:
            if content is None:
                return None
            path = Path(folder, place, content[0])
            path.parent.mkdir()
            path.write_text(content[1], encoding="utf-8")
            return path

        files = {
            "data": [put(f"data-{place}", content) for place, content in enumerate(texts["data"])],
            "data_sheet": put("sheet", texts["data_sheet"]),
            "scenario": put("scenario", texts["scenario"]),
        }
        output = Path(folder, "drive.toml")
        results = _tailcut.calibrate({**wanted, **files, "seed": seed}, output, tell)  # type: ignore[typeddict-item]
        return results, output.read_text(encoding="utf-8")


def _on_worker(version: str, texts: dict[str, Any], wanted: dict[str, Any], seed: int) -> tuple[str, str]:
    from ._dask import refuse_other, threads

    refuse_other(version)
    return _fit(texts, {**wanted, "jobs": wanted["jobs"] or threads()}, seed, None)


class Calibration:
    """A fitted drive: of several searches the one with the least cost, of equal ones that of the first seed."""

    def __init__(self, searches: list[tuple[dict[str, Any], str]]) -> None:
        self._results, self._scenario = min(searches, key=lambda one: one[0]["cost"])
        self._costs = {results["seed"]: results["cost"] for results, _ in searches}

    @property
    def data(self) -> dict[str, Any]:
        """All that ``tailcut calibrate --json`` writes."""
        return self._results

    @property
    def cost(self) -> float:
        """Mean cost of all rows; 0 is a perfect fit."""
        return float(self._results["cost"])

    @property
    def costs(self) -> dict[int, float]:
        """The cost of the best drive of each seed."""
        return dict(self._costs)

    @property
    def scenario(self) -> str:
        """The fitted drive as a scenario (TOML), which :func:`run` takes."""
        return self._scenario

    @property
    def parameters(self) -> Table:
        """A row for each fitted key: its value, in which unit."""
        kinds = {"key": str, "value": float, "unit": str, "meaning": str}
        return Table.of(
            [{name: row[name] for name in kinds} for row in self._results["parameters"]], kinds
        )

    def __repr__(self) -> str:
        return f"<tailcut.Calibration: cost {self.cost:.4g}, {len(self._results['parameters'])} parameters>"
