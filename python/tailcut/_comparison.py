"""Comparisons: every combination of settings, alone and together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from . import _tailcut
from ._progress import Progress, told
from ._scenario import Scenario, asked, flat, source, spelled
from ._table import Table, markup

if TYPE_CHECKING:
    from distributed import Client


def compare(
    scenario: Scenario | None = None,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    on_off: Mapping[str, Mapping[str, Any]] | None = None,
    grid: Scenario | None = None,
    set: Mapping[str, Any] | None = None,  # the name of the command's option
    trace: str | PathLike[str] | None = None,
    fio: str | PathLike[str] | None = None,
    seed: int | None = None,
    by: str = "p99.99(read)",
    show: Sequence[str] = (),
    pareto: str | None = None,
    seeds: int = 1,
    points: int | None = None,
    fraction: int | None = None,
    tolerance: float | None = None,
    skip_impossible: bool = False,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    client: Client | None = None,
) -> Comparison:
    """Runs every combination of settings, ranks them, and says what each does alone and in company, as
    ``tailcut compare`` does.

    :param scenario: the scenario at the base point, as :func:`run` takes it.
    :param vary: keys with their values, the first of each that of the base point: ``{"workload.rate":
        [20_000, 40_000]}``.
    :param on_off: techniques that take several keys: ``{"windows": {"device.gc.background": True}}``. Off,
        the scenario stays as it is.
    :param grid: more of both, from a TOML file, a text or nested dictionaries with the sections ``vary``,
        ``on-off`` and ``levels``.
    :param set: keys at all points.
    :param trace: replay this trace instead of the scenario's load. With ``client`` the workers find it under
        the same name.
    :param fio: run the jobs of this fio job file instead.
    :param seed: seed of every random stream; the first one with ``seeds``.
    :param by: rank by this quantity: ``p99.99(read)``, ``mean(write)``, ``iops``, ``bandwidth(read)``,
        ``waf``, ``life``, or the path of a number in ``report.json``, with a ``+`` before it if more is
        better.
    :param show: the quantities beside it.
    :param pareto: mark the points that no other beats both in ``by`` and in this.
    :param seeds: run each point with so many seeds, and judge effects by the noise between them.
    :param points: run so many points: a balanced part of the grid, orthogonal where that can be.
    :param fraction: run one point of so many.
    :param tolerance: ratios up to this share from 1 are no difference; 0.05 with one seed and 0.01 with
        several.
    :param skip_impossible: leave out points that a scenario refuses, instead of running nothing.
    :param out: a folder for finished runs: the same call goes on where it was interrupted, and a grid that
        grew runs what is new. Without it nothing is kept.
    :param jobs: how many runs at a time; one for each core when left out. Not with ``client``.
    :param progress: as in :func:`run`, in runs.
    :param client: a ``Client`` of Dask: the runs are done by the workers of its cluster. The results are
        those of this machine to the byte; a worker that has another version of tailcut is refused.
    :raises ScenarioError: wrong input, or combinations that cannot be, by what is wrong with them.
    """
    if points is not None and fraction is not None:
        raise _tailcut.ScenarioError(
            "a comparison runs so many points or one of so many; give points or fraction, not both"
        )
    grid_path, grid_text = source(grid, "grid")
    wanted: _tailcut.Wanted = {
        "factors": [*map(_varied, (vary or {}).items()), *map(_switched, (on_off or {}).items())],
        "grid_path": grid_path,
        "grid_text": grid_text,
        "by": by,
        "show": [show] if isinstance(show, str) else list(show),
        "pareto": pareto,
        "seeds": seeds,
        "points": points,
        "fraction": fraction,
        "tolerance": tolerance,
        "skip_impossible": skip_impossible,
        "out": out,
        "jobs": jobs,
    }
    plan = _tailcut.Plan(asked(scenario, set, trace, fio, seed), wanted)
    with told(progress, "compare", "runs") as tell:
        if client is None:
            plan.run(tell)
        else:
            from ._dask import run_on

            run_on(client, plan, tell)
    results = plan.results()
    if out is not None:
        results.save(out)
    return Comparison(results)


def _varied(item: tuple[str, Sequence[Any]]) -> tuple[str, list[tuple[str, list[str]]]]:
    key, values = item
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        values = (
            list(values) if hasattr(values, "__iter__") and not isinstance(values, (str, bytes)) else [values]
        )
    return key, [(_name(value), [f"{key}={spelled(value)}"]) for value in values]


def _switched(item: tuple[str, Mapping[str, Any]]) -> tuple[str, list[tuple[str, list[str]]]]:
    name, settings = item
    return name, [("off", []), ("on", [f"{key}={spelled(value)}" for key, value in flat(settings)])]


def _name(value: Any) -> str:
    return value if isinstance(value, str) else spelled(value)


class Comparison:
    """A finished comparison. A ratio is that of a quantity with a level over without it: 0.8 is a fifth
    less."""

    def __init__(self, inner: _tailcut.Results) -> None:
        self._inner = inner
        self._results: dict[str, Any] | None = None

    @property
    def results(self) -> dict[str, Any]:
        """All that ``compare.json`` holds."""
        if self._results is None:
            self._results = json.loads(self._inner.json())
        return self._results

    @property
    def runs(self) -> Table:
        """A row for each run in the order of the grid: the level of each factor, seed, rank of its point (1
        is best), whether no other point beats it, digests, a column for each quantity with its unit in
        brackets, and why it failed."""
        return Table(self._inner.runs())

    @property
    def best(self) -> dict[str, Any]:
        """The point of rank 1: the level of each factor (``settings``) and its ``quantities``, over all
        seeds."""
        ranked = [point for point in self.results["points"] if point["rank"] == 1]
        if not ranked:
            raise _tailcut.TailcutError(f"no point has {self.results['by']}; rank by something else")
        return {"settings": ranked[0]["settings"], "quantities": ranked[0]["quantities"]}

    @property
    def effects(self) -> Table:
        """What each level of each factor does to each quantity, as ratios: ``alone`` at the base point,
        ``in_company`` with all other factors at their last level, over the grid on ``average`` (geometric),
        at ``least`` and at ``most``."""
        rows = (
            {
                "quantity": effects["quantity"],
                **self._level("factor", main["factor"], main["level"]),
                **_ratios(main),
            }
            for effects in self.results["effects"]
            for main in effects["mains"]
        )
        names = ("alone", "in_company", "average", "least", "most")
        return Table.of(
            rows, {"quantity": str, "factor": str, "level": str} | {name: float for name in names}
        )

    @property
    def pairs(self) -> Table:
        """How each two levels get along, for each quantity: the ratio of each alone and of both ``together``
        at the base point, the ``interaction`` (together over the product of both), its ``average`` over the
        grid, and a ``verdict``: add, overlap, fight or help."""
        rows = (
            {
                "quantity": effects["quantity"],
                **self._level("a", pair["factors"][0], pair["levels"][0]),
                **self._level("b", pair["factors"][1], pair["levels"][1]),
                "a_alone": pair["alone"][0],
                "b_alone": pair["alone"][1],
                **{name: pair[name] for name in ("together", "interaction", "average", "verdict")},
            }
            for effects in self.results["effects"]
            for pair in effects["pairs"]
        )
        texts = {name: str for name in ("quantity", "a", "a_level", "b", "b_level")}
        numbers = {name: float for name in ("a_alone", "b_alone", "together", "interaction", "average")}
        return Table.of(rows, texts | numbers | {"verdict": str})

    def _level(self, name: str, factor: int, level: int) -> dict[str, str]:
        of = self.results["factors"][factor]
        level_name = "level" if name == "factor" else f"{name}_level"
        return {name: of["name"], level_name: of["levels"][level]["name"]}

    def to_html(self, path: str | PathLike[str]) -> None:
        """Writes the results as a page of HTML that loads nothing (``.html``), and their data as JSON beside
        it."""
        self._inner.to_html(path)

    def save(self, folder: str | PathLike[str]) -> None:
        """Writes ``compare.json`` and ``compare.csv`` into a folder."""
        self._inner.save(folder)

    def __repr__(self) -> str:
        return f"<tailcut.Comparison: {self._title()}>"

    def _title(self) -> str:
        results = self.results
        grid = " x ".join(str(len(factor["levels"])) for factor in results["factors"])
        return f"{len(results['points'])} points ({grid}), ranked by {results['by']}"

    def _repr_html_(self) -> str:
        results = self.results
        factors = [factor["name"] for factor in results["factors"]]
        heads = [
            head["name"] + (f" [{head['unit']}]" if head["unit"] else "") for head in results["quantities"]
        ]
        points = sorted(results["points"], key=lambda point: (point["rank"] is None, point["rank"]))
        rows = [
            [point["rank"], *[point["settings"][name] for name in factors]]
            + [point["quantities"].get(head["name"]) for head in results["quantities"]]
            for point in points[:20]
        ]
        more = f"{len(points) - 20} more points" if len(points) > 20 else ""
        return markup(self._title(), ["rank", *factors, *heads], rows, more)


def _ratios(main: Mapping[str, Any]) -> dict[str, Any]:
    return {name: main[name] for name in ("alone", "in_company", "average", "least", "most")}
