"""Calibrations, and that they are those of the command; on a cluster, with studies."""

import json
from pathlib import Path

import pytest

import tailcut

ROWS = (
    "drive,offered,reads_per_s,writes_per_s,measured_reads,r_50p,r_90p,r_95p,r_99p,r_99p5,r_99p9,r_99p99,"
    "w_50p,w_90p,w_95p,w_99p,w_99p5,w_99p9,w_99p99\n"
    "x,6000,5010,5990,1000000,60,70,90,200,300,400,500,10,11,12,13,14,15,16\n"
    "x,20000,5150,13000,1000000,90,170,230,350,400,500,900,2000,3000,3100,3200,3300,3400,3500\n"
)
HOW = {"quick": True, "evaluations": 8, "set": {"device.preset": "g-1g"}, "progress": False}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    file.write_text(ROWS)
    return file


def test_a_calibration_is_that_of_the_command(rows, command, tmp_path: Path):
    heard = []
    ours = tailcut.calibrate(rows, **{**HOW, "progress": lambda done, total: heard.append((done, total))})
    output, found = tmp_path / "drive.toml", tmp_path / "found.json"
    how = ["--quick", "--evaluations", 8, "--set", "device.preset=g-1g", "--quiet"]
    command("calibrate", rows, *how, "--output", output, "--json", found)
    assert ours.scenario == output.read_text()
    assert ours.data == json.loads(found.read_text())
    assert ours.costs == {1: ours.cost}
    assert "device.timing.program" in ours.parameters.column("key")
    assert heard and all(done <= total for done, total in heard if total is not None)
    short = {"run.requests": 1000, "run.duration": "0s", "run.ramp": "0s"}
    run = tailcut.run(ours.scenario, set=short, progress=False)
    assert len(run.summary) > 0


def test_what_cannot_be_fitted_is_refused(rows, tmp_path: Path):
    with pytest.raises(tailcut.ScenarioError, match="there are rows of x"):
        tailcut.calibrate(rows, drive="y", **HOW)
    with pytest.raises(tailcut.ScenarioError, match="nowhere.csv"):
        tailcut.calibrate(tmp_path / "nowhere.csv", **HOW)
    with pytest.raises(tailcut.ScenarioError, match="no seed"):
        tailcut.calibrate(rows, seed=[], **HOW)


def test_searches_and_studies_on_a_cluster_are_those_of_this_machine(rows):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        heard = []
        there = tailcut.calibrate(
            rows, seed=[1, 2], client=client, **{**HOW, "progress": lambda *told: heard.append(told)}
        )
        here = tailcut.calibrate(rows, seed=[1, 2], **HOW)
        assert (there.data, there.scenario, there.costs) == (here.data, here.scenario, here.costs)
        assert len(there.costs) == 2 and there.cost == min(there.costs.values())
        assert heard == [(0, 2), (1, 2), (2, 2)]
        ids = ["sprinkler-1", "shin-3.10"]
        studies = tailcut.study(ids, quick=True, client=client, progress=False)
        assert [study.data for study in studies] == [
            study.data for study in tailcut.study(ids, quick=True, progress=False)
        ]
        assert [study.id for study in studies] == ids
        with pytest.raises(tailcut.ScenarioError, match="swan-1"):
            tailcut.study("swan-9", client=client, progress=False)
