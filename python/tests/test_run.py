"""Runs: what they show, and that they are those of the command."""

import json
import warnings
from pathlib import Path

import pytest

import tailcut

FLAT = ["device.preset=g-1g", "workload.rate=20000", "run.requests=20000", "run.duration=0s", "run.ramp=0s"]


@pytest.fixture(scope="module")
def run():
    return tailcut.run(
        set=dict(setting.split("=") for setting in FLAT), requests=True, timeline=True, progress=False
    )


def test_a_run_is_that_of_the_command_to_the_byte(small, command, tmp_path: Path):
    tailcut.run(small, seed=7, progress=False).save(tmp_path / "ours")
    sets = [word for setting in FLAT for word in ("--set", setting)]
    command("run", *sets, "--seed", 7, "--quiet", "--out", tmp_path / "theirs")
    # How long the command took is not a matter of the scenario.
    files = sorted(path.name for path in (tmp_path / "theirs").iterdir() if path.name != "elapsed.txt")
    assert "report.json" in files
    assert files == sorted(path.name for path in (tmp_path / "ours").iterdir())
    for name in files:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
    ours = tailcut.run(small, seed=7, progress=False).report
    assert ours == json.loads((tmp_path / "theirs" / "report.json").read_text())


def test_every_way_to_say_a_scenario_is_the_same_scenario(small, tmp_path: Path):
    text = tailcut.resolved(small)
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    ways = [small, text, file, str(file)]
    digests = {tailcut.run(way, progress=False).digest for way in ways}
    digests.add(tailcut.run(set=small, progress=False).digest)
    assert len(digests) == 1
    assert tailcut.run(small, seed=2, progress=False).digest not in digests
    assert tailcut.run(tailcut.run(small, progress=False).scenario, progress=False).digest in digests


def test_settings_win_over_the_scenario(small):
    run = tailcut.run(small, set={"run.requests": 1000}, progress=False)
    assert run.report["completed"] == 1000


def test_requests_are_those_of_the_report(run):
    requests, report = run.requests, run.report
    kinds = {kind["kind"]: kind for kind in report["kinds"]}
    assert len(requests) == kinds["all"]["requests"] == 20_000
    assert run.requests_left_out == 0
    ops = requests["op"]
    assert ops.count("read") == kinds["read"]["requests"]
    assert set(requests["status"]) == {"success"}
    latency = requests["latency_ns"]
    assert max(latency) == kinds["all"]["latency"]["max_ns"]
    assert sum(latency) / len(latency) == pytest.approx(kinds["all"]["latency"]["mean_ns"])
    assert sorted(requests["number"]) == list(range(20_000))


def test_the_waits_of_a_request_add_up_to_its_latency(run):
    frame = run.requests.to_polars()
    causes = frame.columns[frame.columns.index("latency_ns") + 1 :]
    assert len(causes) > 30 and "chip_erase_ns" in causes
    assert (
        frame.select(causes).sum_horizontal().equals(frame["latency_ns"].alias("number"), check_names=False)
    )
    ended = frame["completed_ns"] - frame["due_ns"]
    assert (ended == frame["latency_ns"]).all()


def test_a_part_of_the_requests_is_the_first_ones(small, run):
    part = tailcut.run(small, requests=500, progress=False)
    assert part.requests["number"] == run.requests["number"][:500]
    assert part.requests_left_out == 19_500


def test_what_was_not_kept_says_how_to_keep_it(small):
    run = tailcut.run(small, set={"run.requests": 100}, progress=False)
    with pytest.raises(tailcut.TailcutError, match="requests=True"):
        _ = run.requests
    with pytest.raises(tailcut.TailcutError, match="timeline=True"):
        _ = run.timeline


