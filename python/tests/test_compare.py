"""Comparisons, on this machine and over a cluster."""

import json
from pathlib import Path

import pytest

import tailcut

VARY = {"workload.read": ["70%", "90%"]}
ON_OFF = {"reads-first": {"device.schedule.chip": "reads-first"}}
HOW = {"vary": VARY, "on_off": ON_OFF, "by": "p99(read)", "seeds": 2, "progress": False}


@pytest.fixture(scope="module")
def cluster():
    """Two workers, processes of their own."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client


def test_a_comparison_is_that_of_the_command_to_the_byte(small, command, tmp_path: Path):
    tailcut.compare(small, **HOW, out=tmp_path / "ours")
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(tailcut.resolved(small))
    words = ["--vary", "workload.read=70%,90%", "--on-off", "reads-first=device.schedule.chip=reads-first"]
    words += ["--by", "p99(read)", "--seeds", "2", "--quiet", "--out", str(tmp_path / "theirs")]
    command("compare", scenario, *words)
    for name in ("compare.json", "compare.csv"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name


def test_tables_are_those_of_the_results(small):
    comparison = tailcut.compare(small, **HOW, show=["iops"])
    runs = comparison.runs
    assert len(runs) == 8 and runs.columns[:3] == ["workload.read", "reads-first", "seed"]
    assert runs["seed"] == [1, 2] * 4 and runs["workload.read"] == ["70%"] * 4 + ["90%"] * 4
    assert all(isinstance(value, float) for value in runs["p99(read) [ns]"])
    mains = [row for row in comparison.effects.rows() if row["quantity"] == "p99(read)"]
    assert [(row["factor"], row["level"]) for row in mains] == [
        ("workload.read", "90%"),
        ("reads-first", "on"),
    ]
    points = comparison.results["points"]
    base = points[0]["quantities"]["p99(read)"]
    assert mains[1]["alone"] == pytest.approx(points[1]["quantities"]["p99(read)"] / base)
    pair = next(row for row in comparison.pairs.rows() if row["quantity"] == "p99(read)")
    assert pair["together"] == pytest.approx(points[3]["quantities"]["p99(read)"] / base)
    assert pair["verdict"] in ("add", "overlap", "fight", "help")
    best = min(points, key=lambda point: point["quantities"]["p99(read)"])
    assert comparison.best == {"settings": best["settings"], "quantities": best["quantities"]}


def test_pages_and_representations(small, tmp_path: Path):
    comparison = tailcut.compare(small, vary=VARY, progress=False)
    comparison.to_html(tmp_path / "compare.html")
    assert json.loads((tmp_path / "compare.json").read_text()) == comparison.results
    assert "2 points (2), ranked by p99.99(read)" in repr(comparison)
    assert "<td>90%</td>" in comparison._repr_html_()


def test_a_grid_may_be_a_dictionary(small):
    grid = {
        "vary": {"workload.read": ["70%", "90%"]},
        "levels": {"size": {"a": [], "b": ["workload.rate=9000"]}},
    }
    runs = tailcut.compare(small, grid=grid, progress=False).runs
    assert runs["size"] == ["a", "b", "a", "b"]


def test_what_cannot_be_compared_is_refused_by_name(small):
    with pytest.raises(tailcut.ScenarioError, match="nothing is varied"):
        tailcut.compare(small)
    with pytest.raises(tailcut.ScenarioError, match="one level only"):
        tailcut.compare(small, vary={"seed": [1]})
    with pytest.raises(tailcut.ScenarioError, match="unknown key 'wokload'"):
        tailcut.compare(small, vary={"wokload.rate": [1, 2]})
    with pytest.raises(tailcut.ScenarioError, match="p99"):
        tailcut.compare(small, vary=VARY, by="p101(read)")
    with pytest.raises(tailcut.ScenarioError, match="not both"):
        tailcut.compare(small, vary=VARY, points=2, fraction=2)


def test_a_cluster_finds_what_this_machine_finds_to_the_byte(small, cluster, tmp_path: Path):
    here = tailcut.compare(small, **HOW, out=tmp_path / "here")
    there = tailcut.compare(small, **HOW, out=tmp_path / "there", client=cluster)
    assert there.results == here.results
    for name in ("compare.json", "compare.csv"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes(), name

    def lines(folder: str) -> list[bytes]:
        return sorted((tmp_path / folder / "points.jsonl").read_bytes().splitlines())

    assert lines("there") == lines("here"), "what is kept is the same, in whatever order"


def test_both_workers_of_a_cluster_work(small, cluster, tmp_path: Path):
    assert len(set(cluster.run(_process).values())) == 2, "processes of their own"
    cluster.run(_count_runs)
    vary = {"workload.rate": list(range(10_000, 20_000, 500))}
    heard = []
    tailcut.compare(
        small, vary=vary, client=cluster, progress=lambda done, total: heard.append((done, total))
    )
    assert heard == [(done, 20) for done in range(21)]
    counted = cluster.run(_runs_counted)
    assert sum(counted.values()) == 20 and min(counted.values()) > 0, counted


def test_a_cluster_does_not_run_again_what_is_finished(small, cluster, tmp_path: Path):
    tailcut.compare(small, vary=VARY, out=tmp_path, progress=False)
    heard = []
    larger = {"workload.read": ["70%", "90%", "50%"]}
    tailcut.compare(
        small, vary=larger, out=tmp_path, client=cluster, progress=lambda *told: heard.append(told)
    )
    assert heard == [(2, 3), (3, 3)]


def test_an_interrupted_cluster_keeps_what_came_back(small, cluster, tmp_path: Path):
    def tell(done: int, total: int | None) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    vary = {"workload.rate": list(range(20_000, 25_000, 500))}
    with pytest.raises(KeyboardInterrupt):
        tailcut.compare(small, vary=vary, out=tmp_path, client=cluster, progress=tell)
    assert len((tmp_path / "points.jsonl").read_text().splitlines()) == 2
    assert len(tailcut.compare(small, vary=vary, out=tmp_path, client=cluster, progress=False).runs) == 10


def test_a_worker_of_another_version_is_refused_by_name(small, cluster):
    workers = list(cluster.scheduler_info()["workers"])
    cluster.run(_pretend, "9.9.9", workers=workers[:1])
    try:
        with pytest.raises(tailcut.TailcutError) as error:
            tailcut.compare(small, vary=VARY, client=cluster, progress=False)
    finally:
        cluster.run(_pretend, tailcut.__version__, workers=workers[:1])
    assert f"{workers[0]} has 9.9.9" in str(error.value)
    assert workers[1] not in str(error.value)


def test_a_worker_that_joins_late_is_refused_too():
    from tailcut import _dask

    with pytest.raises(tailcut.TailcutError, match="another one here"):
        _dask.run_job(tailcut.__version__, "0" * 32, "seed = 1\n")


def _pretend(version: str) -> None:
    import tailcut

    tailcut.__version__ = version


def _process() -> int:
    import os

    return os.getpid()


def _count_runs() -> None:
    from tailcut import _tailcut

    run = _tailcut.run_job

    def counted(digest: str, scenario: str) -> str:
        counted.runs += 1
        return run(digest, scenario)

    counted.runs = 0
    _tailcut.run_job = counted


def _runs_counted() -> int:
    from tailcut import _tailcut

    return _tailcut.run_job.runs
