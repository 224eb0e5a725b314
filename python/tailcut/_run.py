"""Runs."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from . import _tailcut
from ._plot import plot
from ._progress import Progress, told
from ._scenario import Scenario, asked
from ._table import Table, markup, time

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# As many as anybody has memory for.
_ALL = (1 << 63) - 1


def run(
    scenario: Scenario | None = None,
    *,
    set: Mapping[str, Any] | None = None,  # the name of the command's option
    trace: str | PathLike[str] | Any = None,
    fio: str | PathLike[str] | None = None,
    seed: int | None = None,
    requests: bool | int = False,
    timeline: bool = False,
    skip_bad_lines: bool = False,
    progress: Progress = None,
) -> Run:
    """Simulates a scenario, as ``tailcut run`` does: the same scenario and seed have the same result to the
    byte.

    Ctrl-C, or the stop button of a notebook, ends it within a moment with ``KeyboardInterrupt``.

    :param scenario: the path of a TOML file, a text of TOML, or nested dictionaries; the built-in scenario
        when left out.
    :param set: keys over those of the scenario, as in ``{"device.preset": "tlc-nvme"}``; see
        :func:`keys`. Times, sizes and rates have their units in texts: ``"80us"``, ``"4KiB"``, ``"200MB/s"``.
    :param trace: replay this trace instead of the scenario's load: a file in any of 13 formats, or a data
        frame or Arrow table of requests with the columns ``due_ns``, ``op``, and either ``sector`` and
        ``sectors`` or ``offset`` and ``bytes``.
    :param fio: run the jobs of this fio job file instead.
    :param seed: seed of every random stream.
    :param requests: keep every request, for :attr:`Run.requests`; a number keeps so many, the first ones to
        end. A request takes 59 bytes, and 8 more for each cause that some request waited for.
    :param timeline: record how the run goes over time, for :attr:`Run.timeline` and pages of HTML.
    :param skip_bad_lines: skip lines of a trace that cannot be read, and count them.
    :param progress: ``None`` shows a bar where somebody looks, ``False`` none; a function is told ``(done,
        total)`` in requests.
    :raises ScenarioError: wrong input; the text names each place and what would be right.
    :raises TailcutError: a run that went wrong on the way.
    """
    if hasattr(trace, "__arrow_c_stream__"):
        kept = _written(trace)
        made = run(
            scenario,
            set=set,
            trace=kept.name,
            fio=fio,
            seed=seed,
            requests=requests,
            timeline=timeline,
            progress=progress,
        )
        # The scenario of the run names this file: it goes away with the run.
        made._trace = kept
        return made
    what = asked(scenario, set, trace, fio, seed, skip_bad_lines)
    most = _ALL if requests is True else (int(requests) if requests is not False else None)
    with told(progress, "run", "requests") as tell:
        made = Run(_tailcut.run(what, most, timeline, tell))
    if made.failure is not None:
        warnings.warn(made.failure, RuntimeWarning, stacklevel=2)
    return made


def _written(frame: object) -> Any:
    """A data frame of requests as a trace, in a file that goes away with whoever has it."""
    file = tempfile.NamedTemporaryFile(prefix="tailcut-", suffix=".blkparse")  # noqa: SIM115 - it lives as long as the run
    _tailcut.write_trace(frame, file.name)
    return file


def resolved(
    scenario: Scenario | None = None,
    *,
    set: Mapping[str, Any] | None = None,  # the name of the command's option
    trace: str | PathLike[str] | None = None,
    fio: str | PathLike[str] | None = None,
    seed: int | None = None,
) -> str:
    """The complete scenario as TOML with every key and its meaning, without running it; parameters as in
    :func:`run`."""
    return _tailcut.resolved(asked(scenario, set, trace, fio, seed))


class Run:
    """A finished run: what was measured, what slow requests waited for, and how far it is from the limits of
    physics."""

    def __init__(self, inner: _tailcut.Run) -> None:
        self._inner = inner
        self._report: dict[str, Any] | None = None
        self._trace: Any = None

    @property
    def report(self) -> dict[str, Any]:
        """All that ``report.json`` holds. Times are in ns, rates per second, shares from 0 to 1."""
        if self._report is None:
            self._report = json.loads(self._inner.report_json())
        return self._report

    @property
    def scenario(self) -> str:
        """The complete scenario as TOML: running it gives the same run."""
        return self._inner.scenario()

    @property
    def digest(self) -> str:
        """The digest of the history of all requests: two runs of one scenario agree on it."""
        return str(self.report["digest"])

    @property
    def failure(self) -> str | None:
        """Why the run is not complete, such as a drive that became read-only or a trace that broke off; None
        if it is."""
        return self._inner.failure()

    def percentile(self, percentile: float, kind: str = "all") -> int:
        """The latency in ns that ``percentile`` per cent of the requests of a kind did not exceed, at most
        0.1 % too high.

        :param percentile: from 0 to 100, such as 99.99.
        :param kind: ``"read"``, ``"write"``, ``"trim"``, ``"flush"``, ``"class 1"`` to ``"class 5"`` where
            reads have several classes, or ``"all"``.
        """
        return self._inner.percentile(percentile, kind)

    def percentile_ns(self, percentile: float, kind: str = "all") -> int:
        """:meth:`percentile` with its unit in its name."""
        return self.percentile(percentile, kind)

    @property
    def summary(self) -> Table:
        """A row for each kind of request: how many, errors, and latencies in ns: of the idle drive
        (``bare_ns``), their mean, the percentiles of every report and the slowest (``max_ns``). A percentile
        that fewer than ten requests exceed is None."""
        rows = []
        for kind in self.report["kinds"]:
            latency = kind["latency"]
            points = {
                _name(point["percentile"]): point["ns"] if point["resolved"] else None
                for point in latency["points"]
            }
            rows.append(
                {key: kind[key] for key in ("kind", "requests", "errors")}
                | {"bare_ns": latency["bare_ns"], "mean_ns": latency["mean_ns"]}
                | points
                | {"max_ns": latency["max_ns"]}
            )
        points = [_name(point["percentile"]) for point in self.report["kinds"][0]["latency"]["points"]]
        kinds = {"kind": str, "requests": int, "errors": int, "bare_ns": float, "mean_ns": float}
        return Table.of(rows, kinds | {name: int for name in points} | {"max_ns": int})

    def __len__(self) -> int:
        """Number of measured requests."""
        return int(self.report["kinds"][0]["requests"])

    def __bool__(self) -> bool:
        """True, also of a run without requests."""
        return True

    def head(self, count: int = 5) -> Table:
        """The first rows of :attr:`requests`."""
        return self.requests.head(count)

    @property
    def df(self) -> pandas.DataFrame:
        """:attr:`requests` as a data frame of pandas, in the same memory."""
        return self.requests.to_pandas()

    def plot(self, kind: str = "read", ax: Axes | None = None) -> Axes:
        """Draws latency by percentile, the area below coloured by what requests waited for, and the latency
        of the idle drive as a line. Wants matplotlib.

        :param kind: as in :meth:`percentile`.
        :param ax: the axes to draw into; a new figure without them. Returns them.
        """
        return plot(self.report, kind, ax)

    @property
    def curve(self) -> Table:
        """The latency curve: kind of request, percentile, and the latency in ns that it stands for; 20 points
        for each tenfold of what is slower."""
        points = (
            {"kind": kind["kind"], "percentile": percentile, "latency_ns": nanos}
            for kind in self.report["detail"]["kinds"]
            for percentile, nanos in kind["curve"]
        )
        return Table.of(points, {"kind": str, "percentile": float, "latency_ns": int})

    @property
    def waits(self) -> Table:
        """What requests of each speed waited for: a row for each kind of request, band of percentiles
        (``from`` to ``to``) and cause, with how many requests the band has, its lowest latency (``from_ns``),
        the cause's mean time per request (``mean_ns``) and its share of their latency (0 to 1). The causes
        are explained in ``docs/model.md``."""
        rows = (
            {
                "kind": kind["kind"],
                **{key: band[key] for key in ("from", "to", "requests", "from_ns")},
                **wait,
            }
            for kind in self.report["detail"]["kinds"]
            for band in kind["bands"]
            for wait in band["waits"]
        )
        kinds = {
            "kind": str,
            "from": float,
            "to": float,
            "requests": int,
            "from_ns": int,
            "cause": str,
            "mean_ns": float,
            "share": float,
        }
        return Table.of(rows, kinds)

    @property
    def slowest(self) -> Table:
        """The thousand slowest requests of each kind, the slowest first, with the columns of :attr:`requests`."""
        return Table(self._inner.slowest())

    @property
    def requests(self) -> Table:
        """Every request of the measurement in the order of their ends, if the run was asked to keep them.

        Columns: ``number`` in the run; ``source``, the place of its source in the report's ``sources``;
        ``op`` (read, write, trim, flush); latency ``class`` (1 to 5); ``status``; first ``sector`` and number
        of ``sectors`` (512 bytes); ``due_ns``, when its latency began, ``submitted_ns``, when the device took
        it, ``completed_ns``, when the host saw its end; ``latency_ns``; and a column for each cause of
        waiting, such as ``chip_erase_ns``. These add up to the latency.
        """
        columns = self._inner.requests()
        if columns is None:
            raise _tailcut.TailcutError("the run did not keep its requests; run it with requests=True")
        return Table(columns)

    @property
    def requests_left_out(self) -> int:
        """How many requests of the measurement are not in :attr:`requests`, because there were more than it
        was to keep."""
        return self._inner.left_out()

    @property
    def timeline(self) -> Table:
        """How the run went over time, if it was recorded: for each kind of request and slot of time
        (``from_ns`` on, since the start of the run) how many ended, their bytes, errors, the sum of their
        latencies, and their median, 99th and 99.9th percentile and maximum in ns (None where there are too
        few). The drives' part is in ``report["detail"]["timeline"]``."""
        timeline = self.report["detail"].get("timeline")
        if timeline is None:
            raise _tailcut.TailcutError("the run was not recorded over time; run it with timeline=True")
        names = ("requests", "bytes", "errors", "latency_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns")
        rows = (
            {"kind": kind["kind"], "from_ns": timeline["from_ns"] + slot * timeline["slot_ns"]}
            | {name: kind[name][slot] for name in names}
            for kind in timeline["kinds"]
            for slot in range(timeline["slots"])
        )
        return Table.of(rows, {"kind": str, "from_ns": int} | {name: int for name in names})

    def to_html(self, path: str | PathLike[str]) -> None:
        """Writes the report as a page of HTML that loads nothing (``.html``), and its data as JSON beside
        it."""
        self._inner.to_html(path)

    def save(self, folder: str | PathLike[str]) -> None:
        """Writes the files of ``tailcut run`` into a folder, for ``tailcut explain`` and ``tailcut
        report``."""
        self._inner.save(folder)

    def __repr__(self) -> str:
        return f"<tailcut.Run: {self._title()}>"

    def _title(self) -> str:
        report = self.report
        everything = report["kinds"][0]
        count, rate = everything["requests"], everything["requests_per_s"]
        return f"{count} requests, {rate:.0f}/s, drive {report['drive_name']}"

    def _repr_html_(self) -> str:
        kinds = self.report["kinds"][1:]
        points = [point["percentile"] for point in kinds[0]["latency"]["points"]] if kinds else []
        head = ["kind", "requests", "mean", *[f"p{percentile:g}" for percentile in points], "max"]
        rows = [
            [
                kind["kind"],
                kind["requests"],
                time(kind["latency"]["mean_ns"]),
                *[
                    ("" if point["resolved"] else "~") + time(point["ns"])
                    for point in kind["latency"]["points"]
                ],
                time(kind["latency"]["max_ns"]),
            ]
            for kind in kinds
        ]
        return markup(
            self._title(), head, rows, "latency by percentile; ~ where fewer than ten requests are slower"
        )


def _name(percentile: float) -> str:
    """The name of a percentile's column, with its unit: ``p99_99_ns``."""
    return f"p{percentile:g}_ns".replace(".", "_")