def test_percentiles_are_those_of_the_requests(run):
    latencies = sorted(
        latency
        for latency, op in zip(run.requests["latency_ns"], run.requests["op"], strict=True)
        if op == "read"
    )
    exact = latencies[-(-len(latencies) * 99 // 100) - 1]
    assert exact <= run.percentile(99, "read") <= exact * 1.001 + 1
    assert run.percentile(100) == max(run.requests["latency_ns"])
    for point in run.report["kinds"][0]["latency"]["points"]:
        assert run.percentile(point["percentile"]) == point["ns"]


def test_a_wrong_percentile_or_kind_says_what_there_is(run):
    with pytest.raises(tailcut.ScenarioError, match="from 0 to 100"):
        run.percentile(101)
    with pytest.raises(tailcut.ScenarioError, match="all, read, write"):
        run.percentile(99, "reed")


def test_curve_and_waits_are_tables_of_the_report(run):
    curve = [row for row in run.curve.rows() if row["kind"] == "read"]
    assert curve[-1]["percentile"] == 100 and curve[-1]["latency_ns"] == run.percentile(100, "read")
    waits = list(run.waits.rows())
    bands = {(row["from"], row["to"]): row["requests"] for row in waits if row["kind"] == "all"}
    assert sum(bands.values()) == 20_000
    shares: dict[float, float] = {}
    for row in waits:
        if row["kind"] == "read":
            shares[row["from"]] = shares.get(row["from"], 0) + row["share"]
    assert all(share == pytest.approx(1, abs=0.02) for share in shares.values())


def test_the_slowest_are_the_slowest_of_each_kind(run):
    slowest, requests = run.slowest, run.requests
    assert slowest["latency_ns"] == sorted(slowest["latency_ns"], reverse=True)
    for kind in set(requests["op"]):
        latencies = [ns for ns, op in zip(requests["latency_ns"], requests["op"], strict=True) if op == kind]
        kept = [ns for ns, op in zip(slowest["latency_ns"], slowest["op"], strict=True) if op == kind]
        assert kept == sorted(latencies, reverse=True)[:1000]
    assert slowest.columns == requests.columns


def test_the_timeline_counts_every_request(run):
    timeline = run.timeline
    assert sum(timeline["requests"]) == 20_000
    assert max(timeline["max_ns"]) == run.percentile(100)


def test_pages_and_representations(run, tmp_path: Path):
    run.to_html(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text().lstrip().lower().startswith("<!doctype html>")
    assert json.loads((tmp_path / "run.json").read_text())["digest"] == run.digest
    with pytest.raises(tailcut.ScenarioError, match=r"ends in \.html"):
        run.to_html(tmp_path / "run.txt")
    assert "20000 requests" in repr(run)
    shown = run._repr_html_()
    assert "<td>read</td>" in shown and "color" not in shown, "it takes the colours of its notebook"


def test_wrong_input_names_place_and_remedy_as_the_command_does(command, tmp_path: Path):
    file = tmp_path / "drive.toml"
    file.write_text('[device]\npresett = "g-1g"\n\n[run]\nrequests = -4\n')
    with pytest.raises(tailcut.ScenarioError) as error:
        tailcut.run(file)
    said = command("run", file, check=False).stderr
    assert str(error.value) in said
    assert "drive.toml:2:1" in str(error.value) and "did you mean 'preset'?" in str(error.value)
    with pytest.raises(tailcut.ScenarioError) as error:
        tailcut.run(set={"device.presett": "g-1g"})
    assert str(error.value) in command("run", "--set", "device.presett=g-1g", check=False).stderr


def test_wrong_dictionaries_and_texts_show_their_line():
    with pytest.raises(tailcut.ScenarioError, match=r"<scenario>:2:1[\s\S]*did you mean 'preset'"):
        tailcut.run("[device]\npresett = 1\n")
    with pytest.raises(tailcut.ScenarioError, match=r"<scenario>[\s\S]*presett"):
        tailcut.run({"device": {"presett": "g-1g"}})
    with pytest.raises(tailcut.ScenarioError, match=r"cannot read the scenario 'nowhere\.toml'"):
        tailcut.run("nowhere.toml")
    with pytest.raises(TypeError, match="a path, a text of TOML or a dictionary, not int"):
        tailcut.run(3)  # type: ignore[arg-type]
    with pytest.raises(tailcut.ScenarioError, match="not both"):
        tailcut.run(trace="a", fio="b")
    assert issubclass(tailcut.ScenarioError, tailcut.TailcutError)


def test_a_drive_that_refuses_writes_warns_and_shows_what_it_did(small):
    faulty = {"device.faults.program_fail": 0.1, "device.faults.erase_fail": 0.1, "run.requests": 200_000}
    with pytest.warns(RuntimeWarning, match="became read-only and refused writes"):
        run = tailcut.run(small, set=faulty, progress=False)
    assert "read-only" in run.failure and run.report["kinds"][0]["errors"] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tailcut.run(small, progress=False).failure is None


def test_keys_and_presets(run):
    keys = {row["key"]: row for row in tailcut.keys().rows()}
    assert keys["run.requests"]["kind"] == "count" and keys["run.requests"]["meaning"]
    assert "g-1g" in tailcut.presets()
    assert "# " in tailcut.resolved() and 'preset = "g-1g"' in tailcut.resolved(set={"device.preset": "g-1g"})


def test_a_run_is_like_a_table_of_its_requests(run):
    assert len(run) == 20_000 and run
    head = run.head(3)
    assert len(head) == 3
    assert head.columns == run.requests.columns
    assert list(head.rows()) == [row for row, _ in zip(run.requests.rows(), range(3), strict=False)]
    assert len(run.requests.head(10**9)) == 20_000
    with pytest.raises(ValueError, match="number of rows"):
        run.head(-1)
    frame = run.df
    assert frame.shape == (20_000, len(run.requests.columns))
    assert frame["latency_ns"].max() == run.report["kinds"][0]["latency"]["max_ns"]
    assert run.waits.df.equals(run.waits.to_pandas())


def test_percentiles_name_their_unit(run):
    summary = {row["kind"]: row for row in run.summary.rows()}
    assert list(summary) == [kind["kind"] for kind in run.report["kinds"]]
    assert summary["read"]["p99_ns"] == run.percentile_ns(99, "read") == run.percentile(99, "read")
    assert summary["all"]["p99_9999_ns"] is None, "of 20,000 requests 0.02 are slower"
    assert summary["read"]["mean_ns"] == run.report["kinds"][1]["latency"]["mean_ns"]


def test_the_picture_adds_up_to_the_curve(run):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = run.plot()
    (curve, idle) = ax.get_lines()
    reads = next(kind for kind in run.report["detail"]["kinds"] if kind["kind"] == "read")
    assert list(curve.get_ydata()) == [nanos / 1e6 for _, nanos in reads["curve"]]
    assert idle.get_ydata()[0] == run.report["kinds"][1]["latency"]["bare_ns"] / 1e6
    assert "ms" in ax.get_ylabel()
    top = ax.collections[-1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(max(curve.get_ydata())), "the areas reach the curve"
    assert {"cell", "chip: erase"} <= {text.get_text() for text in ax.get_legend().get_texts()}
    assert run.plot("write", ax) is ax
    with pytest.raises(ValueError, match="it has .*read, write"):
        run.plot("trim")
